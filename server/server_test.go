package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server/servertest"
)

// world is a server over real parts, and a key.
type world struct{ *servertest.Server }

func start(t *testing.T, guest wasmbuild.Guest) world {
	t.Helper()
	return world{servertest.Start(t, &servertest.Options{Guest: guest})}
}

func (w world) do(t *testing.T, method, path, contentType, body string) (int, http.Header, []byte) {
	t.Helper()
	return w.Do(t, method, path, contentType, body)
}

func TestACallOverHTTPAnswersCanonically(t *testing.T) {
	w := start(t, wasmbuild.Guest{})
	for _, test := range []struct{ name, path, kind, body string }{
		{"the human endpoint", "/v1/human/tool", "application/json", `{"tool":"Tiny.Run","arguments":{"n":1}}`},
		{"a command's own endpoint", "/v1/tools/Tiny/Run", "application/json", `{"n":1}`},
		{"a text block", "/v1/human/tool", "text/plain", "<<<[TOOL_REQUEST]>>>\ntool_name:「始」Tiny「末」,\ncommand:「始」Run「末」,\nN:「始」1「末」\n<<<[END_TOOL_REQUEST]>>>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, header, body := w.do(t, "POST", test.path, test.kind, test.body)
			var result abi.Result
			if err := json.Unmarshal(body, &result); status != 200 || err != nil || result.Status != abi.StatusSuccess {
				t.Fatalf("got %d %s", status, body)
			}
			if got := header.Get("X-Request-Id"); got != result.Execution.RequestID {
				t.Errorf("the header names request %q, the result %q", got, result.Execution.RequestID)
			}
			status, _, stored := w.do(t, "GET", "/v1/results/"+result.ID, "", "")
			if status != 200 || !bytes.Equal(stored, body) {
				t.Errorf("the stored result is %d %s", status, stored)
			}
		})
	}
}
