//go:build unix

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"vcphost/host"
	"vcphost/internal/config"
)

// settingCase is one setting of the table, and the server that shows what it
// does.
type settingCase struct {
	row   config.Row
	way   string // how the setting is given: flag, environment or file
	bench *bench
	// given are other settings of the server, by name, as flags.
	given map[string]string
	env   map[string]string
	kinds map[string]host.Kind
	// compile is the command that compiles modules; nil compiles in the server.
	compile []string
}

// settingCases say for each setting of the table how its effect shows at a
// server that runs.
func settingCases() map[string]func(*testing.T, *settingCase) {
	all := map[string]func(*testing.T, *settingCase){}
	for _, part := range []map[string]func(*testing.T, *settingCase){placeCases(), watchCases(), limitCases(), timeCases(), sandboxCases()} {
		maps.Copy(all, part)
	}
	return all
}

// TestEverySettingHasACase: a setting that nobody saw work may not be wired.
func TestEverySettingHasACase(t *testing.T) {
	cases := settingCases()
	for _, row := range config.Reference() {
		if cases[row.Name] == nil {
			t.Errorf("the setting %s has no case", row.Name)
		}
		delete(cases, row.Name)
	}
	for name := range cases {
		t.Errorf("the case %s is of no setting", name)
	}
}

// TestEverySettingHasItsEffect gives each setting to a server and looks for what
// it does. The settings take turns in how they are given.
func TestEverySettingHasItsEffect(t *testing.T) {
	ways := []string{"flag", "environment", "file"}
	for i, row := range config.Reference() {
		try := settingCases()[row.Name]
		if try == nil {
			continue // TestEverySettingHasACase says so
		}
		way := ways[i%len(ways)]
		if row.Secret && way == "flag" {
			way = "environment"
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			c := &settingCase{row: row, way: way, bench: badInput{module: asks()}.set(t), env: map[string]string{}}
			c.given = map[string]string{"addr": "127.0.0.1:0", "plugins": c.bench.plugins, "trust": c.bench.plugins, "data": c.bench.data}
			try(t, c)
		})
	}
}

// inProcess is a server that runs in the process of the test.
type inProcess struct {
	*served
	data   string
	silent bool // its log does not say where it serves
	ended  chan int
	end    context.CancelFunc
}

// program is the program with the setting; "" leaves that at its default.
func (c *settingCase) program(t *testing.T, value string) (*Program, *inProcess) {
	t.Helper()
	given, env := maps.Clone(c.given), maps.Clone(c.env)
	args := []string{"serve"}
	if value != "" {
		delete(given, c.row.Name)
		switch c.way {
		case "flag":
			given[c.row.Name] = value
		case "environment":
			env[c.row.Environment] = value
		default:
			args = append(args, "--config", c.file(t, value))
		}
	}
	for _, row := range config.Reference() {
		if value, ok := given[row.Name]; ok {
			args = append(args, "--"+row.Flag, value)
		}
	}
	s := &inProcess{served: &served{}, data: given["data"], ended: make(chan int, 1)}
	s.silent = c.row.Name == "logLevel" && (value == "warn" || value == "error")
	if c.row.Name == "data" {
		s.data = value
	}
	return &Program{
		Args: args, Stdin: strings.NewReader(""), Stdout: &s.stdout, Stderr: &s.log, kinds: c.kinds, Compile: c.compile,
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	}, s
}

// serve starts a server with the setting.
func (c *settingCase) serve(t *testing.T, value string) *inProcess {
	t.Helper()
	program, s := c.program(t, value)
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	go func() { s.ended <- program.Run(ctx) }()
	t.Cleanup(func() { s.stop(t) })
	s.await(t)
	s.secret = shownSecret.FindString(s.stdout.String())
	return s
}

// refuse wants the program to end at once with a message, because of the
// setting.
func (c *settingCase) refuse(t *testing.T, value, says string) {
	t.Helper()
	program, s := c.program(t, value)
	if status := program.Run(t.Context()); status != exitNoResult {
		t.Errorf("the server ends with status %d", status)
	}
	wantIn(t, s.log.String(), says)
}

// file writes a file of settings that has this one.
func (c *settingCase) file(t *testing.T, value string) string {
	t.Helper()
	switch c.row.Type {
	case config.TypeString:
		value = fmt.Sprintf("%q", value)
	case config.TypeList:
		value = fmt.Sprintf("[%q]", value)
	}
	text, indent := "", ""
	for part := range strings.SplitSeq(c.row.Name, ".") {
		text += indent + part + ":"
		indent = "\n" + strings.Repeat(" ", len(indent)+1)
	}
	path := filepath.Join(c.bench.dir, "vcphost.yaml")
	if err := os.WriteFile(path, []byte(text+" "+value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var listensAt = regexp.MustCompile(`serving"?,?\s*"?addr"?[=:]"?([0-9.:]+)`)

// await waits until the server answers on its socket, and learns its address
// from the log where that says it.
func (s *inProcess) await(t *testing.T) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 60*time.Second; time.Sleep(5 * time.Millisecond) {
		select {
		case status := <-s.ended:
			s.ended <- status
			t.Fatalf("the server ends with status %d: %s", status, &s.log)
		default:
		}
		if !socketAnswers(t.Context(), s.data) {
			continue
		}
		if found := listensAt.FindStringSubmatch(s.log.String()); found != nil {
			s.url = "http://" + found[1]
			return
		}
		if s.silent {
			return
		}
	}
	t.Fatalf("the server does not come up: %s", &s.log)
}

// stop ends the server and waits for it; it may be called again.
func (s *inProcess) stop(t *testing.T) {
	t.Helper()
	s.end()
	select {
	case status := <-s.ended:
		s.ended <- status
		if status != exitOK {
			t.Errorf("the server ends with status %d: %s", status, &s.log)
		}
	case <-time.After(60 * time.Second):
		t.Errorf("the server does not end: %s", &s.log)
	}
}

// want asks as an administrator and looks at the status.
func (s *inProcess) want(t *testing.T, status int, method, path, body string) string {
	t.Helper()
	got, answer := s.ask(t, method, path, s.secret, body)
	if got != status {
		t.Errorf("%s %s: %d %s, want %d", method, path, got, answer, status)
	}
	return answer
}

// call calls a tool and gives the answer.
func (s *inProcess) call(t *testing.T, tool string) string {
	t.Helper()
	return s.want(t, 200, "POST", "/v1/human/tool", `{"tool":"`+tool+`","arguments":{}}`)
}

// wantIn fails the test unless a text has each part.
func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
}

// wantTook fails the test unless something took at least and at most so long.
func wantTook(t *testing.T, took, least, most time.Duration) {
	t.Helper()
	if took < least || took > most {
		t.Errorf("it took %v, want %v to %v", took, least, most)
	}
}
