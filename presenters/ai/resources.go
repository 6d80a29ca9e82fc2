package ai

import (
	"cmp"
	"slices"
	"strings"

	"vcphost/abi"
	"vcphost/presenters"
)

// subject is what is presented, and within which bounds.
type subject struct {
	result *abi.Result // without data
	data   []byte
	budget Budget
	shown  []abi.Resource // those that may be listed, the most important first
	hidden []abi.Resource // those beyond Budget.MaxResources
	index                 // of the data, and of other raw JSON
}

func newSubject(v *presenters.View, budget Budget) *subject {
	s := &subject{result: v.Envelope(), data: v.Data(), budget: budget, index: newIndex()}
	ranked := slices.Clone(s.result.Resources)
	primary, _ := primaryResource(s.result)
	slices.SortStableFunc(ranked, func(a, b abi.Resource) int {
		return cmp.Compare(rank(a, primary.ID), rank(b, primary.ID))
	})
	n := min(len(ranked), max(budget.MaxResources, 0))
	s.shown, s.hidden = ranked[:n], ranked[n:]
	return s
}

// rank orders resources by how much they matter to who asked for the result.
func rank(r abi.Resource, primary string) int {
	if r.ID == primary {
		return -1
	}
	order := []abi.ResourceRole{
		abi.RoleOutput, abi.RoleAttachment, abi.RolePreview, abi.RoleThumbnail, abi.RoleInput, abi.RoleLog, abi.RoleIntermediate,
	}
	if i := slices.Index(order, r.Role); i >= 0 {
		return i
	}
	return len(order)
}

// primaryResource is the resource that a result is about: the one it names, or
// else its first output.
func primaryResource(result *abi.Result) (abi.Resource, bool) {
	if p := result.Presentation; p != nil && p.PrimaryResourceID != "" {
		if i := slices.IndexFunc(result.Resources, func(r abi.Resource) bool { return r.ID == p.PrimaryResourceID }); i >= 0 {
			return result.Resources[i], true
		}
	}
	if i := slices.IndexFunc(result.Resources, func(r abi.Resource) bool { return r.Role == abi.RoleOutput }); i >= 0 {
		return result.Resources[i], true
	}
	return abi.Resource{}, false
}

// shows reports whether the text lists the resource.
func (p *Page) shows(id string) bool {
	return slices.ContainsFunc(p.subject.shown[:p.listed], func(r abi.Resource) bool { return r.ID == id })
}

// name is how a reference reads: the file's name and the id, by which it can be
// asked for.
func (s *subject) name(id string) string {
	i := slices.IndexFunc(s.result.Resources, func(r abi.Resource) bool { return r.ID == id })
	if i < 0 {
		return "(a resource that is not visible here)"
	}
	return fileName(s.result.Resources[i]) + " (" + inline(id) + ")"
}

func fileName(r abi.Resource) string {
	if r.FileName != "" {
		return inline(r.FileName)
	}
	return "unnamed " + inline(string(r.Kind))
}

// describe tells the facts of a resource in one line.
func describe(r abi.Resource) string {
	facts := []string{fileName(r), inline(r.MIMEType)}
	if r.Dimensions != nil {
		facts = append(facts, itoa(r.Dimensions.Width)+" × "+itoa(r.Dimensions.Height)+" px")
	}
	if r.DurationMs != nil {
		facts = append(facts, itoa(int(*r.DurationMs))+" ms")
	}
	facts = append(facts, itoa(int(r.SizeBytes))+" bytes")
	if r.Role != abi.RoleOutput && r.Role != "" {
		facts = append(facts, inline(string(r.Role)))
	}
	facts = append(facts, "id "+inline(r.ID))
	if r.URL != nil && *r.URL != "" {
		facts = append(facts, linked(*r.URL))
	}
	return strings.Join(facts, ", ")
}

// media is the part by which a model that can take the resource in gets it.
func (s *subject) media(r abi.Resource) (Part, bool) {
	if r.Role == abi.RoleInput || r.Role == abi.RoleLog || r.Role == abi.RoleIntermediate {
		return Part{}, false
	}
	switch {
	case s.budget.Vision && slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, r.MIMEType):
		return Part{Type: PartImage, ResourceID: r.ID}, true
	case s.budget.Audio && r.Kind == abi.KindAudio:
		return Part{Type: PartAudio, ResourceID: r.ID}, true
	}
	return Part{}, false
}

// resources lists the resources, the most important first.
func (p *Page) resources() {
	s := p.subject
	total := len(s.shown) + len(s.hidden)
	if total == 0 {
		return
	}
	listed := 0
	p.path = []string{"resources"}
	wrote := p.write(block{title: "Resources", total: total}, func() int {
		for _, r := range s.shown {
			line := "- " + describe(r)
			if _, ok := s.media(r); ok {
				line += " (attached to this message)"
			}
			if !p.line(line) {
				break
			}
			listed++
		}
		return listed
	})
	if !wrote || listed == 0 {
		p.back(mark{})
		listed = 0
	}
	p.listed = listed
	p.omitted.Fields = nil // resources have a list of their own
	for _, r := range s.shown[listed:] {
		p.omitted.Resources = append(p.omitted.Resources, OmittedResource{r.ID, OmittedByCharacters, fetchResource(r.ID)})
	}
	for _, r := range s.hidden {
		p.omitted.Resources = append(p.omitted.Resources, OmittedResource{r.ID, OmittedByResources, fetchResource(r.ID)})
	}
}
