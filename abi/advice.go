package abi

// MaxAdviceRunes bounds AIAdvice.Message, in Unicode code points (§5.9).
const MaxAdviceRunes = 500

// AIAdvice is a plugin's suggestion of how a model may deliver the result to
// its user (§5.9). It ranks below every instruction and every fact, no code
// acts on it, and it may name only resources of the same result.
type AIAdvice struct {
	Intent      Intent     `json:"intent"`
	Message     string     `json:"message,omitempty"`
	ResourceIDs []string   `json:"resourceIds"`
	RenderHint  RenderHint `json:"renderHint,omitempty"`
	Priority    Priority   `json:"priority"`
}

// Intent is the delivery that an advice suggests (§5.9).
type Intent string

// The intents of §5.9.
const (
	IntentRelay           Intent = "relay"
	IntentDisplayResource Intent = "display_resource"
	IntentSummarize       Intent = "summarize"
	IntentExplain         Intent = "explain"
	IntentRequestFollowup Intent = "request_followup"
	IntentSuggestNextStep Intent = "suggest_next_step"
	IntentNone            Intent = "none"
)

// Intents lists every valid intent.
func Intents() []Intent {
	return []Intent{IntentRelay, IntentDisplayResource, IntentSummarize, IntentExplain, IntentRequestFollowup, IntentSuggestNextStep, IntentNone}
}

// RenderHint is the form that an advice suggests; empty means none given (§5.9).
type RenderHint string

// The render hints of §5.9.
const (
	RenderText     RenderHint = "text"
	RenderMarkdown RenderHint = "markdown"
	RenderImage    RenderHint = "image"
	RenderAudio    RenderHint = "audio"
	RenderVideo    RenderHint = "video"
	RenderFileLink RenderHint = "file_link"
	RenderTable    RenderHint = "table"
	RenderNone     RenderHint = "none"
)

// RenderHints lists every valid render hint.
func RenderHints() []RenderHint {
	return []RenderHint{RenderText, RenderMarkdown, RenderImage, RenderAudio, RenderVideo, RenderFileLink, RenderTable, RenderNone}
}

// Priority is the weight of an advice among others (§5.9).
type Priority string

// The priorities of §5.9.
const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal"
	PriorityHigh   Priority = "high"
)

// Priorities lists every valid priority.
func Priorities() []Priority { return []Priority{PriorityLow, PriorityNormal, PriorityHigh} }
