package ai

import (
	"strconv"
	"strings"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// head writes how the call ended, why it failed, how far a task is, and the
// plugin's summary (§8.2, 1 and 2).
func (p *Page) head() {
	p.line("**" + p.subject.tool() + "**: " + outcome(p.subject.result.Status))
	p.failure(p.subject.result.Error)
	p.task(p.subject.result.Task)
	p.summary(p.subject.result.Presentation)
}

// tool is the tool and its command. The name of a tool that was not found is the
// caller's own text.
func (s *subject) tool() string {
	const most = 48
	name := s.result.Tool.Name
	if s.result.Tool.Command != "" {
		name += "." + s.result.Tool.Command
	}
	if short := cutRunes(name, most); short != name {
		name = short + "…"
	}
	return strings.ReplaceAll(inline(name), "*", `\*`)
}

func outcome(s abi.Status) string {
	switch s {
	case abi.StatusAccepted:
		return "accepted (the result comes later)"
	case abi.StatusPartial:
		return "partial (usable, but something failed)"
	}
	return string(s)
}

func (p *Page) failure(e *abi.Error) {
	if e == nil {
		return
	}
	retry := "trying again will not help"
	if e.Retryable {
		retry = "trying again may help"
	}
	p.blank()
	if !p.line("Error " + inline(e.Code) + " (" + inline(string(e.Category)) + "; " + retry + ")") {
		p.missing("error")
		return
	}
	if e.Message != "" {
		p.section("- message", rawjson.Quote(nil, e.Message), "error", "message")
	}
	if e.Target != "" {
		p.section("- target", rawjson.Quote(nil, e.Target), "error", "target")
	}
	p.section("- details", unrepeated(e), "error", "details")
}

func (p *Page) task(t *abi.Task) {
	if t == nil {
		return
	}
	facts := "Task " + inline(t.ID) + ": " + inline(string(t.State))
	if t.Progress != nil {
		facts += ", " + strconv.FormatFloat(*t.Progress*100, 'f', -1, 64) + " %"
	}
	if t.PollAfterMs != nil {
		facts += ", ask again after " + strconv.FormatInt(*t.PollAfterMs, 10) + " ms"
	}
	p.blank()
	if !p.line(facts) || t.Placeholder != "" && !p.line("Placeholder: "+codeSpan(t.Placeholder)) {
		p.missing("task")
	}
}

// missing notes that a member of the result, which is not data, is not or not
// wholly shown.
func (p *Page) missing(member string) {
	p.path = []string{member}
	p.omit(1, 0)
}

func (p *Page) summary(presentation *abi.Presentation) {
	if presentation == nil || presentation.Summary == "" && presentation.Title == "" {
		return
	}
	p.blank()
	for _, part := range []struct{ name, key, text string }{
		{"Title", "title", presentation.Title}, {"Summary", "summary", presentation.Summary},
	} {
		if part.text != "" && (part.key == "title" || part.text != presentation.Title) {
			p.section(part.name, rawjson.Quote(nil, part.text), "presentation", part.key)
		}
	}
}

// warnings lists what did not prevent the result (§8.2, 6).
func (p *Page) warnings() {
	list := p.subject.result.Warnings
	if len(list) == 0 {
		return
	}
	p.path = []string{"warnings"}
	written := p.write(block{title: "Warnings", total: len(list)}, func() (shown int) {
		for i, w := range list {
			if !p.at(itoa(i), func() bool { return p.warning(w) }) {
				break
			}
			shown++
		}
		return shown
	})
	if !written {
		p.omit(len(list), 0)
	}
}

func (p *Page) warning(w abi.Warning) bool {
	lead := "- " + inline(w.Code)
	if w.Target != "" {
		lead += " (" + inline(cutRunes(w.Target, 80)) + ")"
	}
	m := p.mark()
	message := func() bool {
		return p.value(label{lead + ": ", lead}, "", rawjson.Quote(nil, w.Message))
	}
	if !p.at("message", message) {
		p.back(m)
		return false
	}
	details := func() (ok bool) {
		if kind := rawjson.KindOf(w.Details); kind == rawjson.Null || kind == rawjson.Invalid {
			return true
		}
		p.nested("  ", func() { ok = p.value(label{"- details: ", "- details"}, "", w.Details) })
		if !ok {
			p.omit(max(p.subject.size(w.Details), 1), 0)
		}
		return true
	}
	return p.at("details", details)
}

// metadata tells of the call itself (§8.2, 8).
func (p *Page) metadata() {
	if !p.subject.budget.IncludeExecutionMetadata {
		return
	}
	e, r := p.subject.result.Execution, p.subject.result
	lines := []string{
		"Execution:",
		"- started: " + e.StartedAt.String(),
		"- finished: " + e.FinishedAt.String(),
		"- took: " + strconv.FormatInt(e.DurationMs, 10) + " ms of at most " + strconv.FormatInt(e.TimeoutMs, 10) + " ms",
		"- attempt: " + itoa(e.Attempt),
		"- result: " + inline(r.ID),
		"- invocation: " + inline(e.InvocationID),
	}
	m := p.mark()
	for _, line := range lines {
		if !p.line(line) {
			p.back(m)
			p.missing("execution")
			return
		}
	}
}

// footer ends a text from which something was left out.
func (s *subject) footer() string {
	return "\nShortened. All of it: `" + fetchResult(s.result.ID) + "`\n"
}
