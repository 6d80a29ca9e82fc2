package ai

import (
	"encoding/json"
	"slices"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// Renderer shows the data of results that mean a certain thing. It is chosen by
// what a result says of itself, never by the name of the plugin (§8.3).
type Renderer struct {
	// Name is the view that the renderer gives, as presentation.preferredView
	// would ask for it.
	Name string
	// Match tells whether the renderer fits. result is everything but the data;
	// neither may be changed.
	Match func(result *abi.Result, data json.RawMessage) bool
	// Render writes the data section. It need not mind the budget: what does
	// not fit is cut and listed by the page.
	Render func(page *Page)
}

// Registry is an ordered list of renderers, of which the first that matches is
// used. It is not safe for concurrent use while renderers are added; presenting
// with it is.
type Registry struct{ renderers []Renderer }

// NewRegistry gives a registry with the built-in renderers: error,
// image-result, file-result, generic-array and generic-object, which takes
// whatever no other one takes.
func NewRegistry() *Registry {
	return &Registry{[]Renderer{
		{"error", matchFailed, (*Page).renderDiagnostics},
		{"image-result", matchPrimary("image-result", true), (*Page).renderPrimary},
		{"file-result", matchPrimary("file-result", false), (*Page).renderPrimary},
		{"generic-array", matchArray, (*Page).renderData},
		{"generic-object", matchAll, (*Page).renderData},
	}}
}

// Register adds a renderer before all that are there, so that it is asked first.
func (r *Registry) Register(renderer Renderer) {
	r.renderers = slices.Insert(r.renderers, 0, renderer)
}

func (r *Registry) find(s *subject) Renderer {
	for _, renderer := range r.renderers {
		if renderer.Match(s.result, s.data) {
			return renderer
		}
	}
	return Renderer{"generic-object", matchAll, (*Page).renderData}
}

func matchAll(*abi.Result, json.RawMessage) bool { return true }

func matchArray(_ *abi.Result, data json.RawMessage) bool {
	return rawjson.KindOf(data) == rawjson.Array
}

func matchFailed(result *abi.Result, _ json.RawMessage) bool { return !result.Status.OK() }

// matchPrimary fits results that ask for the view, and those that ask for none
// and name a primary resource of the fitting kind.
func matchPrimary(view string, image bool) func(*abi.Result, json.RawMessage) bool {
	return func(result *abi.Result, _ json.RawMessage) bool {
		primary, ok := primaryResource(result)
		if !ok || result.Presentation == nil {
			return false
		}
		if asked := result.Presentation.PreferredView; asked != "" {
			return asked == view
		}
		return result.Presentation.PrimaryResourceID != "" && (primary.Kind == abi.KindImage) == image
	}
}

// renderData is the generic section (§8.4).
func (p *Page) renderData() {
	r := p.subject.result
	if rawjson.KindOf(p.subject.data) == rawjson.Null && r.Status == abi.StatusSuccess &&
		len(r.Resources) == 0 && (r.Presentation == nil || r.Presentation.Summary == "") {
		p.line("The call returned no data.")
	}
	p.Value("Data")
}

// renderDiagnostics shows what a failed call left: it is no business outcome.
func (p *Page) renderDiagnostics() { p.Value("Diagnostic data") }

// renderPrimary leads with the resource that the result is about.
func (p *Page) renderPrimary() {
	if primary, ok := primaryResource(p.subject.result); ok && p.shows(primary.ID) {
		noun := "File"
		if primary.Kind == abi.KindImage {
			noun = "Image"
		}
		if p.Line(noun + ": " + describe(primary)) {
			p.blank()
		}
	}
	p.renderData()
}

// Result is everything but the data. It must not be changed.
func (p *Page) Result() *abi.Result { return p.subject.result }

// Data is the data. It must not be changed.
func (p *Page) Data() json.RawMessage { return p.subject.data }

// Line writes one line of Markdown that the renderer itself has made, and
// reports whether there was room for it. Text of a plugin goes through Text first.
func (p *Page) Line(markdown string) bool { return p.line(markdown) }

// Text makes text of a plugin safe to stand in a line.
func (p *Page) Text(s string) string { return inline(s) }

// Value writes the value that tokens lead to from the data on, in the generic
// form and under a label: Value("Rows", "rows") shows /data/rows, Value("Data")
// all of it. It writes nothing where there is no value or null.
func (p *Page) Value(label string, tokens ...string) {
	pointer := ""
	for _, token := range tokens {
		pointer = rawjson.AppendPointer(pointer, token)
	}
	if raw, ok := rawjson.At(p.subject.data, pointer); ok {
		p.section(label, raw, append([]string{"data"}, tokens...)...)
	}
}
