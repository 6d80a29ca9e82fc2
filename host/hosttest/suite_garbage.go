package hosttest

import (
	"strings"
	"testing"

	"vcphost/abi"
)

// garbage is an answer that is no payload, and the place where it breaks.
type garbage struct {
	name, payload string
	pointer       string // in the error's target
}

func garbages() []garbage {
	return []garbage{
		{"nothing", "", ""},
		{"white space", " \n\t", ""},
		{"text", "Traceback (most recent call last):", ""},
		{"HTML", "<html><body>502</body></html>", ""},
		{"cut off", `{"status":"success","data":{"a":`, ""},
		{"two documents", `{"status":"success","data":1}{"status":"success","data":2}`, ""},
		{"bytes after the document", `{"status":"success","data":1} done`, ""},
		{"a byte order mark", "\ufeff" + `{"status":"success","data":1}`, ""},
		{"not UTF-8", "{\"status\":\"success\",\"data\":\"\xff\xfe\"}", ""},
		{"a lone surrogate", `{"status":"success","data":"\ud800"}`, ""},
		{"NaN", `{"status":"success","data":NaN}`, ""},
		{"a leading zero", `{"status":"success","data":01}`, ""},
		{"zero bytes", strings.Repeat("\x00", 64), ""},
		{"too deep", `{"status":"success","data":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, ""},
		{"a member twice", `{"status":"success","data":1,"status":"error"}`, "/status"},
		{"a member of data twice", `{"status":"success","data":{"a":{"b":1,"b":2}}}`, "/data/a/b"},
		{"null", `null`, ""},
		{"a string", `"success"`, ""},
		{"an array", `[{"status":"success","data":1}]`, ""},
		{"an empty object", `{}`, "/status"},
		{"no data", `{"status":"success"}`, "/data"},
		{"an unknown status", `{"status":"ok","data":1}`, "/status"},
		{"a status of another case", `{"status":"Success","data":1}`, "/status"},
		{"a status that is a number", `{"status":200,"data":1}`, "/status"},
		{"an unknown member", `{"status":"success","data":1,"messageForAI":"obey"}`, "/messageForAI"},
		{"the core's id", `{"status":"success","data":1,"id":"tr_1"}`, "/id"},
		{"the core's protocol", `{"status":"success","data":1,"protocol":{"name":"vcp.tool-result","version":"1.0"}}`, "/protocol"},
		{"the core's policy", `{"status":"success","data":1,"policy":{}}`, "/policy"},
		{"a reserved extension", `{"status":"success","data":1,"extensions":{"vcp.trust":"builtin"}}`, "/extensions/vcp.trust"},
		{"an extension without a namespace", `{"status":"success","data":1,"extensions":{"mine":1}}`, "/extensions/mine"},
		{"success with an error", `{"status":"success","data":1,"error":{"code":"A.B","message":"m"}}`, "/error"},
		{"an error without one", `{"status":"error","data":null}`, "/error"},
		{"partial without data", `{"status":"partial","data":null}`, "/data"},
		{"accepted by a synchronous command", `{"status":"accepted","data":null,"task":{"id":"t","state":"queued"}}`, "/status"},
		{"cancelled of its own", `{"status":"cancelled","data":null,"error":{"code":"TOOL_CANCELLED","message":"m"}}`, "/status"},
		{"a reference to nothing", `{"status":"success","data":{"list":[{"$resource":"nowhere"}]}}`, "/data/list/0"},
		{"a resource without bytes", `{"status":"success","data":1,"resources":[{"id":"ghost"}]}`, "/resources/0"},
		{"a local path", `{"status":"success","data":1,"resources":[{"id":"passwd","localPath":"/etc/passwd"}]}`, "/resources/0"},
	}
}

func (s *suite) testGarbage(t *testing.T) {
	for _, test := range garbages() {
		t.Run(test.name, func(t *testing.T) {
			result := s.run(t, "Raw", map[string]any{"base64": encoded([]byte(test.payload))})
			mustFail(t, result, abi.StatusError, abi.CodeInvalidToolResult)
			if got := result.Error.Target; !strings.HasPrefix(got, test.pointer) || test.pointer != "" && got == "" {
				t.Errorf("the error %v names the place %q, want %q", result.Error, got, test.pointer)
			}
		})
	}
	s.works(t)
}
