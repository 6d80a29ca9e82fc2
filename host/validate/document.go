package validate

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/kaptinlin/jsonschema"

	"vcphost/abi/schema"
	"vcphost/internal/rawjson"
)

// Limits of a schema document.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 64
	// maxInPlace is how many schemas may apply to one value one through another.
	maxInPlace = 32
	// maxPattern bounds a compiled pattern, in instructions of its automaton.
	maxPattern = 1000
)

// dialect is the only value that $schema may have.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// SchemaError says why a schema document was refused.
type SchemaError struct {
	Pointer string // JSON pointer into the schema document; "" is its root
	Reason  string
}

// Error gives pointer and reason in one line.
func (e *SchemaError) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return fmt.Sprintf("%s: %s", e.Pointer, e.Reason)
}

func refuse(pointer, format string, args ...any) *SchemaError {
	return &SchemaError{Pointer: pointer, Reason: fmt.Sprintf(format, args...)}
}

// document is what a pass over the bytes of a schema finds out, before the
// validator sees it. Everything is keyed by the JSON pointer of a schema.
type document struct {
	schemas map[string]bool
	refs    map[string]string   // $ref as written, then its target
	inPlace map[string][]string // schemas that apply to the very same value
	anchors map[string]string   // name to pointer
	asserts bool                // some keyword can refuse a value
	oldDefs map[string]bool     // schemas that spell $defs definitions
	words   map[string]keywordKind
}

// resourceTarget is the target of a reference to the schema of a resource; no
// JSON pointer looks like it.
const resourceTarget = schema.ResourceURI

// readDocument checks every keyword of a schema and resolves its references.
func readDocument(raw []byte) (*document, *SchemaError) {
	if err := checkText(raw); err != nil {
		return nil, err
	}
	d := &document{
		schemas: map[string]bool{}, refs: map[string]string{},
		inPlace: map[string][]string{}, anchors: map[string]string{},
		oldDefs: map[string]bool{}, words: keywords(),
	}
	if err := d.schema("", bytes.TrimSpace(raw)); err != nil {
		return nil, err
	}
	if err := d.resolve(); err != nil {
		return nil, err
	}
	return d, d.checkCycles()
}

func checkText(raw []byte) *SchemaError {
	err := rawjson.Check(raw, rawjson.Limits{MaxBytes: maxSchemaBytes, MaxDepth: maxSchemaDepth})
	if err != nil {
		found := jsonError(err)
		return refuse(found.Pointer, "%s at byte %d", found.Detail, found.Offset)
	}
	if pointer, huge := hugeNumber(raw); huge {
		return refuse(pointer, "the number is too long or its exponent too large")
	}
	return nil
}

// schema checks the schema at pointer and all below it. The depth of the
// recursion is that of the text.
func (d *document) schema(pointer string, raw []byte) *SchemaError {
	d.schemas[pointer] = true
	switch kind := rawjson.KindOf(raw); kind {
	case rawjson.Bool:
		d.asserts = d.asserts || string(raw) == "false"
		return nil
	case rawjson.Object:
	default:
		return refuse(pointer, "a schema is an object, true or false, not %s", article(kind))
	}
	for keyword, value := range rawjson.Members(raw) {
		if err := d.keyword(pointer, keyword, value); err != nil {
			return err
		}
	}
	_, old := rawjson.At(raw, "/definitions")
	_, current := rawjson.At(raw, "/$defs")
	if old && current {
		return refuse(pointer+"/definitions", "definitions and $defs are one keyword under two names; use $defs")
	}
	if old {
		d.oldDefs[pointer] = true
	}
	return nil
}

// keyword checks one member of the schema at pointer.
func (d *document) keyword(pointer, keyword string, value []byte) *SchemaError {
	at := rawjson.AppendPointer(pointer, keyword)
	kind, known := d.words[keyword]
	if !known {
		return nil
	}
	if kind > lastAnnotation {
		d.asserts = true
	}
	switch kind {
	case asText:
		return want(at, value, rawjson.String)
	case asFlag, asUnique:
		return want(at, value, rawjson.Bool)
	case asList:
		return want(at, value, rawjson.Array)
	case asSchema, asSchemaInPlace:
		if kind == asSchemaInPlace {
			d.inPlace[pointer] = append(d.inPlace[pointer], at)
		}
		return d.schema(at, value)
	case asSchemaMap, asDefinitions, asDependent:
		return d.schemaMap(pointer, at, keyword, value)
	case asSchemaList, asSchemaListInPlace:
		return d.schemaList(pointer, at, kind, value)
	case asUnsupported:
		return refuse(at, "%s is not supported; the dialect is %s without it", keyword, dialect)
	case asIdentity:
		return d.identity(pointer, at, keyword, value)
	}
	return checkAssertion(kind, at, value)
}

// identity checks the keywords that name schemas or refer to them.
func (d *document) identity(pointer, at, keyword string, value []byte) *SchemaError {
	text, ok := rawjson.Unquote(value)
	if !ok {
		return refuse(at, "%s must be a string", keyword)
	}
	switch keyword {
	case "$schema":
		if strings.TrimSuffix(text, "#") != dialect {
			return refuse(at, "the dialect %.100q is not supported; use %s", text, dialect)
		}
	case "$id":
		if pointer != "" {
			return refuse(at, "$id is allowed at the root of the document only")
		}
	case "$anchor":
		if !anchorName(text) {
			return refuse(at, "%.100q is not an anchor", text)
		}
		if _, taken := d.anchors[text]; taken {
			return refuse(at, "the anchor %.100q is there twice", text)
		}
		d.anchors[text] = pointer
	case "$ref":
		d.asserts = true
		d.refs[pointer] = text
	}
	return nil
}

func (d *document) schemaMap(pointer, at, keyword string, value []byte) *SchemaError {
	if err := want(at, value, rawjson.Object); err != nil {
		return err
	}
	for name, child := range rawjson.Members(value) {
		below := rawjson.AppendPointer(at, name)
		switch keyword {
		case "patternProperties":
			if err := checkPattern(below, name); err != nil {
				return err
			}
		case "dependentSchemas":
			d.inPlace[pointer] = append(d.inPlace[pointer], below)
		}
		if err := d.schema(below, child); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) schemaList(pointer, at string, kind keywordKind, value []byte) *SchemaError {
	if err := want(at, value, rawjson.Array); err != nil {
		return err
	}
	count := 0
	for index, child := range rawjson.Elements(value) {
		below := at + "/" + strconv.Itoa(index)
		if kind == asSchemaListInPlace {
			d.inPlace[pointer] = append(d.inPlace[pointer], below)
		}
		if err := d.schema(below, child); err != nil {
			return err
		}
		count++
	}
	if count == 0 {
		return refuse(at, "a list of schemas must not be empty")
	}
	return nil
}

// resolve replaces every reference by the pointer of the schema that it names.
func (d *document) resolve() *SchemaError {
	for _, pointer := range sortedKeys(d.refs) {
		ref := d.refs[pointer]
		target, ok := d.target(ref)
		if !ok {
			return refuse(pointer+"/$ref", "the reference %.200q names no schema of this document, and nothing is loaded from elsewhere but %s", ref, resourceTarget)
		}
		d.refs[pointer] = target
		d.inPlace[pointer] = append(d.inPlace[pointer], target)
	}
	return nil
}

func (d *document) target(ref string) (string, bool) {
	if ref == resourceTarget || ref == resourceTarget+"#" {
		return resourceTarget, true
	}
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return "", false
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return "", false
	}
	if fragment == "" || fragment[0] == '/' {
		return fragment, d.schemas[fragment]
	}
	pointer, ok := d.anchors[fragment]
	return pointer, ok
}

// checkCycles refuses schemas that lead back to themselves for the same value,
// since they say nothing and a validator that follows them never ends, and chains
// of references that are longer than any reader could follow.
func (d *document) checkCycles() *SchemaError {
	const open = -1
	height := map[string]int{} // 0 is not visited yet
	var visit func(pointer string) *SchemaError
	visit = func(pointer string) *SchemaError {
		if height[pointer] == open {
			return refuse(pointer, "the schema leads back to itself without going down into the value")
		}
		if height[pointer] > 0 {
			return nil
		}
		height[pointer] = open
		highest := 0
		for _, next := range d.inPlace[pointer] {
			if err := visit(next); err != nil {
				return err
			}
			highest = max(highest, height[next])
		}
		if height[pointer] = highest + 1; highest >= maxInPlace {
			return refuse(pointer, "more than %d schemas apply to one value one through another", maxInPlace)
		}
		return nil
	}
	for _, pointer := range sortedKeys(d.inPlace) {
		if err := visit(pointer); err != nil {
			return err
		}
	}
	return nil
}

func anchorName(s string) bool {
	matched, _ := regexp.MatchString(`^[A-Za-z_][A-Za-z0-9._-]*$`, s)
	return matched
}

func checkPattern(at, pattern string) *SchemaError {
	size, err := patternSize(pattern)
	if err != nil {
		return refuse(at, "the pattern cannot be used (patterns are RE2, without look-around and back-references): %v", err)
	}
	if size > maxPattern {
		return refuse(at, "the pattern is too large: it takes %d instructions, more than %d", size, maxPattern)
	}
	return nil
}

// patternSize is the number of instructions that a match may go through for each
// byte of the text.
func patternSize(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

func checkFormat(at, name string) *SchemaError {
	if _, ok := assertedFormats()[name]; ok || slices.Contains(annotatedFormats(), name) {
		return nil
	}
	return refuse(at, "the format %.100q is unknown; known are %s", name, strings.Join(sortedKeys(assertedFormats()), ", "))
}

// assertedFormats are the formats of JSON Schema that refuse a value.
func assertedFormats() map[string]func(any) bool {
	return map[string]func(any) bool{
		"date-time": jsonschema.IsDateTime, "date": jsonschema.IsDate, "time": jsonschema.IsTime,
		"duration": jsonschema.IsDuration, "email": jsonschema.IsEmail, "hostname": jsonschema.IsHostname,
		"ipv4": jsonschema.IsIPV4, "ipv6": jsonschema.IsIPV6, "uri": jsonschema.IsURI, "iri": jsonschema.IsURI,
		"uri-reference": jsonschema.IsURIReference, "iri-reference": jsonschema.IsURIReference,
		"uri-template": jsonschema.IsURITemplate, "json-pointer": jsonschema.IsJSONPointer,
		"relative-json-pointer": jsonschema.IsRelativeJSONPointer, "uuid": jsonschema.IsUUID, "regex": jsonschema.IsRegex,
	}
}

// annotatedFormats are accepted and say something to a reader only: those of
// OpenAPI, which many schemas carry, and those for which there is no check.
func annotatedFormats() []string {
	return []string{
		"int32", "int64", "float", "double", "byte", "binary", "password",
		"idn-email", "idn-hostname",
	}
}
