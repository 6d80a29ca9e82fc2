package ai

import "vcphost/presenters"

// Defaults of a Budget.
const (
	DefaultMaxCharacters = 30000
	DefaultMaxResources  = 4
	DefaultMaxDepth      = 8
)

// Budget bounds a projection and says what its reader can take in. The zero
// value means the defaults, for a model that reads text alone.
type Budget struct {
	// MaxCharacters is the most code points of text; 0 or less means
	// DefaultMaxCharacters. Below some 200 the text is hardly more than the
	// status and where to find the rest.
	MaxCharacters int `json:"maxCharacters,omitempty"`
	// MaxResources is how many resources are listed; 0 means
	// DefaultMaxResources, less than 0 none.
	MaxResources int `json:"maxResources,omitempty"`
	// MaxDepth is how many levels of lists and objects are expanded below data;
	// 0 or less means DefaultMaxDepth.
	MaxDepth int `json:"maxDepth,omitempty"`
	// IncludeExecutionMetadata adds times and ids of the call.
	IncludeExecutionMetadata bool `json:"includeExecutionMetadata,omitempty"`
	// Vision and Audio say that the model can see images and hear audio, which
	// then become parts of the content beside the text.
	Vision bool `json:"vision,omitempty"`
	Audio  bool `json:"audio,omitempty"`
}

func (b Budget) withDefaults() Budget {
	if b.MaxCharacters <= 0 {
		b.MaxCharacters = DefaultMaxCharacters
	}
	if b.MaxResources == 0 {
		b.MaxResources = DefaultMaxResources
	}
	if b.MaxDepth <= 0 {
		b.MaxDepth = DefaultMaxDepth
	}
	return b
}

// Projection is a result as a model is shown it (§8.1).
type Projection struct {
	// Text is the Markdown, without a line break at its end.
	Text string `json:"text"`
	// Content is Text as its first part, and then the media that the model can
	// take in.
	Content []Part `json:"content"`
	// Omitted lists what is not shown.
	Omitted Omitted `json:"omitted"`
}

// Part is one part of a message in no vendor's form: text, or a resource that
// the model's adapter loads by its id.
type Part struct {
	Type       PartType `json:"type"`
	Text       string   `json:"text,omitempty"`
	ResourceID string   `json:"resourceId,omitempty"`
}

// PartType is the sort of a part.
type PartType string

// The part types. PartAudio appears only where Budget.Audio is set.
const (
	PartText  PartType = "text"
	PartImage PartType = "image"
	PartAudio PartType = "audio"
)

// Omitted lists everything that the budget kept out of the text.
type Omitted struct {
	Fields    []OmittedField    `json:"fields"`
	Resources []OmittedResource `json:"resources"`
}

// OmittedField is one cut. The counts are of elements of an array, members of
// an object or code points of a string; a section that was left out whole, such
// as /aiAdvice, counts as one.
type OmittedField struct {
	Pointer       string `json:"pointer"` // into the result, such as /data/rows
	OriginalCount int    `json:"originalCount"`
	ShownCount    int    `json:"shownCount"` // always less; the first ones are shown
	Fetch         string `json:"fetch"`      // the command that gives the whole
}

// OmittedResource is a resource of the result that is not listed in the text.
type OmittedResource struct {
	ResourceID string         `json:"resourceId"`
	Reason     OmissionReason `json:"reason"`
	Fetch      string         `json:"fetch"` // the command that gives its bytes
}

// OmissionReason names the limit that kept a resource out.
type OmissionReason string

// The reasons, by the limit that was reached.
const (
	OmittedByResources  OmissionReason = "maxResources"
	OmittedByCharacters OmissionReason = "maxCharacters"
)

// Present projects a view with the built-in renderers. It is pure and safe for
// concurrent use.
func Present(v *presenters.View, budget Budget) *Projection {
	return NewRegistry().Present(v, budget)
}

// Present projects a view with the renderers of r.
func (r *Registry) Present(v *presenters.View, budget Budget) *Projection {
	s := newSubject(v, budget.withDefaults())
	renderer := r.find(s)
	c := compose(s, renderer, 0)
	if c.cut() {
		c = compose(s, renderer, runes(s.footer()))
	}
	return &Projection{Text: c.text, Content: append([]Part{{Type: PartText, Text: c.text}}, c.media...), Omitted: c.omitted}
}

// fetchResult is how the whole of a result is had.
func fetchResult(id string) string { return "vcphost result get " + id }

// fetchResource is how the bytes of a resource are had.
func fetchResource(id string) string { return "vcphost resource get " + id }
