package validate

import (
	"fmt"
	"runtime"

	"github.com/kaptinlin/jsonschema"

	"vcphost/abi/schema"
	"vcphost/internal/rawjson"
)

// Compiler makes schemas ready for use and holds the schemas of the protocol
// itself. It is safe for concurrent use. Schemas that it compiled know nothing of
// one another, whatever names they give themselves.
type Compiler struct {
	manifest, result *Schema
}

// NewCompiler returns a compiler. It fails only if the protocol's own schemas do
// not compile.
func NewCompiler() (*Compiler, error) {
	c := &Compiler{}
	for _, own := range []struct {
		name string
		raw  []byte
		into **Schema
	}{{"manifest", schema.Manifest(), &c.manifest}, {"result", schema.Result(), &c.result}} {
		compiled, err := c.Compile(own.raw)
		if err != nil {
			return nil, fmt.Errorf("compile the schema of a %s: %w", own.name, err)
		}
		*own.into = compiled
	}
	return c, nil
}

// Compile checks and compiles a schema document. The error is a *[SchemaError].
func (c *Compiler) Compile(raw []byte) (*Schema, error) {
	doc, refused := readDocument(raw)
	if refused != nil {
		return nil, refused
	}
	s := &Schema{raw: raw, doc: doc, free: make(chan *engine, 2*runtime.GOMAXPROCS(0))}
	if s.Trivial() {
		return s, nil
	}
	first, err := s.newEngine()
	if err != nil {
		return nil, err
	}
	s.free <- first
	return s, nil
}

// Schema is a compiled schema. It is immutable and safe for concurrent use.
type Schema struct {
	raw []byte
	doc *document
	// free holds engines that nobody uses. The validator writes into its schema
	// while it validates, so each validation has one to itself.
	free chan *engine
}

// Trivial reports whether the schema allows every value, so that a caller can
// spare itself the work: true, {}, and what holds annotations only.
func (s *Schema) Trivial() bool { return !s.doc.asserts }

// take gives an engine that is the caller's until it is given back.
func (s *Schema) take() (*engine, error) {
	select {
	case e := <-s.free:
		return e, nil
	default:
		return s.newEngine()
	}
}

func (s *Schema) give(e *engine) {
	select {
	case s.free <- e:
	default:
	}
}

// newEngine compiles the document into a validator of its own. The document has
// been checked; what the validator still refuses it refuses as a whole.
func (s *Schema) newEngine() (*engine, error) {
	library := jsonschema.NewCompiler()
	clear(library.Loaders)
	clear(library.Decoders)
	clear(library.MediaTypes)
	library.SetAssertFormat(true)

	e := &engine{}
	reference, err := library.Compile(schema.Resource())
	if err != nil {
		return nil, refuse("", "%s: %v", schema.ResourceURI, err)
	}
	if e.root, err = library.Compile(s.raw); err != nil {
		return nil, refuse("", "%v", err)
	}
	nodes := map[string]*jsonschema.Schema{}
	index("", e.root, s.doc, nodes)
	for pointer, target := range s.doc.refs {
		node := nodes[pointer]
		if node == nil {
			return nil, refuse(pointer, "the validator does not know this schema")
		}
		// The validator looks for a pointer below the schema that holds the
		// reference first; it has to start at the root (RFC 3986 §4.4).
		if node.ResolvedRef = nodes[target]; target == resourceTarget {
			node.ResolvedRef = reference
		}
	}
	index(resourceTarget, reference, s.doc, nodes)
	if open := e.root.UnresolvedReferenceURIs(); len(open) > 0 {
		return nil, refuse("", "the reference %.200q is not resolved", open[0])
	}
	for _, node := range nodes {
		e.meter(library, node)
	}
	return e, nil
}

// index files every schema of the tree under its pointer.
func index(pointer string, s *jsonschema.Schema, doc *document, nodes map[string]*jsonschema.Schema) {
	if s == nil {
		return
	}
	nodes[pointer] = s
	definitions := "$defs"
	if doc.oldDefs[pointer] {
		definitions = "definitions"
	}
	for _, group := range []struct {
		keyword string
		schemas map[string]*jsonschema.Schema
	}{
		{definitions, s.Defs}, {"properties", mapOf(s.Properties)},
		{"patternProperties", mapOf(s.PatternProperties)}, {"dependentSchemas", s.DependentSchemas},
	} {
		for name, child := range group.schemas {
			index(rawjson.AppendPointer(pointer+"/"+group.keyword, name), child, doc, nodes)
		}
	}
	for _, group := range []struct {
		keyword string
		schemas []*jsonschema.Schema
	}{{"allOf", s.AllOf}, {"anyOf", s.AnyOf}, {"oneOf", s.OneOf}, {"prefixItems", s.PrefixItems}} {
		for i, child := range group.schemas {
			index(fmt.Sprintf("%s/%s/%d", pointer, group.keyword, i), child, doc, nodes)
		}
	}
	for keyword, child := range map[string]*jsonschema.Schema{
		"not": s.Not, "if": s.If, "then": s.Then, "else": s.Else, "items": s.Items, "contains": s.Contains,
		"additionalProperties": s.AdditionalProperties, "propertyNames": s.PropertyNames,
		"unevaluatedItems": s.UnevaluatedItems, "unevaluatedProperties": s.UnevaluatedProperties,
		"contentSchema": s.ContentSchema,
	} {
		index(pointer+"/"+keyword, child, doc, nodes)
	}
}

func mapOf(m *jsonschema.SchemaMap) map[string]*jsonschema.Schema {
	if m == nil {
		return nil
	}
	return *m
}
