package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxProblems bounds what is told of one file.
const maxProblems = 50

// document walks the tree of one file. The tree is read as it stands, and not
// decoded into a struct, so that each problem has its line, and what YAML has
// beyond plain values is refused instead of resolved.
type document struct {
	*loader
	path string
	seen map[string]bool // names that had a value
}

// applyYAML sets what the bytes of a file say.
func (l *loader) applyYAML(path string, raw []byte) {
	if !utf8.Valid(raw) {
		l.fail(path, "", "the file is not UTF-8")
		return
	}
	file, err := parse(raw)
	if err != nil {
		at, message := path, err.Error()
		var told yaml.Error
		if errors.As(err, &told) {
			at, message = place(path, told.GetToken()), told.GetMessage()
		}
		l.fail(at, "", "%s", message)
		return
	}
	d := document{loader: l, path: path, seen: map[string]bool{}}
	documents := 0
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if documents++; documents > 1 {
			d.refuse(doc.Body, "", "a file of settings is one document, and this is a second")
			return
		}
		if _, empty := doc.Body.(*ast.NullNode); !empty {
			d.mapping(doc.Body, "")
		}
	}
}

// parse survives what the parser panics at.
func parse(raw []byte) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errNotYAML
		}
	}()
	tokens := lexer.Tokenize(string(raw))
	if tooDeep(tokens) {
		return nil, errTooDeep
	}
	return parser.Parse(tokens, 0)
}

// maxDepth is more than settings ever nest. The parser takes time that grows with
// the square of the depth.
const maxDepth = 8

// tooDeep reports whether brackets, or list items of one line, nest too deep.
// What nests by indentation is bounded by the size of the file.
func tooDeep(tokens token.Tokens) bool {
	brackets, items, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			items, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType:
			items++
		}
		if brackets > maxDepth || items > maxDepth {
			return true
		}
	}
	return false
}

func place(path string, t *token.Token) string {
	if t == nil || t.Position == nil {
		return path
	}
	return fmt.Sprintf("%s:%d:%d", path, t.Position.Line, t.Position.Column)
}

func (d *document) refuse(node ast.Node, name, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.fail(place(d.path, node.GetToken()), name, format, args...)
	}
}

// mapping reads the members of one level; prefix is its name with a dot, or
// nothing.
func (d *document) mapping(node ast.Node, prefix string) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			d.member(value, prefix)
		}
	case *ast.MappingValueNode:
		d.member(n, prefix)
	default:
		d.refuse(node, strings.TrimSuffix(prefix, "."), "settings are expected, as name: value")
	}
}

func (d *document) member(m *ast.MappingValueNode, prefix string) {
	key, ok := m.Key.(*ast.StringNode)
	if !ok {
		d.refuse(m, strings.TrimSuffix(prefix, "."), "a name is expected")
		return
	}
	name := prefix + key.Value
	if strings.Contains(key.Value, ".") {
		d.refuse(key, clip(name), "a dot is one more level; write the part behind it below the part before it")
		return
	}
	if d.seen[name] {
		d.refuse(key, clip(name), "this is set twice")
		return
	}
	d.seen[name] = true
	switch r := d.find(name); {
	case r != nil:
		d.value(r, m.Value)
	case d.group(name):
		d.mapping(m.Value, name+".")
	default:
		d.refuse(key, clip(name), "there is no such setting%s", suggest(name, d.names()))
	}
}

// group reports whether settings lie below the name.
func (d *document) group(name string) bool {
	return slices.ContainsFunc(d.table, func(r row) bool { return strings.HasPrefix(r.Name, name+".") })
}

func (d *document) names() []string {
	names := make([]string, len(d.table))
	for i, r := range d.table {
		names[i] = r.Name
	}
	return names
}

// value reads what stands behind a name.
func (d *document) value(r *row, node ast.Node) {
	nodes := []ast.Node{node}
	if r.Type == TypeList {
		sequence, ok := node.(*ast.SequenceNode)
		if !ok {
			d.refuse(node, r.Name, "a list is expected")
			return
		}
		nodes = sequence.Values
	}
	texts := make([]string, 0, len(nodes))
	for _, n := range nodes {
		text, reason := scalar(r.Type, n)
		if reason != "" {
			d.refuse(n, r.Name, "%s", reason)
			return
		}
		texts = append(texts, text)
	}
	if r.path {
		texts = absolute(d.path, texts)
	}
	d.apply(r, place(d.path, node.GetToken()), texts)
}

// scalar gives the text of a plain value, or why it cannot be one of the type.
func scalar(t Type, node ast.Node) (text, reason string) {
	switch n := node.(type) {
	case *ast.StringNode:
		if t == TypeInt || t == TypeBool {
			return "", fmt.Sprintf("a value of type %s is expected, without quotes", t)
		}
		return n.Value, ""
	case *ast.LiteralNode:
		if t == TypeString && n.Value != nil {
			return n.Value.Value, ""
		}
	case *ast.IntegerNode:
		switch t {
		case TypeInt, TypeBytes:
			return n.Token.Value, ""
		case TypeDuration:
			if n.Token.Value == "0" {
				return "0s", ""
			}
			return "", "a duration needs a unit, as in 90s"
		}
	case *ast.BoolNode:
		if t == TypeBool {
			return n.Token.Value, ""
		}
	case *ast.NullNode:
		return "", "there is no value; leave the name out to have the default"
	}
	if t == TypeString || t == TypeList {
		return "", "a text is expected; put it into quotes"
	}
	return "", fmt.Sprintf("a value of type %s is expected", t)
}
