package presenters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"vcphost/abi"
)

// ErrNotVisible is what [NewView] returns where there is nothing that the
// viewer may see. A result of somebody else and no result at all are told apart
// nowhere.
var ErrNotVisible = errors.New("no such result")

// Consumer is the sort of reader that a view is made for. What a viewer may see
// can depend on it: a model is shown less than the person it works for.
type Consumer string

// The consumers of §4.7, one for each presenter.
const (
	ConsumerHuman    Consumer = "human"
	ConsumerAI       Consumer = "ai"
	ConsumerWorkflow Consumer = "workflow"
	ConsumerBridge   Consumer = "bridge"
	ConsumerAudit    Consumer = "audit"
)

// Consumers lists every valid consumer.
func Consumers() []Consumer {
	return []Consumer{ConsumerHuman, ConsumerAI, ConsumerWorkflow, ConsumerBridge, ConsumerAudit}
}

// Viewer is who will see a view, and through which sort of consumer. The zero
// value may see nothing.
type Viewer struct {
	abi.Viewer
	Consumer Consumer
}

// View is a result as one viewer may see it. It is immutable and safe for
// concurrent use. There is no useful zero value: views come from [NewView].
type View struct {
	consumer Consumer
	envelope *abi.Result     // a copy of its own, without data
	data     json.RawMessage // read-only; the canonical bytes where no rule changed them
}

// NewView gives result, which belongs to owner, as viewer may see it. It is
// [ErrNotVisible] if the viewer may not read it or if result is nil, and another
// error if the consumer is unknown. The canonical result stays as it is; it must
// not change while the view is in use.
func NewView(result *abi.Result, owner abi.Owner, viewer Viewer) (*View, error) {
	if result == nil || !viewer.MayRead(owner) {
		return nil, ErrNotVisible
	}
	if !slices.Contains(Consumers(), viewer.Consumer) {
		return nil, fmt.Errorf("view result %s: unknown consumer %q", result.ID, viewer.Consumer)
	}
	v := &View{consumer: viewer.Consumer, envelope: cloneEnvelope(result), data: bytes.TrimSpace(result.Data)}
	if len(v.data) == 0 {
		v.data = json.RawMessage("null")
	}
	v.redact()
	return v, nil
}

// redact applies the rules that hide parts of a result from its viewer (§4.6).
// It is the only place that may do so, works on the view's own copy, and tells
// in policy what it did. The access check of [NewView] is the only rule so far,
// so what is told is that nothing was hidden, whatever the canonical result says.
func (v *View) redact() {
	v.envelope.Policy.ContainsSensitiveData = false
	v.envelope.Policy.RedactionsApplied = []abi.Redaction{}
}

// Consumer is the sort of reader that the view was made for.
func (v *View) Consumer() Consumer { return v.consumer }

// Data is the business data as the viewer may see it: valid JSON without white
// space around it, "null" where there is none. It is not a copy and must not be
// changed; its capacity is its length, so that appending to it is safe.
func (v *View) Data() json.RawMessage { return slices.Clip(v.data) }

// Envelope is a new copy of everything but the data, which is nil in it. The
// caller may change it.
func (v *View) Envelope() *abi.Result { return cloneEnvelope(v.envelope) }

// Result is a new copy of the whole result as the viewer may see it. It shares
// nothing with the view or with the canonical result, and so costs as much
// memory as the data has bytes; presenters that only read use [View.Envelope]
// and [View.Data].
func (v *View) Result() *abi.Result {
	result := cloneEnvelope(v.envelope)
	result.Data = bytes.Clone(v.data)
	return result
}
