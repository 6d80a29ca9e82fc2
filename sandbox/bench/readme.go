package main

import (
	"bytes"
	"fmt"
	"os"
)

// The lines of a Markdown file between which the table stands.
const (
	beginMark = "<!-- engine figures: made by task bench -->\n"
	endMark   = "<!-- end of engine figures -->\n"
)

// replace puts a text between the marks of a file.
func replace(path string, text []byte) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(content, []byte(beginMark))
	_, after, ends := bytes.Cut(rest, []byte(endMark))
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: the lines\n%s%s", path, beginMark, endMark)
	}
	content = bytes.Join([][]byte{before, []byte(beginMark), text, []byte(endMark), after}, nil)
	return os.WriteFile(path, content, 0o644)
}
