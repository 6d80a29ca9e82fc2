package presentertest

import (
	"encoding/json"
	"time"

	"vcphost/abi"
)

// Owner is whose [Full] and every other result of the presenters' tests is.
func Owner() abi.Owner { return abi.Owner{Tenant: "default", Actor: "ada"} }

// Full gives a new result in which every member and every pointer is set, so
// that a test sees whatever a presenter shares or changes.
func Full() *abi.Result {
	text := func(s string) *string { return &s }
	number := func(n int64) *int64 { return &n }
	at := time.Date(2026, 7, 11, 15, 30, 0, 0, time.FixedZone("", 8*3600))
	progress := 1.0
	return &abi.Result{
		Protocol: abi.Protocol{Name: abi.ProtocolName, Version: abi.ProtocolVersion},
		ID:       "tr_01JZX5T0C4Q0K7ZG4V4W9B2M3N", Status: abi.StatusPartial,
		Tool: abi.Tool{Name: "CsvChart", DisplayName: "CSV Chart", Version: "1.0.0", Command: "Plot"},
		Execution: abi.Execution{
			InvocationID: "ti_01JZX5T0C4Q0K7ZG4V4W9B2M3P", RequestID: "req_01JZX5T0C4Q0K7ZG4V4W9B2M3Q",
			RecordID: text("tcr_01JZX5T0C4Q0K7ZG4V4W9B2M3R"), StartedAt: abi.Timestamp(at),
			FinishedAt: abi.Timestamp(at.Add(23 * time.Millisecond)), DurationMs: 23, TimeoutMs: 60000, Attempt: 1,
		},
		Actor:     &abi.Actor{Type: abi.ActorAgent, ID: text("a1"), Name: text("Nova"), Maid: text("Nova")},
		Origin:    abi.Origin{Source: abi.FromAILoop, NodeID: text("n1"), ServerID: "local", RequestIP: text("192.0.2.1")},
		Data:      json.RawMessage("{\"mean\": 1.50,\n \"chart\":{\"$resource\":\"res_01JZX5T0C4Q0K7ZG4V4W9B2M3S\"}, \"note\":\"a < b\"}"),
		Resources: []abi.Resource{fullResource(at)},
		Warnings:  []abi.Warning{{Code: "OUTPUT_TRUNCATED", Message: "cut", Target: "data.items", Details: json.RawMessage(`{"originalCount":9}`)}},
		Error:     abi.NewError("CSV.MALFORMED", "row 3 <- bad").WithTarget("data").WithDetails(map[string]int{"line": 3}),
		Task:      &abi.Task{ID: "task_1", State: abi.TaskCompleted, Progress: &progress, PollAfterMs: number(5000)},
		Presentation: &abi.Presentation{
			Summary: "1 chart", PreferredView: "image-result", Title: "Chart", PrimaryResourceID: "res_01JZX5T0C4Q0K7ZG4V4W9B2M3S",
		},
		AIAdvice: &abi.AIAdvice{
			Intent: abi.IntentDisplayResource, Message: "Show the chart.", RenderHint: abi.RenderImage,
			ResourceIDs: []string{"res_01JZX5T0C4Q0K7ZG4V4W9B2M3S"}, Priority: abi.PriorityNormal,
		},
		Policy: abi.Policy{
			Classification: abi.ClassificationInternal, ContainsSensitiveData: true,
			RedactionsApplied: []abi.Redaction{{Pointer: "/data/x", Reason: "forged"}},
		},
		Extensions: abi.Extensions{"vendor.example": json.RawMessage(`{"traceId":"t"}`)},
	}
}

func fullResource(at time.Time) abi.Resource {
	url, length := "https://vcp.example/r/1", int64(10)
	return abi.Resource{
		ID: "res_01JZX5T0C4Q0K7ZG4V4W9B2M3S", Kind: abi.KindImage, Role: abi.RoleOutput, MIMEType: "image/png",
		FileName: "chart.png", SizeBytes: 24103, SHA256: "00", URL: &url, DurationMs: &length,
		Source: abi.ResourceSource{Type: abi.SourceGenerated}, Dimensions: &abi.Dimensions{Width: 640, Height: 480},
		Metadata: map[string]json.RawMessage{"dpi": json.RawMessage("96")},
		Access:   &abi.ResourceAccess{Type: abi.AccessEphemeral, ExpiresAt: &at, RequiresAuth: true},
	}
}
