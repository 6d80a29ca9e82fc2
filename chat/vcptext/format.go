package vcptext

import (
	"fmt"
	"strings"
)

// Format writes a block so that Parse gives it back, positions and notices aside.
// It fails for what the text form cannot carry: no tool, a name that is no key,
// is a control key or comes twice, bytes that are not UTF-8, white space around a
// value, and a value that holds both 「末」 (or the end marker) and a token that
// ESCAPE values give another meaning. A block that Parse returned never fails.
func Format(block Block) (string, error) {
	if block.Tool == "" {
		return "", fmt.Errorf("format block: no %s", toolName)
	}
	w := writer{seen: map[string]bool{}}
	w.out.WriteString(startMarker + "\n")
	err := w.field(toolName, block.Tool)
	for _, key := range []string{
		"maid", "valet", "tool_password", "archery", "ink", "river", "vref", "timely_contact",
	} {
		if value := *block.Control.slot(key); value != "" && err == nil {
			err = w.field(key, value)
		}
	}
	for _, field := range block.Fields {
		if err == nil && (field.Name == toolName || block.Control.slot(field.Name) != nil) {
			err = fmt.Errorf("the key %s is not for the plugin", field.Name)
		}
		if err == nil {
			err = w.field(field.Name, field.Value)
		}
	}
	if err != nil {
		return "", fmt.Errorf("format block: %w", err)
	}
	w.out.WriteString("\n" + endMarker)
	return w.out.String(), nil
}

type writer struct {
	out  strings.Builder
	seen map[string]bool
}

func (w *writer) field(key, value string) error {
	switch {
	case key == "" || keyLength(key) != len(key) || firstInvalid(key) >= 0:
		return fmt.Errorf("%s is no key", quoted(key))
	case w.seen[key]:
		return fmt.Errorf("the key %s comes twice", quoted(key))
	case firstInvalid(value) >= 0:
		return fmt.Errorf("the value of %s is not UTF-8", quoted(key))
	case trim(value) != value:
		return fmt.Errorf("the value of %s has white space around it", quoted(key))
	}
	begin, end := openMark, closeMark
	if strings.Contains(value, closeMark) || strings.Contains(value, endMarker) {
		begin, end = openEscape, closeEscape
		if at, _ := findCloseEscape(value); at >= 0 || holdsEscape(value) {
			return fmt.Errorf("the value of %s holds marks that exclude one another", quoted(key))
		}
	}
	if len(w.seen) > 0 {
		w.out.WriteString(",\n")
	}
	w.seen[key] = true
	w.out.WriteString(key + ":" + begin + value + end)
	return nil
}
