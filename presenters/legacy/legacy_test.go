package legacy_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/presenters"
	"vcphost/presenters/legacy"
	"vcphost/presenters/presentertest"
)

// view is a result as its owner sees it.
func view(t testing.TB, result *abi.Result) *presenters.View {
	t.Helper()
	owner := presentertest.Owner()
	v, err := presenters.NewView(result, owner, presenters.Viewer{Viewer: abi.Viewer{Owner: owner}, Consumer: presenters.ConsumerHuman})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// stamp ends every object.
const stamp = `,"MaidName":"Nova","timestamp":"2026-07-11T15:30:00.023+08:00"}`

type row struct {
	name   string
	change func(*abi.Result)
	status int
	want   string
}

func data(status abi.Status, data string) func(*abi.Result) {
	return func(r *abi.Result) { r.Status, r.Data, r.Error = status, json.RawMessage(data), nil }
}

func failed(code, message string) func(*abi.Result) {
	return func(r *abi.Result) {
		r.Status, r.Data, r.Error = abi.StatusError, nil, abi.NewError(code, "%s", message)
	}
}

func successes() []row {
	return []row{
		{"an object", data(abi.StatusSuccess, `{"a":1.50, "b":{"c":"<"}}`), 200, `{"a":1.50, "b":{"c":"<"}` + stamp},
		{"an empty object", data(abi.StatusSuccess, `{ }`), 200, `{"MaidName":"Nova","timestamp":"2026-07-11T15:30:00.023+08:00" }`},
		{"an object with names of the host's", data(abi.StatusSuccess, `{"MaidName":"x","timestamp":0}`), 200, `{"MaidName":"Nova","timestamp":"2026-07-11T15:30:00.023+08:00"}`},
		{"an array", data(abi.StatusSuccess, `[1,{"a":2}]`), 200, `[1,{"a":2}]`},
		{"nothing", data(abi.StatusSuccess, `null`), 200, `{"MaidName":"Nova","timestamp":"2026-07-11T15:30:00.023+08:00"}`},
		{"no data", func(r *abi.Result) { r.Status, r.Data = abi.StatusSuccess, nil }, 200, `{"MaidName":"Nova","timestamp":"2026-07-11T15:30:00.023+08:00"}`},
		{"a text", data(abi.StatusSuccess, `"hello \u00e9"`), 200, `{"original_plugin_output":"hello \u00e9"` + stamp},
		{"a number", data(abi.StatusSuccess, `12345678901234567890`), 200, `{"original_plugin_output":12345678901234567890` + stamp},
		{"a boolean", data(abi.StatusSuccess, `false`), 200, `{"original_plugin_output":false` + stamp},
		{"an empty text", data(abi.StatusSuccess, `""`), 200, `{"original_plugin_output":""` + stamp},
		{"a text that holds a number", data(abi.StatusSuccess, `"42"`), 200, `{"original_plugin_output":42` + stamp},
		{"a text that holds a text", data(abi.StatusSuccess, `"\"{}\""`), 200, `{"original_plugin_output":"{}"` + stamp},
		{"a text that holds an object", data(abi.StatusSuccess, `" {\"a\":1} "`), 200, `{"a":1` + stamp},
		{"a text that holds an array", data(abi.StatusSuccess, `"[1]"`), 200, `[1]`},
		{"a text that holds null", data(abi.StatusSuccess, `"null"`), 200, `{"MaidName":"Nova","timestamp":"2026-07-11T15:30:00.023+08:00"}`},
		{"a text that is almost JSON", data(abi.StatusSuccess, `"{\"a\":1,\"a\":2}"`), 200, `{"original_plugin_output":"{\"a\":1,\"a\":2}"` + stamp},
		{"partial", data(abi.StatusPartial, `{"a":1}`), 200, `{"a":1` + stamp},
		{"accepted", data(abi.StatusAccepted, `{"a":1}`), 200, `{"a":1` + stamp},
		{"an error inside", data(abi.StatusSuccess, `"{\"status\":\"error\",\"error\":\"no disk\"}"`), 500, `{"plugin_error":"no disk"` + stamp},
		{"an error inside without a text", data(abi.StatusSuccess, `{"status":"error"}`), 200, `{"status":"error"` + stamp},
	}
}

func failures() []row {
	return []row{
		{"an error of the plugin", failed("CSV.MALFORMED", `row "3"`), 500, `{"plugin_error":"row \"3\""` + stamp},
		{"one without words", failed("CSV.MALFORMED", ""), 500, `{"plugin_error":"Plugin \"CsvChart\" reported an unspecified error."` + stamp},
		{"one with data", func(r *abi.Result) {
			r.Status, r.Data, r.Error = abi.StatusError, json.RawMessage(`[1]`), abi.NewError("CSV.X", "x")
		}, 500, `{"result":[1],"plugin_error":"x"` + stamp},
		{"wrong arguments", failed(abi.CodeInvalidArgument, "x"), 500, `{"plugin_error":"x"` + stamp},
		{"a dependency", failed(abi.CodeUpstreamError, "x"), 500, `{"plugin_error":"x"` + stamp},
		{"rejected", failed(abi.CodeApprovalRejected, "x"), 500, `{"plugin_error":"x","error_type":"approval_rejected","rejected_by_user":true` + stamp},
		{"not approved in time", failed(abi.CodeApprovalTimeout, "x"), 500, `{"plugin_error":"x","MaidName":"Nova"}`},
		{"a trap", failed(abi.CodeSandboxTrap, "x"), 500, `{"plugin_execution_error":"x"` + stamp},
		{"a timeout", failed(abi.CodeToolTimeout, "x"), 500, `{"plugin_execution_error":"x"` + stamp},
		{"no result", failed(abi.CodeInvalidToolResult, "x"), 500, `{"plugin_execution_error":"x"` + stamp},
		{"forbidden", failed(abi.CodeForbidden, "x"), 500, `{"plugin_execution_error":"x"` + stamp},
		{"cancelled", func(r *abi.Result) {
			r.Status, r.Data, r.Error = abi.StatusCancelled, nil, abi.NewError(abi.CodeToolCancelled, "x")
		}, 500, `{"plugin_execution_error":"x"` + stamp},
		{"a failure that says nothing", func(r *abi.Result) { r.Status, r.Data, r.Error = abi.StatusError, nil, nil }, 500,
			`{"plugin_execution_error":"Plugin \"CsvChart\" reported an unspecified error."` + stamp},
		{"an unknown tool", func(r *abi.Result) {
			failed(abi.CodeToolNotFound, "x")(r)
			r.Tool.Name = `No"pe`
		}, 500, `{"error":"Internal Server Error","details":"[PluginManager] Plugin \"No\"pe\" not found for tool call."}`},
	}
}

func TestPresent(t *testing.T) {
	for _, tt := range append(successes(), failures()...) {
		t.Run(tt.name, func(t *testing.T) {
			result := presentertest.Full()
			tt.change(result)
			var status int
			var body []byte
			presentertest.Unchanged(t, result, func() { status, body = legacy.Present(view(t, result)) })
			var got any
			if err := json.Unmarshal(body, &got); err != nil || status != tt.status {
				t.Fatalf("%d %s, %v, want %d", status, body, err, tt.status)
			}
			if tt.name == "an unknown tool" {
				want := map[string]any{"error": "Internal Server Error", "details": `[PluginManager] Plugin "No"pe" not found for tool call.`}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got %s", body)
				}
				return
			}
			if string(body) != tt.want {
				t.Errorf("got  %s\nwant %s", body, tt.want)
			}
		})
	}
}

func TestCallersAndZones(t *testing.T) {
	result := presentertest.Full()
	result.Status, result.Data, result.Actor.Maid = abi.StatusSuccess, json.RawMessage("{}"), nil
	for zone, want := range map[string]string{"UTC": "+00:00", "Asia/Kolkata": "+05:30"} {
		at, err := time.LoadLocation(zone)
		if err != nil {
			t.Skip(err)
		}
		result.Execution.FinishedAt = abi.Timestamp(time.Date(2026, 1, 2, 3, 4, 5, 6_700_000, at))
		if _, body := legacy.Present(view(t, result)); string(body) != `{"timestamp":"2026-01-02T03:04:05.006`+want+`"}` {
			t.Errorf("%s: %s", zone, body)
		}
	}
	result.Actor = nil
	if _, body := legacy.Present(view(t, result)); !json.Valid(body) {
		t.Errorf("without an actor: %s", body)
	}
}
