package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vcphost/abi"
)

var update = flag.Bool("update", false, "rewrite the transcripts under testdata")

// Each testdata/*.txtar is one scenario: what it shows, the files that it needs,
// a script of command lines, and the transcript that they leave; NAME_linux.txtar
// is for that system only. The program
// runs whole, in this process, in a directory of its own; and once more, each
// line beside a server on the same data directory, which must not show.
//
// Lines of a script, arguments quoted as in a shell:
//
//	[brief] [NAME=value …] vcphost ARGS [< FILE] [> FILE]
//	                    brief keeps status, data, warnings and error of a result
//	bundled             from here on the example plugins come with the program
//	plugin NAME DIR     copies an example plugin into a directory of plugins
//	guest NAME FILE     writes the module of a guest that the tests assemble
//	cmp A B             fails unless two files are equal
//	ls DIR              lists a directory
//
// Ids, times and whatever else differs from run to run is masked in the
// transcript: res_#1 is the first resource id that the scenario saw, and in the
// script it stands for that id.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		absolute, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if _, system, ok := strings.Cut(name, "_"); ok && system != runtime.GOOS {
			continue
		}
		t.Run(name, func(t *testing.T) { runScenario(t, absolute, false) })
		if !*update {
			t.Run(name+" beside a server", func(t *testing.T) { runScenario(t, absolute, true) })
		}
	}
}

func runScenario(t *testing.T, file string, served bool) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newScenario(t)
	s.served = served
	var script, want []byte
	for _, f := range archive.Files {
		switch f.Name {
		case "script":
			script = f.Data
		case "transcript":
			want = f.Data
		default:
			s.write(f.Name, f.Data)
		}
	}
	for line := range strings.Lines(string(script)) {
		s.line(strings.TrimSpace(line))
	}
	got := s.transcript.Bytes()
	if bytes.Equal(got, want) {
		return
	}
	if !*update {
		t.Errorf("the transcript is not the one of %s (-update rewrites it); got:\n%s", filepath.Base(file), got)
		return
	}
	archive.Files = append(withoutFile(archive.Files, "transcript"), txtar.File{Name: "transcript", Data: got})
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func withoutFile(files []txtar.File, name string) []txtar.File {
	var kept []txtar.File
	for _, f := range files {
		if f.Name != name {
			kept = append(kept, f)
		}
	}
	return kept
}

// scenario is a script that is running.
type scenario struct {
	t          *testing.T
	served     bool // each line runs beside a server
	bundled    fs.FS
	examples   func() fs.FS
	mask       *mask
	transcript bytes.Buffer
}

func newScenario(t *testing.T) *scenario {
	work := t.TempDir()
	examples := func() fs.FS { return exampleFS(t) }
	examples() // while the current folder is still this package's
	t.Chdir(work)
	shareCache(t, "data")
	real, err := filepath.EvalSymlinks(work)
	if err != nil {
		t.Fatal(err)
	}
	return &scenario{t: t, examples: examples, mask: newMask(real, work)}
}

func (s *scenario) write(name string, content []byte) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scenario) line(line string) {
	s.t.Helper()
	if line == "" || strings.HasPrefix(line, "#") {
		return
	}
	words, err := shellWords(line)
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	switch {
	case words[0] == "bundled":
		s.bundled = s.examples()
	case words[0] == "plugin" && len(words) == 3:
		s.plugin(words[1], words[2])
	case words[0] == "guest" && len(words) == 3:
		module, err := guestNamed(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(words[2], module)
	case words[0] == "cmp" && len(words) == 3:
		if !bytes.Equal(s.read(words[1]), s.read(words[2])) {
			s.t.Errorf("%s: the files differ", line)
		}
	case words[0] == "ls" && len(words) == 2:
		fmt.Fprintf(&s.transcript, "$ %s\n", line)
		entries, err := os.ReadDir(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		for _, entry := range entries {
			fmt.Fprintln(&s.transcript, s.mask.apply(entry.Name()))
		}
	default:
		s.program(line, words)
	}
}

func (s *scenario) plugin(name, dir string) {
	s.t.Helper()
	sub, err := fs.Sub(s.examples(), name)
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, name), sub)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scenario) read(name string) []byte {
	s.t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return content
}

// program runs the program as a line of the script asks and writes down what
// came of it.
func (s *scenario) program(line string, words []string) {
	s.t.Helper()
	i := invocation{env: map[string]string{"VCPHOST_DATA": "data"}, bundled: s.bundled}
	brief := words[0] == "brief"
	if brief {
		words = words[1:]
	}
	for ; len(words) > 0 && words[0] != "vcphost"; words = words[1:] {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok {
			s.t.Fatalf("%s: %q is no command", line, words[0])
		}
		i.env[name] = s.mask.reveal(value)
	}
	var target string
	for words = words[1:]; len(words) > 0; words = words[1:] {
		switch word := s.mask.reveal(words[0]); {
		case word == "<" && len(words) > 1:
			i.stdin, words = string(s.read(words[1])), words[1:]
		case word == ">" && len(words) > 1:
			target, words = words[1], words[1:]
		default:
			i.args = append(i.args, word)
		}
	}
	var got outcome
	if run := func() { got = i.run(s.t) }; s.served {
		i.besideServer(s.t, run)
	} else {
		run()
	}
	if target != "" {
		s.write(target, []byte(got.stdout))
		if _, ok := got.result(); ok {
			s.mask.apply(got.stdout) // so that its ids have numbers
		}
		got.stdout = ""
	}
	if result, ok := got.result(); ok && brief {
		got.stdout = briefly(s.t, result)
	}
	s.note(strings.TrimPrefix(line, "brief "), got)
}

// briefly is what a scenario looks at where the rest of a result is the same as
// ever.
func briefly(t *testing.T, result *abi.Result) string {
	t.Helper()
	text := fmt.Sprintf("%s %s.%s\n", result.Status, result.Tool.Name, result.Tool.Command)
	if string(result.Data) != "null" {
		var data bytes.Buffer
		if err := json.Compact(&data, result.Data); err != nil {
			t.Fatal(err)
		}
		text += "data " + data.String() + "\n"
	}
	for _, warning := range result.Warnings {
		text += fmt.Sprintf("warning %s %s %s\n", warning.Code, warning.Target, warning.Message)
	}
	if e := result.Error; e != nil {
		text += fmt.Sprintf("%s %s: %s\n", e.Code, e.Target, e.Message)
	}
	return text
}

// note adds an outcome to the transcript. Of progress only the last line stays:
// how many events there are is a matter of time.
func (s *scenario) note(line string, got outcome) {
	fmt.Fprintf(&s.transcript, "$ %s\n", line)
	s.transcript.WriteString(endLine(s.mask.apply(got.stdout)))
	lines := strings.SplitAfter(got.stderr, "\n")
	for i, l := range lines {
		next := strings.Join(lines[i+1:min(i+2, len(lines))], "")
		if strings.HasPrefix(l, "progress: ") && strings.HasPrefix(next, "progress: ") {
			lines[i] = ""
		}
	}
	if stderr := endLine(s.mask.apply(strings.Join(lines, ""))); stderr != "" {
		s.transcript.WriteString("[stderr]\n" + stderr)
	}
	fmt.Fprintf(&s.transcript, "[exit %d]\n\n", got.status)
}

func endLine(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}

// shellWords splits a line at blanks; '…' and "…" hold a word together.
func shellWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote == 0 && r == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	return words, nil
}
