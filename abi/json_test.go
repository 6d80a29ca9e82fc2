package abi_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"vcphost/abi"
)

func ptr[T any](v T) *T { return &v }

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// Everything that goes over the wire comes back as it was.
func TestRoundTrip(t *testing.T) {
	when := time.Date(2026, 7, 11, 15, 30, 0, 23e6, time.UTC)
	for _, test := range []struct {
		name  string
		value any
		wire  string
	}{
		{"protocol", &abi.Protocol{Name: "n", Version: "v"}, `{"name":"n","version":"v"}`},
		{"warning", &abi.Warning{Code: "A.B", Message: "m", Target: "t", Details: raw(`{"n":1}`)}, `{"code":"A.B","message":"m","target":"t","details":{"n":1}}`},
		{"least warning", &abi.Warning{Code: "A.B"}, `{"code":"A.B","message":""}`},
		{"presentation", &abi.Presentation{Summary: "s", PreferredView: "v", Title: "t", PrimaryResourceID: "r"}, `{"summary":"s","preferredView":"v","title":"t","primaryResourceId":"r"}`},
		{"empty presentation", &abi.Presentation{}, `{}`},
		{"advice", &abi.AIAdvice{Intent: abi.IntentRelay, Message: "m", ResourceIDs: []string{"r"}, RenderHint: abi.RenderText, Priority: abi.PriorityHigh}, `{"intent":"relay","message":"m","resourceIds":["r"],"renderHint":"text","priority":"high"}`},
		{"task", &abi.Task{ID: "task_1", State: abi.TaskRunning, Progress: ptr(0.5), PollAfterMs: ptr(int64(5)), Placeholder: "p"}, `{"id":"task_1","state":"running","progress":0.5,"pollAfterMs":5,"placeholder":"p"}`},
		{"task of unknown progress", &abi.Task{ID: "task_1", State: abi.TaskQueued}, `{"id":"task_1","state":"queued","progress":null,"pollAfterMs":null}`},
		{"draft", &abi.ResourceDraft{ID: "r", Kind: abi.KindImage, Role: abi.RoleOutput, MIMEType: "image/png", FileName: "f", LocalPath: "l", Source: &abi.ResourceSource{Type: abi.SourceGenerated, Provider: "P"}, Dimensions: &abi.Dimensions{Width: 1, Height: 2}, DurationMs: ptr(int64(3)), Metadata: map[string]json.RawMessage{"k": raw("1")}},
			`{"id":"r","kind":"image","role":"output","mimeType":"image/png","fileName":"f","localPath":"l","source":{"type":"generated","provider":"P"},"dimensions":{"width":1,"height":2},"durationMs":3,"metadata":{"k":1}}`},
		{"least draft", &abi.ResourceDraft{ID: "r"}, `{"id":"r"}`},
		{"resource", &abi.Resource{ID: "r", Kind: abi.KindText, Role: abi.RoleInput, MIMEType: "text/csv", FileName: "f", SizeBytes: 1, SHA256: "00", URL: ptr("u"), Source: abi.ResourceSource{Type: abi.SourceUpload}, Metadata: map[string]json.RawMessage{}, Access: &abi.ResourceAccess{Type: abi.AccessEphemeral, ExpiresAt: &when, RequiresAuth: true}},
			`{"id":"r","kind":"text","role":"input","mimeType":"text/csv","fileName":"f","sizeBytes":1,"sha256":"00","url":"u","source":{"type":"upload"},"dimensions":null,"durationMs":null,"metadata":{},"access":{"type":"ephemeral","expiresAt":"2026-07-11T15:30:00.023Z","requiresAuth":true}}`},
		{"reference", &abi.Reference{Resource: "res_1"}, `{"$resource":"res_1"}`},
		{"tool", &abi.Tool{Name: "n", DisplayName: "d", Version: "v", Command: "c"}, `{"name":"n","displayName":"d","version":"v","command":"c"}`},
		{"execution", &abi.Execution{InvocationID: "ti", RequestID: "req", RecordID: ptr("tcr"), StartedAt: abi.Timestamp(when), FinishedAt: abi.Timestamp(when), DurationMs: 1, TimeoutMs: 2, Attempt: 1},
			`{"invocationId":"ti","requestId":"req","recordId":"tcr","startedAt":"2026-07-11T15:30:00.023Z","finishedAt":"2026-07-11T15:30:00.023Z","durationMs":1,"timeoutMs":2,"attempt":1}`},
		{"actor", &abi.Actor{Type: abi.ActorAgent, Name: ptr("Nova"), Maid: ptr("Nova")}, `{"type":"agent","id":null,"name":"Nova","maid":"Nova"}`},
		{"origin", &abi.Origin{Source: abi.FromMCP, ServerID: "s", Distributed: true, RequestIP: ptr("::1")}, `{"source":"mcp","nodeId":null,"serverId":"s","distributed":true,"requestIp":"::1"}`},
		{"policy", &abi.Policy{Classification: abi.ClassificationPublic, RedactionsApplied: []abi.Redaction{{Pointer: "/data", Reason: "r"}}}, `{"classification":"public","containsSensitiveData":false,"redactionsApplied":[{"pointer":"/data","reason":"r"}]}`},
		{"progress", &abi.Progress{Stage: "s", Message: "m"}, `{"stage":"s","progress":null,"message":"m"}`},
		{"call", &abi.Call{Tool: "T", Arguments: raw(`{"a":1}`), Options: abi.CallOptions{TimeoutMs: 5}}, `{"tool":"T","arguments":{"a":1},"options":{"timeoutMs":5}}`},
		{"owner", &abi.Owner{Tenant: "t", Actor: "a"}, `{"tenant":"t","actor":"a"}`},
		{"payload", &abi.Payload{Status: abi.StatusSuccess, Data: raw(`{"n":12345678901234567890}`), Resources: []abi.ResourceDraft{}, Warnings: []abi.Warning{}, Extensions: abi.Extensions{"a.b": raw("1")}},
			`{"status":"success","data":{"n":12345678901234567890},"resources":[],"warnings":[],"extensions":{"a.b":1}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			wire, err := json.Marshal(test.value)
			if err != nil {
				t.Fatalf("marshal: %v", err)
			}
			if string(wire) != test.wire {
				t.Errorf("got  %s\nwant %s", wire, test.wire)
			}
			back := reflect.New(reflect.TypeOf(test.value).Elem()).Interface()
			if err := json.Unmarshal(wire, back); err != nil {
				t.Fatalf("unmarshal: %v", err)
			}
			if !reflect.DeepEqual(back, test.value) {
				t.Errorf("came back as %+v, want %+v", back, test.value)
			}
		})
	}
}

func TestEmptyValuesAreWritten(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"payload", abi.Payload{Status: abi.StatusSuccess}, `{"status":"success","data":null,"resources":[],"warnings":[],"extensions":{}}`},
		{"result", abi.Result{}, `{"protocol":{"name":"","version":""},"id":"","status":"","tool":{"name":"","displayName":"","version":"","command":""},` +
			`"execution":{"invocationId":"","requestId":"","recordId":null,"startedAt":"0001-01-01T00:00:00.000Z","finishedAt":"0001-01-01T00:00:00.000Z","durationMs":0,"timeoutMs":0,"attempt":0},` +
			`"actor":null,"origin":{"source":"","nodeId":null,"serverId":"","distributed":false,"requestIp":null},"data":null,"resources":[],"warnings":[],"error":null,"task":null,` +
			`"presentation":null,"aiAdvice":null,"policy":{"classification":"","containsSensitiveData":false,"redactionsApplied":[]},"extensions":{}}`},
		{"resource", abi.Resource{}, `{"id":"","kind":"","role":"","mimeType":"","fileName":"","sizeBytes":0,"sha256":"","url":null,"source":{"type":""},"dimensions":null,"durationMs":null,"metadata":{}}`},
		{"invocation", abi.Invocation{}, `{"command":"","arguments":{},"invocationId":"","deadlineMs":null,"actor":null,"source":"","resources":[]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.Marshal(test.value)
			if err != nil || string(got) != test.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestResultRoundTrip(t *testing.T) {
	result := abi.Result{
		Protocol: abi.CurrentProtocol(), ID: "tr_1", Status: abi.StatusError, Data: raw(`{"a":[1,null]}`),
		Resources: []abi.Resource{}, Warnings: []abi.Warning{{Code: "A.B"}}, Error: abi.NewError("X.Y", "m"),
		Policy: abi.Policy{RedactionsApplied: []abi.Redaction{}}, Extensions: abi.Extensions{},
	}
	wire, err := json.Marshal(result)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	var back abi.Result
	if err := json.Unmarshal(wire, &back); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(wire) {
		t.Errorf("came back as %s (%v), want %s", again, err, wire)
	}
	if string(back.Data) != `{"a":[1,null]}` {
		t.Errorf("data became %s", back.Data)
	}
}

func TestInvocationAsAGuestSeesIt(t *testing.T) {
	inv := abi.Invocation{
		Plugin: "P", Command: "C", Arguments: raw(`{"a":1}`), InvocationID: "ti_1", Deadline: time.UnixMilli(1234),
		Actor: &abi.Actor{Type: abi.ActorUser}, Source: abi.FromCLI,
		Inputs: []abi.Resource{{ID: "res_1", Kind: abi.KindText, MIMEType: "text/csv", FileName: "f", SizeBytes: 9, SHA256: "00", URL: ptr("http://secret")}},
	}
	got, err := json.Marshal(inv)
	want := `{"command":"C","arguments":{"a":1},"invocationId":"ti_1","deadlineMs":1234,"actor":{"type":"user","id":null,"name":null,"maid":null},` +
		`"source":"cli","resources":[{"id":"res_1","kind":"text","mimeType":"text/csv","fileName":"f","sizeBytes":9,"sha256":"00"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
}

func TestTimestamp(t *testing.T) {
	zone := time.FixedZone("", 8*3600)
	at := abi.Timestamp(time.Date(2026, 7, 11, 15, 30, 0, 23_999_999, zone))
	if got, want := at.String(), "2026-07-11T15:30:00.023+08:00"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var read abi.Timestamp
	for text, ok := range map[string]bool{"2026-07-11T15:30:00Z": true, "2026-07-11T15:30:00.123456+08:00": true, "2026-07-11": false, "now": false} {
		if err := read.UnmarshalText([]byte(text)); (err == nil) != ok {
			t.Errorf("%q: got %v, want accepted = %v", text, err, ok)
		}
	}
}
