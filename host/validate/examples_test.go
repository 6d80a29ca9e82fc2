package validate

import (
	"testing"

	"vcphost/abi"
)

// examplePayloads are the complete samples of the protocol, in words of our own.
func examplePayloads() []struct {
	name, section, document string
	phase                   abi.Phase
} {
	return []struct {
		name, section, document string
		phase                   abi.Phase
	}{
		{"success", "§5.2", `{"status":"success","data":{"message":"done"},"resources":[],"warnings":[],
			"presentation":{"summary":"The work is done","preferredView":null},
			"aiAdvice":{"intent":"relay","message":"Please pass the result on clearly.","resourceIds":[],"priority":"normal"},
			"extensions":{}}`, abi.PhaseSync},
		{"failure", "§5.2", `{"status":"error","data":null,"resources":[],"warnings":[],
			"error":{"code":"INVALID_ARGUMENT","message":"time has a wrong form","retryable":false,"target":"time","details":{"expected":"RFC 3339"}},
			"extensions":{}}`, abi.PhaseSync},
		{"accepted", "§5.2", `{"status":"accepted","data":{"message":"the video is queued"},
			"task":{"id":"task_01J9ZQ3V5K7M2N4P6R8S0T1V3X","state":"queued","progress":null,"pollAfterMs":5000,
				"placeholder":"{{VCP_ASYNC_RESULT::Wan2.1VideoGen::task_01J9ZQ3V5K7M2N4P6R8S0T1V3X}}"},
			"resources":[],"warnings":[],"extensions":{}}`, abi.PhaseFirst},
		{"warning", "§5.7", `{"status":"success","data":{"items":[]},"warnings":[
			{"code":"OUTPUT_TRUNCATED","message":"cut to the limit","target":"data.items","details":{"originalCount":10000,"returnedCount":500}}]}`, abi.PhaseSync},
		{"presentation", "§5.8", `{"status":"success","data":{"$resource":"res_1"},"resources":[{"id":"res_1"}],
			"presentation":{"summary":"1 image","preferredView":"image-result","title":"Images","primaryResourceId":"res_1"}}`, abi.PhaseSync},
		{"advice of an image", "§5.9", `{"status":"success","data":null,"aiAdvice":
			{"intent":"display_resource","message":"Show the image and name its size and seed.","resourceIds":["generated-image"],"renderHint":"image","priority":"high"}}`, abi.PhaseSync},
		{"advice of a calculator", "§5.9", `{"status":"success","data":42,"aiAdvice":
			{"intent":"relay","message":"Pass on the number with its unit.","resourceIds":[],"renderHint":"text","priority":"normal"}}`, abi.PhaseSync},
		{"extensions", "§5.10", `{"status":"success","data":null,"extensions":{"vcp.schedule":{"calendarId":"default"},"vendor.example":{"traceId":"t1"}}}`, abi.PhaseSync},
		{"error object", "§6.1", `{"status":"error","data":null,"error":{"code":"INVALID_ARGUMENT","message":"resolution is not supported",
			"category":"domain","retryable":false,"target":"resolution","details":{"allowed":["2K","4K"]},"cause":null}}`, abi.PhaseSync},
		{"namespaced code", "§6.3", `{"status":"error","data":null,"error":{"code":"DOUBAO.CONTENT_POLICY_REJECTED","message":"refused"}}`, abi.PhaseSync},
		{"resource draft", "§7.4", `{"status":"success","data":{"message":"an image","image":{"$resource":"output-image"}},
			"resources":[{"id":"output-image","kind":"image","role":"output","mimeType":"image/png","localPath":"image/gen/a.png","fileName":"a.png"}],
			"warnings":[],"extensions":{}}`, abi.PhaseSync},
		{"callback", "§10.3", `{"status":"success","data":{},"resources":[],"warnings":[],"extensions":{}}`, abi.PhaseCallback},
		{"image generator", "§13.3", `{"status":"success",
			"data":{"message":"an image","prompt":"a cat on the moon","resolution":"2K","seed":12345,"image":{"$resource":"generated-image"}},
			"resources":[{"id":"generated-image","kind":"image","role":"output","mimeType":"image/png","fileName":"a.png","localPath":"image/gen/a.png"}],
			"warnings":[],
			"presentation":{"summary":"an image","preferredView":"image-result","primaryResourceId":"generated-image"},
			"aiAdvice":{"intent":"display_resource","message":"Show the image.","resourceIds":["generated-image"],"renderHint":"image","priority":"high"},
			"extensions":{"vcp.image-generation":{"provider":"DMXAPI","model":"doubao-seedream-4-5-251128"}}}`, abi.PhaseSync},
		{"schedule added", "§13.4", `{"status":"success","data":{"operation":"created",
			"schedule":{"id":"sch_01J9ZQ3V5K7M2N4P6R8S0T1V3X","time":"2026-07-12T10:00:00+08:00","content":"meeting"}},
			"resources":[],"warnings":[],"presentation":{"summary":"added","preferredView":"schedule-card"},"extensions":{}}`, abi.PhaseSync},
		{"schedule list", "§13.4", `{"status":"success","data":{"schedules":[
			{"id":"sch_01J9ZQ3V5K7M2N4P6R8S0T1V3X","time":"2026-07-12T10:00:00+08:00","content":"meeting"}],"total":1},
			"resources":[],"warnings":[],"presentation":{"summary":"1 entry","preferredView":"schedule-list"},"extensions":{}}`, abi.PhaseSync},
	}
}

func TestExamplePayloadsPass(t *testing.T) {
	s := payloadSchema(t)
	for _, test := range examplePayloads() {
		t.Run(test.name, func(t *testing.T) {
			if _, err := readPayload(test.document, test.phase); err != nil {
				t.Errorf("Payload refuses the sample of %s: %v", test.section, err)
			}
			if problems := s.Problems([]byte(test.document)); problems != nil {
				t.Errorf("the schema refuses the sample of %s: %v", test.section, problems)
			}
		})
	}
}

// exampleResult is the sample of §5.3, with the members that §5.4 demands beyond
// it and a resource as §7.1 and §7.6 have it.
const exampleResult = `{
	"protocol":{"name":"vcp.tool-result","version":"1.0"},"id":"tr_01J9ZQ3V5K7M2N4P6R8S0T1V3X","status":"success",
	"tool":{"name":"ScheduleManager","displayName":"Schedules","version":"1.0.0","command":"ListSchedules"},
	"execution":{"invocationId":"ti_01J9ZQ3V5K7M2N4P6R8S0T1V3X","requestId":"req_01J9ZQ3V5K7M2N4P6R8S0T1V3X","recordId":"tcr_01J9ZQ3V5K7M2N4P6R8S0T1V3X",
		"startedAt":"2026-07-11T15:30:00.000+08:00","finishedAt":"2026-07-11T15:30:00.023+08:00","durationMs":23,"timeoutMs":60000,"attempt":1},
	"actor":{"type":"agent","id":null,"name":"Nova","maid":"Nova"},
	"origin":{"source":"ai-loop","nodeId":null,"serverId":"local","distributed":false,"requestIp":null},
	"data":{"schedules":[]},
	"resources":[{"id":"res_01J9ZQ3V5K7M2N4P6R8S0T1V3X","kind":"image","role":"output","mimeType":"image/png","fileName":"a.png","sizeBytes":183920,
		"sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","url":"https://vcp.example/r/1",
		"source":{"type":"generated","provider":"DMXAPI"},"dimensions":{"width":2048,"height":2048},"durationMs":null,"metadata":{},
		"access":{"type":"managed","expiresAt":null,"requiresAuth":true}}],
	"warnings":[],"error":null,"task":null,
	"presentation":{"summary":"no entries","preferredView":"schedule-list"},"aiAdvice":null,
	"policy":{"classification":"internal","containsSensitiveData":false,"redactionsApplied":[]},"extensions":{"vcp.trust":"wasm"}}`

func TestExampleResultPasses(t *testing.T) {
	if problems := newCompiler(t).Result([]byte(exampleResult)); problems != nil {
		t.Errorf("the schema refuses the sample of §5.3: %v", problems)
	}
}

func TestResultHasAllMembers(t *testing.T) {
	c := newCompiler(t)
	for _, name := range []string{
		"protocol", "id", "status", "tool", "execution", "actor", "origin", "data", "resources", "warnings",
		"error", "task", "presentation", "aiAdvice", "policy", "extensions",
	} {
		problems := c.Result([]byte(edit(t, exampleResult, "/"+name, "-")))
		if len(problems) != 1 || problems[0].Pointer != "/"+name || problems[0].Keyword != "required" {
			t.Errorf("without %s: got %v, want one problem that it is required (§5.4)", name, problems)
		}
	}
}
