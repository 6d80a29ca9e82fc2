package validate

import (
	"fmt"
	"strings"
	"testing"

	"vcphost/abi"
)

// base has every member that a synchronous payload can have, and is valid.
const base = `{"status":"success","data":{"a":1},
	"resources":[{"id":"r1","kind":"image","role":"output","mimeType":"image/png","fileName":"a.png","localPath":"a.png",
		"source":{"type":"generated","provider":"P"},"dimensions":{"width":1,"height":2},"durationMs":3,"metadata":{"k":[]}}],
	"warnings":[{"code":"A.B","message":"m","target":"t","details":{}}],
	"task":{"id":"task_1","state":"completed","progress":1,"pollAfterMs":0,"placeholder":"p"},
	"presentation":{"summary":"s","preferredView":"v","title":"t","primaryResourceId":"r1"},
	"aiAdvice":{"intent":"none","message":"m","resourceIds":["r1"],"renderHint":"none","priority":"low"},
	"extensions":{"vendor.x":null}}`

const baseError = `{"status":"error","data":null,"task":{"id":"task_1","state":"failed"},
	"error":{"code":"X.Y","message":"m","category":"domain","retryable":true,"target":"t","details":{},"cause":null}}`

// rule is one rule with a document that breaks it and no other.
type rule struct {
	name, section  string
	base           string
	pointer, value string // what is put into the base; "-" takes it away
	at             string // where the refusal must point; "" means pointer
	hostOnly       string // why no schema can state the rule
}

func rules() []rule {
	long := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	return []rule{
		{name: "status is required", section: "§5.4", pointer: "/status", value: "-"},
		{name: "status is a string", section: "§5.4", pointer: "/status", value: `1`},
		{name: "status is one of six", section: "§5.5", pointer: "/status", value: `"ok"`},
		{name: "data is required", section: "§5.4", pointer: "/data", value: "-"},
		{name: "no other member", section: "§5.10", pointer: "/foo", value: `1`},
		{name: "letter case counts", section: "§5.2", pointer: "/Warnings", value: `[]`},
		{name: "id is the core's", section: "§5.1", pointer: "/id", value: `"tr_1"`},
		{name: "protocol is the core's", section: "§5.1", pointer: "/protocol", value: `{"name":"vcp.tool-result","version":"1.0"}`},
		{name: "tool is the core's", section: "§5.1", pointer: "/tool", value: `{}`},
		{name: "execution is the core's", section: "§5.1", pointer: "/execution", value: `{}`},
		{name: "actor is the core's", section: "§5.1", pointer: "/actor", value: `null`},
		{name: "origin is the core's", section: "§5.1", pointer: "/origin", value: `{}`},
		{name: "record is the core's", section: "§5.1", pointer: "/record", value: `{}`},
		{name: "policy is the core's", section: "§5.1", pointer: "/policy", value: `{}`},

		{name: "resources is a list", section: "§5.4", pointer: "/resources", value: `{}`},
		{name: "resources is not null", section: "§5.4", pointer: "/resources", value: `null`},
		{name: "a draft is an object", section: "§7.4", pointer: "/resources", value: `["r1"]`, at: "/resources/0"},
		{name: "a draft has an id", section: "§7.4", pointer: "/resources/0/id", value: "-"},
		{name: "a draft's id is not empty", section: "§7.4", pointer: "/resources/0/id", value: `""`},
		{name: "a draft's id is short", section: "§7.4", pointer: "/resources/0/id", value: long(129)},
		{name: "a draft's id is short in bytes", section: "§7.4", pointer: "/resources/0/id", value: `"` + strings.Repeat("é", 65) + `"`, hostOnly: "maxLength counts code points"},
		{name: "draft ids differ", section: "§7.4", pointer: "/resources", value: `[{"id":"a"},{"id":"a"}]`, at: "/resources/1/id", hostOnly: "no keyword compares members of elements"},
		{name: "a draft has no url", section: "§7.4", pointer: "/resources/0/url", value: `"http://x"`},
		{name: "kind is one of nine", section: "§7.2", pointer: "/resources/0/kind", value: `"picture"`},
		{name: "role is one of seven", section: "§7.3", pointer: "/resources/0/role", value: `"main"`},
		{name: "mimeType is a string", section: "§7.1", pointer: "/resources/0/mimeType", value: `{}`},
		{name: "mimeType is short", section: "§7.1", pointer: "/resources/0/mimeType", value: long(256)},
		{name: "fileName is short", section: "§7.1", pointer: "/resources/0/fileName", value: long(256)},
		{name: "localPath is a string", section: "§7.4", pointer: "/resources/0/localPath", value: `[]`},
		{name: "source has a type", section: "§7.1", pointer: "/resources/0/source/type", value: "-"},
		{name: "source is one of six", section: "§7.1", pointer: "/resources/0/source/type", value: `"magic"`},
		{name: "source has no other member", section: "§7.1", pointer: "/resources/0/source/x", value: `1`},
		{name: "width is an integer", section: "§7.1", pointer: "/resources/0/dimensions/width", value: `1.5`},
		{name: "width is not negative", section: "§7.1", pointer: "/resources/0/dimensions/width", value: `-1`},
		{name: "height is there", section: "§7.1", pointer: "/resources/0/dimensions/height", value: "-"},
		{name: "dimensions have no other member", section: "§7.1", pointer: "/resources/0/dimensions/depth", value: `1`},
		{name: "durationMs is not negative", section: "§7.1", pointer: "/resources/0/durationMs", value: `-1`},
		{name: "metadata is an object", section: "§7.1", pointer: "/resources/0/metadata", value: `[]`},
		{name: "metadata is small", section: "§7.1", pointer: "/resources/0/metadata", value: `{"k":` + long(17<<10) + `}`, hostOnly: "no keyword measures an object in bytes"},

		{name: "warnings is a list", section: "§5.4", pointer: "/warnings", value: `null`},
		{name: "a warning has a code", section: "§5.7", pointer: "/warnings/0/code", value: "-"},
		{name: "a warning has a message", section: "§5.7", pointer: "/warnings/0/message", value: "-"},
		{name: "a code is in capitals", section: "§6.3", pointer: "/warnings/0/code", value: `"truncated"`},
		{name: "a warning's target is a string", section: "§5.7", pointer: "/warnings/0/target", value: `1`},
		{name: "a warning's details are an object", section: "§5.7", pointer: "/warnings/0/details", value: `"text"`},
		{name: "a warning has no other member", section: "§5.7", pointer: "/warnings/0/level", value: `1`},

		{name: "error has a code", section: "§6.1", base: baseError, pointer: "/error/code", value: "-"},
		{name: "error has a message", section: "§6.1", base: baseError, pointer: "/error/message", value: "-"},
		{name: "an error's code is a string", section: "§6.1", base: baseError, pointer: "/error/code", value: `404`},
		{name: "an error's code is short", section: "§6.3", base: baseError, pointer: "/error/code", value: `"` + strings.Repeat("X", 129) + `"`},
		{name: "a code has no empty namespace", section: "§6.3", base: baseError, pointer: "/error/code", value: `"A..B"`},
		{name: "category is one of ten", section: "§6.2", base: baseError, pointer: "/error/category", value: `"user"`},
		{name: "retryable is true or false", section: "§6.1", base: baseError, pointer: "/error/retryable", value: `"no"`},
		{name: "an error's target is a string", section: "§6.1", base: baseError, pointer: "/error/target", value: `[]`},
		{name: "an error's details are an object", section: "§6.1", base: baseError, pointer: "/error/details", value: `[]`},
		{name: "cause is null on the wire", section: "§6.1", base: baseError, pointer: "/error/cause", value: `"stack"`},
		{name: "an error has no other member", section: "§6.1", base: baseError, pointer: "/error/stack", value: `"x"`},

		{name: "a task has an id", section: "§5.2", pointer: "/task/id", value: "-"},
		{name: "a task's id is not empty", section: "§5.2", pointer: "/task/id", value: `""`},
		{name: "a task's id is short", section: "§5.2", pointer: "/task/id", value: long(129)},
		{name: "a task has a state", section: "§10.4", pointer: "/task/state", value: "-"},
		{name: "a task's state is one of seven", section: "§10.4", pointer: "/task/state", value: `"done"`},
		{name: "progress is not above 1", section: "§10.6", pointer: "/task/progress", value: `1.5`},
		{name: "progress is not above 1 by a little", section: "§10.6", pointer: "/task/progress", value: `1.00000000000000000000001`},
		{name: "progress is not below 0", section: "§10.6", pointer: "/task/progress", value: `-0.1`},
		{name: "pollAfterMs is an integer", section: "§5.2", pointer: "/task/pollAfterMs", value: `0.5`},
		{name: "pollAfterMs is not negative", section: "§5.2", pointer: "/task/pollAfterMs", value: `-1`},
		{name: "placeholder is a string", section: "§5.2", pointer: "/task/placeholder", value: `1`},
		{name: "a task has no other member", section: "§5.2", pointer: "/task/eta", value: `1`},

		{name: "presentation is an object", section: "§5.8", pointer: "/presentation", value: `"text"`},
		{name: "summary is a string", section: "§5.8", pointer: "/presentation/summary", value: `1`},
		{name: "presentation carries no message of a vendor", section: "§5.8", pointer: "/presentation/content", value: `[]`},

		{name: "advice has an intent", section: "§5.9", pointer: "/aiAdvice/intent", value: "-"},
		{name: "advice has resourceIds", section: "§5.9", pointer: "/aiAdvice/resourceIds", value: "-"},
		{name: "advice has a priority", section: "§5.9", pointer: "/aiAdvice/priority", value: "-"},
		{name: "intent is one of seven", section: "§5.9", pointer: "/aiAdvice/intent", value: `"run_tool"`},
		{name: "priority is one of three", section: "§5.9", pointer: "/aiAdvice/priority", value: `"urgent"`},
		{name: "renderHint is one of eight", section: "§5.9", pointer: "/aiAdvice/renderHint", value: `"html"`},
		{name: "resourceIds are strings", section: "§5.9", pointer: "/aiAdvice/resourceIds", value: `[1]`, at: "/aiAdvice/resourceIds/0"},
		{name: "the advice is not a book", section: "§5.9", pointer: "/aiAdvice/message", value: long(8193)},
		{name: "advice has no other member", section: "§5.9", pointer: "/aiAdvice/tool", value: `"x"`},

		{name: "extensions is an object", section: "§5.10", pointer: "/extensions", value: `null`},
		{name: "an extension has a namespace", section: "§5.10", pointer: "/extensions/trace", value: `1`},
		{name: "an extension's name is short", section: "§5.10", pointer: "/extensions/a." + strings.Repeat("b", 127), value: `1`, at: "/extensions/a." + strings.Repeat("b", 77) + "…"},
		{name: "vcp.sandbox is the host's", section: "§5.10", pointer: "/extensions/vcp.sandbox", value: `{}`},
		{name: "below vcp.trust is the host's", section: "§5.10", pointer: "/extensions/vcp.trust.x", value: `{}`},

		{name: "a success has no error", section: "§5.5", pointer: "/error", value: `{"code":"X.Y","message":"m"}`},
		{name: "an error has an error", section: "§5.5", base: baseError, pointer: "/error", value: "-"},
		{name: "an error's error is not null", section: "§5.5", base: baseError, pointer: "/error", value: `null`},
		{name: "a success ends its task", section: "§5.5", pointer: "/task/state", value: `"running"`},
		{name: "a partial has data", section: "§5.5", base: `{"status":"partial","data":1}`, pointer: "/data", value: `null`},
		{name: "a synchronous answer is not accepted", section: "§10.1", base: `{"status":"success","data":null,"task":{"id":"t","state":"queued"}}`, pointer: "/status", value: `"accepted"`, hostOnly: "the schema does not know which answer it is"},
	}
}

func TestEachRuleRefuses(t *testing.T) {
	s := payloadSchema(t)
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			document := r.base
			if document == "" {
				document = base
			}
			broken := edit(t, document, r.pointer, r.value)
			_, err := readPayload(broken, abi.PhaseSync)
			if err == nil {
				t.Fatalf("Payload accepts what %s forbids: %s", r.section, broken)
			}
			want := r.at
			if want == "" {
				want = r.pointer
			}
			if err.Code != abi.CodeInvalidToolResult || err.Target != want {
				t.Errorf("got %s at %q, want %s at %q: %v", err.Code, err.Target, abi.CodeInvalidToolResult, want, err)
			}
			if d := detailsOf(t, err); d.Pointer != want || d.Expected == "" || d.Got == "" {
				t.Errorf("got details %+v, want the pointer %q and what was expected and came", d, want)
			}
			problems := s.Problems([]byte(broken))
			if r.hostOnly != "" {
				if problems != nil {
					t.Errorf("the schema states the rule after all (%v), though %s", problems, r.hostOnly)
				}
				return
			}
			if problems == nil {
				t.Fatalf("the schema accepts what %s forbids: %s", r.section, broken)
			}
		})
	}
}

func TestBasesOfTheRulesPass(t *testing.T) {
	s := payloadSchema(t)
	for i, document := range []string{base, baseError} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if _, err := readPayload(document, abi.PhaseSync); err != nil {
				t.Errorf("Payload refuses the base: %v", err)
			}
			if problems := s.Problems([]byte(document)); problems != nil {
				t.Errorf("the schema refuses the base: %v", problems)
			}
		})
	}
}

func TestPayloadRefusesBytes(t *testing.T) {
	for _, test := range []struct{ name, raw, expected string }{
		{"nothing", "", "JSON"},
		{"not JSON", `{"status":"success",}`, "JSON"},
		{"two documents", `{"status":"success","data":1}{}`, "JSON"},
		{"not UTF-8", "{\"status\":\"success\",\"data\":\"\xff\"}", "UTF-8"},
		{"lone surrogate", `{"status":"success","data":"\ud800"}`, "UTF-8"},
		{"repeated member", `{"status":"success","data":{"a":1,"a":2}}`, "each member once"},
		{"repeated member by an escape", `{"status":"success","data":{"a":1,"\u0061":2}}`, "each member once"},
		{"deep", `{"status":"success","data":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "at most 64 levels"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readPayload(test.raw, abi.PhaseSync)
			if err == nil {
				t.Fatalf("Payload accepts it")
			}
			d := detailsOf(t, err)
			if err.Code != abi.CodeInvalidToolResult || d.Expected != test.expected || d.Offset == nil {
				t.Errorf("got %v with details %s, want expected %q and an offset", err, err.Details, test.expected)
			}
			if len(err.Details) > 2000 || len(err.Message) > 2000 {
				t.Errorf("the error has %d and %d bytes", len(err.Message), len(err.Details))
			}
		})
	}
	if _, err := readPayload(`[1]`, abi.PhaseSync); err == nil || err.Target != "" {
		t.Errorf("an array: got %v, want a refusal of the root", err)
	}
}

func TestPayloadSaysWhoOwnsAMember(t *testing.T) {
	_, err := readPayload(`{"status":"success","data":1,"policy":{}}`, abi.PhaseSync)
	if err == nil || !strings.Contains(err.Message, "the core owns") {
		t.Errorf("got %v, want that the core owns it", err)
	}
	_, err = readPayload(`{"status":"success","data":1,"ai_advice":{}}`, abi.PhaseSync)
	if err == nil || !strings.Contains(err.Message, `"aiAdvice"`) {
		t.Errorf("got %v, want the right spelling", err)
	}
}

func TestPayloadKeepsDataInPlace(t *testing.T) {
	raw := []byte(`{"status":"success","data":  {"n": 12345678901234567890, "e": 1e400} ,"extensions":{}}`)
	p, err := readPayload(string(raw), abi.PhaseSync)
	if err != nil {
		t.Fatalf("Payload: %v", err)
	}
	if want := `{"n": 12345678901234567890, "e": 1e400}`; string(p.Data) != want {
		t.Errorf("got data %s, want %s", p.Data, want)
	}
	big := `{"status":"success","data":"` + strings.Repeat("x", 1<<20) + `"}`
	rawBig := []byte(big)
	p, err = Payload(rawBig, abi.PhaseSync, limitsOf(2<<20))
	if err != nil {
		t.Fatalf("Payload: %v", err)
	}
	if &p.Data[0] != &rawBig[len(`{"status":"success","data":`)] {
		t.Errorf("data is a copy of the payload's bytes")
	}
}
