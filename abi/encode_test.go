package abi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"vcphost/abi"
)

func TestEncodeKeepsWhatAPluginWrote(t *testing.T) {
	data := json.RawMessage("{\"html\":\"<b>&amp;</b>\u2028\",\"big\":12345678901234567890,\"e\":1e400,\"z\":1,\"a\":2}")
	raw, err := abi.Encode(&abi.Result{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	want := `"data":` + strings.ReplaceAll(string(data), "\u2028", `\u2028`)
	if !strings.Contains(string(raw), want) && !strings.Contains(string(raw), `"data":`+string(data)) {
		t.Errorf("got %s, want it to hold the data as written", raw)
	}
	if strings.HasSuffix(string(raw), "\n") {
		t.Error("the text ends with a line feed")
	}
}
