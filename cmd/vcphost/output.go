package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"vcphost/abi"
)

// printResult prints a canonical result, indented for people.
func (p *Program) printResult(raw []byte) error {
	var text bytes.Buffer
	if err := json.Indent(&text, raw, "", "  "); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return p.printText(string(escapeInvisible(text.Bytes())))
}

// printText prints text as lines.
func (p *Program) printText(text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if _, err := io.WriteString(p.Stdout, text); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// escapeInvisible writes those characters of a JSON text that would steer a
// terminal as escapes, which are the same string. They can stand in strings only.
func escapeInvisible(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return r != '\n' && steers(r) }) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, r := range string(text) {
		if r == '\n' || !steers(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// printable keeps what a plugin says from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return -1
		}
		return r
	}, s)
}

// steers reports whether a terminal acts on a character instead of showing it:
// controls, line separators, and what changes the direction of text. The two
// joiners stay, which scripts and emoji need.
func steers(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	switch {
	case r == zwnj || r == zwj:
		return false
	case r == '\u2028', r == '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// outDir is the directory that --out names, nil where it names none. It is
// opened before the call, so that a directory that cannot be used costs no call.
type outDir struct {
	name string
	root *os.Root
}

func openOut(dir string) (*outDir, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return &outDir{dir, root}, nil
}

func (d *outDir) close() {
	if d != nil {
		_ = d.root.Close() // only a descriptor: each file was closed by itself
	}
}

// writeResources writes what a call produced into a directory, under the file
// names of the descriptors. It replaces files that are there, and never writes
// outside the directory.
func (s *session) writeResources(ctx context.Context, result *abi.Result, out *outDir, report io.Writer) error {
	if out == nil {
		return nil
	}
	taken := map[string]bool{}
	for _, resource := range result.Resources {
		if resource.Role == abi.RoleInput {
			continue
		}
		name := freeName(resource.FileName, taken)
		if err := s.writeResource(ctx, out.root, resource.ID, name); err != nil {
			return fmt.Errorf("--out: write %s: %w", name, err)
		}
		fmt.Fprintf(report, "wrote %s (%s, %d bytes)\n", filepath.Join(out.name, name), resource.MIMEType, resource.SizeBytes)
	}
	return nil
}

// freeName gives a name that no other resource of the result has, in any case:
// chart.png, chart-2.png, … What a plugin names never becomes a hidden file,
// such as a shell's start-up file in a home directory.
func freeName(name string, taken map[string]bool) string {
	if strings.HasPrefix(name, ".") {
		name = "_" + name[1:]
	}
	extension := filepath.Ext(name)
	if len(extension) > abi.MaxFileNameBytes/2 {
		extension = ""
	}
	stem := strings.TrimSuffix(name, extension)
	for i := 2; taken[strings.ToLower(name)]; i++ {
		suffix := fmt.Sprintf("-%d%s", i, extension)
		name = firstBytes(stem, abi.MaxFileNameBytes-len(suffix)) + suffix
	}
	taken[strings.ToLower(name)] = true
	return name
}

// firstBytes cuts s to at most most bytes, between two code points.
func firstBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// writeResource writes under a name that no plugin can choose and gives the file
// its own name once it is whole.
func (s *session) writeResource(ctx context.Context, root *os.Root, id, name string) (err error) {
	partial := ".vcphost-" + id
	file, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = errors.Join(s.copyResource(ctx, file, id), file.Close())
	if err == nil {
		err = root.Rename(partial, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(partial))
	}
	return nil
}

// copyResource streams the bytes of a resource.
func (s *session) copyResource(ctx context.Context, to io.Writer, id string) error {
	from, err := s.Resource(ctx, id)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return err
}
