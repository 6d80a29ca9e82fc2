package vcptext

import (
	"strings"
	"unicode/utf8"
)

// Parse reads the blocks of a text in their order; the text around them does not
// count. It is strict: the error is a *SyntaxError for the first thing that is no
// block as the package describes it, and then no block is returned. A text
// without a block is an error too. Blocks share memory with text.
func Parse(text string) ([]Block, error) {
	p := parser{text: text, lines: newLocator(text)}
	blocks, fault := p.blocks()
	if fault != nil {
		return nil, fault
	}
	return blocks, nil
}

type parser struct {
	text  string
	pos   int
	lines locator
}

func (p *parser) fail(offset int, format string, args ...any) *SyntaxError {
	return refuse(p.lines.locate(offset), format, args...)
}

func (p *parser) blocks() ([]Block, *SyntaxError) {
	if offset := firstInvalid(p.text); offset >= 0 {
		return nil, p.fail(offset, "a byte that is not UTF-8")
	}
	var blocks []Block
	for {
		rest := p.text[p.pos:]
		start := strings.Index(rest, startMarker)
		outside := rest
		if start >= 0 {
			outside = rest[:start]
		}
		if stray := strings.Index(outside, endMarker); stray >= 0 {
			return nil, p.fail(p.pos+stray, "an end marker %s without a start marker %s before it", endMarker, startMarker)
		}
		if start < 0 {
			break
		}
		p.pos += start
		block, fault := p.block()
		if fault != nil {
			return nil, fault
		}
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		return nil, p.fail(0, "no block: no start marker %s", startMarker)
	}
	return blocks, nil
}

// block reads the block whose start marker is at p.pos.
func (p *parser) block() (Block, *SyntaxError) {
	b := builder{block: Block{Position: p.lines.locate(p.pos)}, places: map[string]int{}}
	p.pos += len(startMarker)
	if !strings.Contains(p.text[p.pos:], endMarker) {
		return Block{}, p.fail(b.block.Offset, "the block has no end marker %s", endMarker)
	}
	for {
		p.skip(func(r rune) bool { return r == ',' || isSpace(r) })
		rest := p.text[p.pos:]
		if strings.HasPrefix(rest, endMarker) {
			p.pos += len(endMarker)
			return b.finish()
		}
		field, fault := p.field(b.block.Line)
		if fault == nil {
			fault = b.add(field)
		}
		if fault != nil {
			return Block{}, fault
		}
	}
}

// skip goes past the runes that are in the class.
func (p *parser) skip(class func(rune) bool) {
	p.pos = len(p.text) - len(strings.TrimLeftFunc(p.text[p.pos:], class))
}

// field reads a key and its value; line is where the block begins.
func (p *parser) field(line int) (Field, *SyntaxError) {
	rest := p.text[p.pos:]
	length := keyLength(rest)
	if length == 0 {
		return Field{}, p.noKey(rest, line)
	}
	field := Field{Position: p.lines.locate(p.pos), Name: rest[:length]}
	p.pos += length
	p.skip(isSpace)
	if !strings.HasPrefix(p.text[p.pos:], ":") {
		found, _ := utf8.DecodeRuneInString(p.text[p.pos:])
		return Field{}, p.fail(p.pos, "the key %s has no value: expected ':' (U+003A) and %s, found %q",
			quoted(field.Name), openMark, found)
	}
	p.pos++
	p.skip(isSpace)
	value, fault := p.value(field.Name)
	field.Value = value
	return field, fault
}

// noKey says what stands where a key was expected. rest is not empty while the
// block's end marker is still ahead, but a field may have swallowed that.
func (p *parser) noKey(rest string, line int) *SyntaxError {
	switch {
	case rest == "":
		return p.fail(p.pos, "the block that begins on line %d has no end marker %s", line, endMarker)
	case strings.HasPrefix(rest, startMarker):
		return p.fail(p.pos, "a block begins inside the block of line %d, which has no end marker %s yet", line, endMarker)
	}
	found, _ := utf8.DecodeRuneInString(rest)
	return p.fail(p.pos, "expected a key or the end marker %s, found %q", endMarker, found)
}

// value reads the value at p.pos with its marks.
func (p *parser) value(key string) (string, *SyntaxError) {
	rest := p.text[p.pos:]
	if inside, plain := strings.CutPrefix(rest, openMark); plain {
		end := strings.Index(inside, closeMark)
		if end < 0 {
			return "", p.fail(p.pos, "the value of %s has no end: no %s after it", quoted(key), closeMark)
		}
		if strings.Contains(inside[:end], endMarker) {
			return "", p.fail(p.pos, "the value of %s has no end: the end marker %s comes before its %s; "+
				"a value that holds the marker is written between %s and %s",
				quoted(key), endMarker, closeMark, openEscape, closeEscape)
		}
		p.pos += len(openMark) + end + len(closeMark)
		return trim(inside[:end]), nil
	}
	open := escapeLength(rest, beginSign)
	if open == 0 {
		return "", p.fail(p.pos, "the key %s has no value: expected %s or %s", quoted(key), openMark, openEscape)
	}
	inside := rest[open:]
	end, length := findCloseEscape(inside)
	if end < 0 {
		return "", p.fail(p.pos, "the value of %s has no end: no %s after it", quoted(key), closeEscape)
	}
	p.pos += open + end + length
	return unescape(trim(inside[:end])), nil
}

// builder puts the fields of a block into their places.
type builder struct {
	block  Block
	fields []Field
	places map[string]int // index in fields by name
}

func (b *builder) add(field Field) *SyntaxError {
	place, twice := b.places[field.Name]
	if !twice {
		b.places[field.Name] = len(b.fields)
		b.fields = append(b.fields, field)
		return nil
	}
	if field.Name == toolName {
		return refuse(field.Position, "the block of line %d has a second %s", b.block.Line, toolName)
	}
	b.block.Notices = append(b.block.Notices, Notice{
		Position: field.Position,
		Text:     "the key " + quoted(field.Name) + " comes again; the last value counts",
	})
	b.fields[place] = field
	return nil
}

// finish lifts out what is not for the plugin.
func (b *builder) finish() (Block, *SyntaxError) {
	place, named := b.places[toolName]
	if !named {
		return Block{}, refuse(b.block.Position, "the block has no %s", toolName)
	}
	b.block.Tool = b.fields[place].Value
	if b.block.Tool == "" {
		return Block{}, refuse(b.fields[place].Position, "%s is empty", toolName)
	}
	rest := b.fields[:0]
	for _, field := range b.fields {
		if slot := b.block.Control.slot(field.Name); slot != nil {
			*slot = field.Value
		} else if field.Name != toolName {
			rest = append(rest, field)
		}
	}
	if b.block.Control.Maid == "" {
		b.block.Control.Maid = b.block.Control.Valet
	}
	if len(rest) > 0 {
		b.block.Fields = rest
	}
	return b.block, nil
}
