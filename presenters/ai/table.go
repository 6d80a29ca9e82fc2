package ai

import (
	"slices"
	"strings"
	"unicode/utf8"

	"vcphost/internal/rawjson"
)

// columns collects what the rows of a table have in common.
type columns struct {
	names []string // of the members that are not null in every row
	rows  int
	flat  bool // so far every row can be a row of a table
}

func newColumns() *columns { return &columns{flat: true} }

// add takes in one more row, and reports whether it can be one.
func (c *columns) add(row []byte) bool {
	if len(row) > 2*maxColumns*cellBytes {
		return false
	}
	for key, value := range rawjson.Members(row) {
		switch rawjson.KindOf(value) {
		case rawjson.Null:
			continue
		case rawjson.Array:
			return false
		case rawjson.Object:
			if _, ok := reference(value); !ok {
				return false
			}
		case rawjson.String:
			if len(value) > cellBytes || utf8.RuneCount(value) > cellRunes+len(`""`) {
				return false
			}
		}
		if !slices.Contains(c.names, key) {
			if len(c.names) == maxColumns || len(key) > cellBytes {
				return false
			}
			c.names = append(c.names, key)
		}
	}
	return true
}

// table writes as many rows as fit, and nothing if not even one does.
func (p *Page) table(raw []byte, names []string) (shown int) {
	m := p.mark()
	header := make([]string, len(names))
	for i, name := range names {
		header[i] = cell(keyText(name))
	}
	if !p.blank() || !p.line(row(header)) || !p.line("|"+strings.Repeat(" --- |", len(names))) {
		p.back(m)
		return 0
	}
	cells := make([]string, len(names))
	for _, element := range rawjson.Elements(raw) {
		clear(cells)
		for key, value := range rawjson.Members(element) {
			if i := slices.Index(names, key); i >= 0 {
				cells[i] = p.cell(value)
			}
		}
		if !p.line(row(cells)) {
			break
		}
		shown++
	}
	if shown == 0 {
		p.back(m)
	}
	return shown
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// cell is a value as it stands in a table: null and nothing look alike.
func (p *Page) cell(raw []byte) string {
	switch rawjson.KindOf(raw) {
	case rawjson.Null:
		return ""
	case rawjson.String:
		s, _ := rawjson.Unquote(raw)
		return strings.TrimLeft(cell(linked(s)), " ")
	case rawjson.Object:
		id, _ := reference(raw)
		return cell(p.subject.name(id))
	}
	return string(raw)
}

// cell keeps a text that is safe in a line inside of one table cell. A
// backslash before a pipe would undo the escape of the pipe, so it is doubled.
func cell(s string) string {
	if !strings.ContainsAny(s, "|\\") {
		return s
	}
	var out strings.Builder
	slashes := 0
	for _, r := range s {
		if r == '|' {
			out.WriteString(strings.Repeat(`\`, slashes) + `\`)
		}
		out.WriteRune(r)
		slashes++
		if r != '\\' {
			slashes = 0
		}
	}
	if slashes > 0 { // at the end, where the next pipe is the one that ends the cell
		out.WriteString(strings.Repeat(`\`, slashes))
	}
	return out.String()
}
