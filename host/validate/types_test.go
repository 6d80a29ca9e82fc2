package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/abi/schema"
	"vcphost/internal/rawjson"
)

// wireNames are the names that the fields of a struct have in JSON.
func wireNames(v any) []string {
	var names []string
	for i := range reflect.TypeOf(v).NumField() {
		field := reflect.TypeOf(v).Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func at(t *testing.T, document []byte, pointer string) []byte {
	t.Helper()
	value, ok := rawjson.At(document, pointer)
	if !ok {
		t.Fatalf("the document has no %s", pointer)
	}
	return value
}

func TestSchemasHaveTheFieldsOfTheTypes(t *testing.T) {
	payload, result := schema.Payload(), schema.Result()
	// The cause of an error is no field, since it never leaves the process.
	withCause := append(wireNames(abi.Error{}), "cause")
	slices.Sort(withCause)
	for _, test := range []struct {
		name     string
		document []byte
		pointer  string
		fields   []string
	}{
		{"Payload", payload, "", wireNames(abi.Payload{})},
		{"payload's ResourceDraft", payload, "/$defs/draft", wireNames(abi.ResourceDraft{})},
		{"payload's ResourceSource", payload, "/$defs/source", wireNames(abi.ResourceSource{})},
		{"payload's Dimensions", payload, "/$defs/dimensions", wireNames(abi.Dimensions{})},
		{"payload's Warning", payload, "/$defs/warning", wireNames(abi.Warning{})},
		{"payload's Error", payload, "/$defs/error", withCause},
		{"payload's Task", payload, "/$defs/task", wireNames(abi.Task{})},
		{"payload's Presentation", payload, "/$defs/presentation", wireNames(abi.Presentation{})},
		{"payload's AIAdvice", payload, "/$defs/aiAdvice", wireNames(abi.AIAdvice{})},
		{"Result", result, "", wireNames(abi.Result{})},
		{"Protocol", result, "/properties/protocol", wireNames(abi.Protocol{})},
		{"Tool", result, "/properties/tool", wireNames(abi.Tool{})},
		{"Execution", result, "/properties/execution", wireNames(abi.Execution{})},
		{"Origin", result, "/properties/origin", wireNames(abi.Origin{})},
		{"Policy", result, "/properties/policy", wireNames(abi.Policy{})},
		{"Redaction", result, "/properties/policy/properties/redactionsApplied/items", wireNames(abi.Redaction{})},
		{"Actor", result, "/$defs/actor", wireNames(abi.Actor{})},
		{"Resource", result, "/$defs/resource", wireNames(abi.Resource{})},
		{"ResourceAccess", result, "/$defs/resource/properties/access", wireNames(abi.ResourceAccess{})},
		{"result's ResourceSource", result, "/$defs/source", wireNames(abi.ResourceSource{})},
		{"result's Dimensions", result, "/$defs/dimensions", wireNames(abi.Dimensions{})},
		{"result's Warning", result, "/$defs/warning", wireNames(abi.Warning{})},
		{"result's Error", result, "/$defs/error", withCause},
		{"result's Task", result, "/$defs/task", wireNames(abi.Task{})},
		{"result's Presentation", result, "/$defs/presentation", wireNames(abi.Presentation{})},
		{"result's AIAdvice", result, "/$defs/aiAdvice", wireNames(abi.AIAdvice{})},
		{"Reference", schema.Resource(), "", wireNames(abi.Reference{})},
	} {
		t.Run(test.name, func(t *testing.T) {
			var properties map[string]json.RawMessage
			if err := json.Unmarshal(at(t, test.document, test.pointer+"/properties"), &properties); err != nil {
				t.Fatalf("read the properties: %v", err)
			}
			if got := slices.Sorted(maps.Keys(properties)); !slices.Equal(got, test.fields) {
				t.Errorf("the schema has the properties %q, the type the fields %q", got, test.fields)
			}
			if closed := at(t, test.document, test.pointer+"/additionalProperties"); string(closed) != "false" {
				t.Errorf("additionalProperties is %s, want false", closed)
			}
		})
	}
}

func words[T ~string](list []T) []string {
	out := make([]string, 0, len(list))
	for _, word := range list {
		out = append(out, string(word))
	}
	return out
}

func TestSchemasHaveTheEnumsOfTheTypes(t *testing.T) {
	payload, result, manifest := schema.Payload(), schema.Result(), schema.Manifest()
	command := "/$defs/command/properties"
	for _, test := range []struct {
		name     string
		document []byte
		pointer  string
		want     []string
	}{
		{"status of a payload", payload, "/properties/status", words(abi.Statuses())},
		{"status of a result", result, "/properties/status", words(abi.Statuses())},
		{"category of a payload", payload, "/$defs/error/properties/category", words(abi.Categories())},
		{"category of a result", result, "/$defs/error/properties/category", words(abi.Categories())},
		{"task state of a payload", payload, "/$defs/task/properties/state", words(abi.TaskStates())},
		{"task state of a result", result, "/$defs/task/properties/state", words(abi.TaskStates())},
		{"kind of a draft", payload, "/$defs/draft/properties/kind", words(abi.ResourceKinds())},
		{"kind of a resource", result, "/$defs/resource/properties/kind", words(abi.ResourceKinds())},
		{"kind of a resource output", manifest, command + "/resourceOutputs/items/properties/kind", words(abi.ResourceKinds())},
		{"role of a draft", payload, "/$defs/draft/properties/role", words(abi.ResourceRoles())},
		{"role of a resource", result, "/$defs/resource/properties/role", words(abi.ResourceRoles())},
		{"role of a resource output", manifest, command + "/resourceOutputs/items/properties/role", words(abi.ResourceRoles())},
		{"source of a draft", payload, "/$defs/source/properties/type", words(abi.SourceTypes())},
		{"source of a resource", result, "/$defs/source/properties/type", words(abi.SourceTypes())},
		{"access", result, "/$defs/resource/properties/access/properties/type", words(abi.AccessTypes())},
		{"intent of a payload", payload, "/$defs/aiAdvice/properties/intent", words(abi.Intents())},
		{"intent of a result", result, "/$defs/aiAdvice/properties/intent", words(abi.Intents())},
		{"intent of a command", manifest, command + "/aiAdvice/properties/intent", words(abi.Intents())},
		{"render hint of a payload", payload, "/$defs/aiAdvice/properties/renderHint", words(abi.RenderHints())},
		{"render hint of a result", result, "/$defs/aiAdvice/properties/renderHint", words(abi.RenderHints())},
		{"render hint of a command", manifest, command + "/aiAdvice/properties/renderHint", words(abi.RenderHints())},
		{"priority of a payload", payload, "/$defs/aiAdvice/properties/priority", words(abi.Priorities())},
		{"priority of a result", result, "/$defs/aiAdvice/properties/priority", words(abi.Priorities())},
		{"priority of a command", manifest, command + "/aiAdvice/properties/priority", words(abi.Priorities())},
		{"actor", result, "/$defs/actor/properties/type", words(abi.ActorTypes())},
		{"origin", result, "/properties/origin/properties/source", words(abi.OriginSources())},
		{"classification of a result", result, "/properties/policy/properties/classification", words(abi.Classifications())},
		{"classification of a manifest", manifest, "/properties/classification", words(abi.Classifications())},
	} {
		t.Run(test.name, func(t *testing.T) {
			var values []*string
			if err := json.Unmarshal(at(t, test.document, test.pointer+"/enum"), &values); err != nil {
				t.Fatalf("read the enum: %v", err)
			}
			var got []string
			for _, value := range values {
				if value != nil { // null stands for an absent member
					got = append(got, *value)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the schema has %q, the type %q", got, test.want)
			}
		})
	}
}

func TestSchemasHaveTheConstantsOfTheTypes(t *testing.T) {
	payload, result, manifest := schema.Payload(), schema.Result(), schema.Manifest()
	for _, test := range []struct {
		name     string
		document []byte
		pointer  string
		want     any
	}{
		{"protocol's name", result, "/properties/protocol/properties/name/const", abi.ProtocolName},
		{"protocol's version", result, "/properties/protocol/properties/version/const", abi.ProtocolVersion},
		{"manifest's protocol name", manifest, "/properties/toolResultProtocol/properties/name/const", abi.ProtocolName},
		{"manifest's protocol version", manifest, "/properties/toolResultProtocol/properties/version/const", abi.ProtocolVersion},
		{"length of a code", payload, "/$defs/code/maxLength", abi.MaxCodeBytes},
		{"length of a result's code", result, "/$defs/code/maxLength", abi.MaxCodeBytes},
		{"length of a manifest's code", manifest, "/$defs/code/maxLength", abi.MaxCodeBytes},
		{"length of a key", payload, "/properties/extensions/propertyNames/maxLength", abi.MaxCodeBytes},
		{"length of a draft's id", payload, "/$defs/draft/properties/id/maxLength", abi.MaxDraftIDBytes},
		{"length of a file name", payload, "/$defs/draft/properties/fileName/maxLength", abi.MaxFileNameBytes},
		{"length of a media type", payload, "/$defs/draft/properties/mimeType/maxLength", abi.MaxMIMETypeBytes},
		{"length of an advice", payload, "/$defs/aiAdvice/properties/message/maxLength", maxAdviceBytes},
		{"length of a task's id", payload, "/$defs/task/properties/id/maxLength", maxTaskIDBytes},
		{"longest wait", payload, "/$defs/task/properties/pollAfterMs/maximum", maxMilliseconds},
		{"reference", schema.Resource(), "/required/0", abi.ReferenceKey},
	} {
		t.Run(test.name, func(t *testing.T) {
			want, err := json.Marshal(test.want)
			if err != nil {
				t.Fatalf("marshal %v: %v", test.want, err)
			}
			if got := at(t, test.document, test.pointer); string(got) != string(want) {
				t.Errorf("the schema has %s, the type %s", got, want)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func fullResult() abi.Result {
	now := abi.Timestamp(time.Date(2026, 7, 11, 15, 30, 0, 23e6, time.UTC))
	return abi.Result{
		Protocol: abi.CurrentProtocol(), ID: "tr_01J9ZQ3V5K7M2N4P6R8S0T1V3X", Status: abi.StatusPartial,
		Tool: abi.Tool{Name: "T", DisplayName: "The tool", Version: "1", Command: "C"},
		Execution: abi.Execution{
			InvocationID: "ti_1", RequestID: "req_1", RecordID: ptr("tcr_1"), StartedAt: now, FinishedAt: now,
			DurationMs: 1, TimeoutMs: 2, Attempt: 1,
		},
		Actor:  &abi.Actor{Type: abi.ActorAgent, ID: ptr("a"), Name: ptr("n"), Maid: ptr("m")},
		Origin: abi.Origin{Source: abi.FromMCP, NodeID: ptr("n"), ServerID: "s", Distributed: true, RequestIP: ptr("::1")},
		Data:   json.RawMessage(`{"a":[1]}`),
		Resources: []abi.Resource{{
			ID: "res_1", Kind: abi.KindImage, Role: abi.RoleOutput, MIMEType: "image/png", FileName: "a.png", SizeBytes: 1,
			SHA256: strings.Repeat("a", 64), URL: ptr("http://x"), Source: abi.ResourceSource{Type: abi.SourceGenerated, Provider: "P"},
			Dimensions: &abi.Dimensions{Width: 1, Height: 1}, DurationMs: ptr(int64(1)),
			Metadata: map[string]json.RawMessage{"k": json.RawMessage("1")},
			Access:   &abi.ResourceAccess{Type: abi.AccessEphemeral, ExpiresAt: ptr(time.Time(now)), RequiresAuth: true},
		}},
		Warnings:     []abi.Warning{{Code: "A.B", Message: "m", Target: "t", Details: json.RawMessage(`{}`)}},
		Error:        abi.NewError("X.Y", "m").WithTarget("t").WithDetails(map[string]int{"n": 1}).WithCause(fmt.Errorf("inside")),
		Task:         &abi.Task{ID: "task_1", State: abi.TaskCompleted, Progress: ptr(0.5), PollAfterMs: ptr(int64(1)), Placeholder: "p"},
		Presentation: &abi.Presentation{Summary: "s", PreferredView: "v", Title: "t", PrimaryResourceID: "res_1"},
		AIAdvice:     &abi.AIAdvice{Intent: abi.IntentRelay, Message: "m", ResourceIDs: []string{"res_1"}, RenderHint: abi.RenderTable, Priority: abi.PriorityHigh},
		Policy: abi.Policy{
			Classification: abi.ClassificationPublic, ContainsSensitiveData: true,
			RedactionsApplied: []abi.Redaction{{Pointer: "/data/a", Reason: "secret"}},
		},
		Extensions: abi.Extensions{"vcp.trust": json.RawMessage(`"wasm"`)},
	}
}

// The least result: what the host cannot leave out.
func leastResult() abi.Result {
	return abi.Result{
		Protocol: abi.CurrentProtocol(), ID: "tr_1", Status: abi.StatusSuccess,
		Execution: abi.Execution{InvocationID: "ti_1", RequestID: "req_1", Attempt: 1},
		Origin:    abi.Origin{Source: abi.FromCLI},
		Policy:    abi.Policy{Classification: abi.ClassificationInternal},
	}
}

func TestMarshalledResultsPass(t *testing.T) {
	c := newCompiler(t)
	for name, result := range map[string]abi.Result{"full": fullResult(), "least": leastResult()} {
		raw, err := json.Marshal(result)
		if err != nil {
			t.Fatalf("marshal the %s result: %v", name, err)
		}
		if problems := c.Result(raw); problems != nil {
			t.Errorf("the schema refuses the %s result: %v", name, problems)
		}
	}
}

func TestMarshalledPayloadsPass(t *testing.T) {
	s := payloadSchema(t)
	full := fullResult()
	for name, payload := range map[string]abi.Payload{
		"full": {
			Status: full.Status, Data: full.Data, Warnings: full.Warnings, Error: full.Error, Task: full.Task,
			Presentation: full.Presentation, AIAdvice: full.AIAdvice, Extensions: abi.Extensions{"vendor.x": json.RawMessage("1")},
			Resources: []abi.ResourceDraft{{
				ID: "r", Kind: abi.KindImage, Role: abi.RoleOutput, MIMEType: "image/png", FileName: "a", LocalPath: "b",
				Source: &full.Resources[0].Source, Dimensions: full.Resources[0].Dimensions, DurationMs: ptr(int64(1)),
				Metadata: full.Resources[0].Metadata,
			}},
		},
		"least":         {Status: abi.StatusSuccess},
		"empty members": {Status: abi.StatusSuccess, Presentation: &abi.Presentation{}, AIAdvice: &abi.AIAdvice{Intent: abi.IntentNone, ResourceIDs: []string{}, Priority: abi.PriorityLow}},
	} {
		raw, err := json.Marshal(payload)
		if err != nil {
			t.Fatalf("marshal the %s payload: %v", name, err)
		}
		if problems := s.Problems(raw); problems != nil {
			t.Errorf("the schema refuses the %s payload: %v", name, problems)
		}
		read, refused := Payload(raw, abi.PhaseSync, rawjson.Limits{})
		if refused != nil {
			t.Errorf("Payload refuses the %s payload: %v", name, refused)
			continue
		}
		again, err := json.Marshal(read)
		if err != nil || string(again) != string(raw) {
			t.Errorf("%s: got %s (%v) after reading, want %s", name, again, err, raw)
		}
	}
}
