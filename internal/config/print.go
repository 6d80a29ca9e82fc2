package config

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
)

// mask stands for a secret that is set.
const mask = "********"

// Print writes the settings as a file of settings, with secrets masked, each
// with a comment of where its value stands. But for the masked secrets,
// reading it back gives the same settings.
func (l *Loaded) Print(w io.Writer) error {
	var out bytes.Buffer
	group := ""
	for _, r := range rows() {
		name, indent := r.Name, ""
		if head, tail, ok := strings.Cut(r.Name, "."); ok {
			if head != group {
				out.WriteString(head + ":\n")
			}
			group, name, indent = head, tail, "  "
		}
		value := r.yaml(&l.Settings)
		if value == "" {
			out.WriteString(indent + "# " + name + " is not set\n")
			continue
		}
		out.WriteString(indent + name + ": " + value + " # " + oneLine(l.Origins[r.Name]) + "\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}

// yaml is the value of the row as YAML; "" for a text or list that is empty.
func (r *row) yaml(s *Settings) string {
	switch field := r.field(s).(type) {
	case *string:
		switch {
		case *field == "":
			return ""
		case r.Secret:
			return strconv.Quote(mask)
		}
		return strconv.Quote(*field)
	case *[]string:
		if len(*field) == 0 {
			return ""
		}
		quoted := make([]string, len(*field))
		for i, text := range *field {
			quoted[i] = strconv.Quote(text)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case *int:
		return r.write(int64(*field))
	case *int64:
		return r.write(*field)
	case *time.Duration:
		return writeDuration(*field)
	case *bool:
		return strconv.FormatBool(*field)
	}
	return ""
}

// oneLine keeps a path with line breaks inside its comment.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '?'
		}
		return c
	}, text)
}
