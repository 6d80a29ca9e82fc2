package resources

import (
	"context"
	"slices"
	"sync"

	"vcphost/abi"
	"vcphost/internal/ids"
)

// Limits bound what one call may write. Zero values mean the defaults, values
// below zero that nothing is allowed.
type Limits struct {
	MaxResources     int   // resources begun; default [DefaultMaxResources]
	MaxResourceBytes int64 // bytes of all of them together; default [DefaultMaxResourceBytes]
}

// The limits of a call whose plugin names none.
const (
	DefaultMaxResources     = 16
	DefaultMaxResourceBytes = 64 << 20
)

func (l Limits) orDefaults() Limits {
	if l.MaxResources == 0 {
		l.MaxResources = DefaultMaxResources
	}
	if l.MaxResourceBytes == 0 {
		l.MaxResourceBytes = DefaultMaxResourceBytes
	}
	l.MaxResources, l.MaxResourceBytes = max(l.MaxResources, 0), max(l.MaxResourceBytes, 0)
	return l
}

// Session is the resources of one call: the inputs it may open and the outputs
// it writes. It is an [abi.ResourceWriter] and an [abi.ResourceReader], safe for
// concurrent use. Whoever began it ends it with [Session.Publish] or
// [Session.Discard]; calling Discard after Publish is harmless, so that it can
// be deferred.
type Session struct {
	store    *Store
	owner    abi.Owner
	source   abi.ResourceSource // where a draft names none
	limits   Limits
	settings string // where the limits are set, "" where the caller set them

	ending sync.Mutex // held by Publish and Discard, taken before all other locks

	mu       sync.Mutex
	inputs   map[string]*record
	outputs  map[string]*output // by draft id
	finished []*output          // in order of closing
	used     int64              // bytes counted against the limit
	hit      *abi.Error         // the first limit that was hit
	over     bool
}

// output is one resource that the session began. All but the draft
// is fixed once it is finished; the session's lock guards draft and facts.
type output struct {
	id     string // the resource's own
	blobID string
	sink   *sink
	facts  *facts // nil until finished
	draft  abi.ResourceDraft
}

// Finished is a resource that was closed and awaits publication.
type Finished struct {
	DraftID  string
	Resource abi.Resource
	// Mismatch tells that the bytes disprove a media type that the plugin or
	// the file name claimed; nil when they do not.
	Mismatch *Mismatch
}

// Mismatch is a claimed media type and the one that the bytes have.
type Mismatch struct {
	Declared string `json:"declared"`
	Found    string `json:"found"`
}

// Begin starts the session of one call. What the call writes will belong to
// owner; provider (the plugin's name) stands in the source of resources whose
// draft names none.
func (s *Store) Begin(owner abi.Owner, provider string, limits Limits) *Session {
	return &Session{
		store: s, owner: owner, limits: limits.orDefaults(),
		source:   abi.ResourceSource{Type: abi.SourceGenerated, Provider: provider},
		settings: "sandbox.",
		inputs:   map[string]*record{}, outputs: map[string]*output{},
	}
}

// Allow admits the resources that the arguments of the call reference: those,
// and no others, can be opened afterwards. It returns their descriptors, with
// role input, in the order of wanted without repetitions. One that is absent, or
// that viewer may not read, is an *abi.Error FILE_NOT_FOUND that names it, and
// then none is admitted.
func (c *Session) Allow(ctx context.Context, viewer abi.Viewer, wanted []string) ([]abi.Resource, error) {
	admitted := map[string]*record{}
	list := make([]abi.Resource, 0, len(wanted))
	for _, id := range wanted {
		if admitted[id] != nil {
			continue
		}
		r, err := c.store.read(ctx, viewer, id)
		if err != nil {
			return nil, err
		}
		r.Resource.Role = abi.RoleInput
		admitted[id] = r
		list = append(list, r.Resource)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, r := range admitted {
		c.inputs[id] = r
	}
	return list, nil
}

// Open opens an input that [Session.Allow] admitted; any other id is an
// *abi.Error FILE_NOT_FOUND. The caller closes the stream.
func (c *Session) Open(ctx context.Context, id string) (abi.ResourceStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, storeError("open resource", err)
	}
	c.mu.Lock()
	r := c.inputs[id]
	over := c.over
	c.mu.Unlock()
	switch {
	case over:
		return nil, overError("open resource")
	case r == nil:
		return nil, notFound(id)
	}
	return c.store.openRecord(r)
}

// Create begins an output. It fails with an *abi.Error: INVALID_TOOL_RESULT for
// a draft that is not valid or repeats an id of this session, RESOURCE_TOO_LARGE
// once a limit was hit. A source type in the draft is taken as it is: callers
// that pass on an untrusted plugin's draft drop it.
func (c *Session) Create(ctx context.Context, draft abi.ResourceDraft) (abi.ResourceSink, error) {
	if err := ctx.Err(); err != nil {
		return nil, storeError("begin resource", err)
	}
	if err := checkDraft(draft); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.mayBegin(draft.ID); err != nil {
		return nil, err
	}
	out := &output{id: c.store.ids.New(ids.Resource), blobID: c.store.ids.New(ids.Blob), draft: draft}
	w, err := c.store.blobs.Create(out.blobID)
	if err != nil {
		return nil, storeError("begin resource", err)
	}
	out.sink = newSink(c, out, w)
	c.outputs[draft.ID] = out
	return out.sink, nil
}

func (c *Session) mayBegin(draftID string) error {
	switch {
	case c.over:
		return overError("begin resource")
	case c.hit != nil:
		return c.hit
	case c.outputs[draftID] != nil:
		return badDraft("/id", "resource %q was begun twice in one call", draftID)
	case len(c.outputs) >= c.limits.MaxResources:
		return c.hitLimit("maxResources", int64(c.limits.MaxResources), int64(len(c.outputs)+1))
	}
	return nil
}

// count takes n more bytes into account, before they are stored.
func (c *Session) count(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return overError("write resource")
	case c.hit != nil:
		return c.hit
	case int64(n) > c.limits.MaxResourceBytes-c.used:
		return c.hitLimit("maxResourceBytes", c.limits.MaxResourceBytes, c.used+int64(n))
	}
	c.used += int64(n)
	return nil
}

// hitLimit makes the session's one RESOURCE_TOO_LARGE; c.mu is held.
func (c *Session) hitLimit(limit string, allowed, needed int64) *abi.Error {
	details := limitDetails{Limit: limit, Allowed: allowed, Needed: needed}
	if c.settings != "" {
		details.Setting = c.settings + limit
	}
	unit := "bytes"
	if limit == "maxResources" {
		unit = "resources"
	}
	c.hit = abi.NewError(abi.CodeResourceTooLarge, "the call needs at least %d %s, and %s allows %d", needed, unit, limit, allowed).
		WithDetails(details)
	return c.hit
}

// LimitHit is the RESOURCE_TOO_LARGE of the first limit that the call hit, also
// if the plugin paid no attention; nil if it hit none.
func (c *Session) LimitHit() *abi.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hit
}

// finish enters a closed output among the finished ones.
func (c *Session) finish(out *output, found *facts) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return overError("close resource")
	case c.hit != nil:
		return c.hit
	}
	out.facts = found
	c.finished = append(c.finished, out)
	return nil
}

// Describe adds words to a resource that the call wrote, under the id that it was
// begun with: the manifest's about a declared output, and the payload's. The facts
// of the bytes stand, and so does what was said before; a draft fills what is
// still empty. An id that was not begun or not closed, and a draft that is not
// valid, is an *abi.Error INVALID_TOOL_RESULT.
func (c *Session) Describe(draft abi.ResourceDraft) error {
	if err := checkDraft(draft); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.outputs[draft.ID]
	switch {
	case c.over:
		return overError("describe resource")
	case out == nil:
		return badDraft("/id", "resource %q is declared, and nothing was written under that id", draft.ID)
	case out.facts == nil:
		return badDraft("/id", "resource %q is declared, and was begun but not closed", draft.ID)
	}
	merged, err := mergeDrafts(out.draft, draft)
	if err != nil {
		return err
	}
	out.draft = merged
	return nil
}

// Finished lists the closed outputs in the order of closing, with the
// descriptors that they are going to be published with.
func (c *Session) Finished() []Finished {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Finished, 0, len(c.finished))
	for _, out := range c.finished {
		resource, mismatch := c.describe(out)
		list = append(list, Finished{DraftID: out.draft.ID, Resource: resource, Mismatch: mismatch})
	}
	return list
}

// describe makes the descriptor of a finished output; c.mu is held.
func (c *Session) describe(out *output) (abi.Resource, *Mismatch) {
	resource, mismatch := describe(out.id, out.draft, c.source, out.facts)
	c.store.addURL(&resource)
	return resource, mismatch
}

// Unfinished lists the draft ids, sorted, that were begun and not closed.
func (c *Session) Unfinished() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for id, out := range c.outputs {
		if out.facts == nil {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

var (
	_ abi.ResourceWriter = (*Session)(nil)
	_ abi.ResourceReader = (*Session)(nil)
)
