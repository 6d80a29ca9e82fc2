package human_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/internal/rawjson"
	"vcphost/presenters"
	"vcphost/presenters/human"
	"vcphost/presenters/presentertest"
)

func view(t testing.TB, result *abi.Result) *presenters.View {
	t.Helper()
	v, err := presenters.NewView(result, presentertest.Owner(), presenters.Viewer{
		Viewer: abi.Viewer{Owner: presentertest.Owner()}, Consumer: presenters.ConsumerHuman,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPresentKeepsDataByteForByte(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"spaces and number texts", "{\"b\": 1.50,\n \"a\":1e400, \"t\":\"a<b & \\u003c\"}", "{\"b\": 1.50,\n \"a\":1e400, \"t\":\"a<b & \\u003c\"}"},
		{"white space around", " [ 1 ]\n", "[ 1 ]"},
		{"null", "null", "null"},
		{"absent", "", "null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result := presentertest.Full()
			result.Data = json.RawMessage(tt.data)
			var raw []byte
			presentertest.Unchanged(t, result, func() {
				var err error
				if raw, err = human.Present(view(t, result)); err != nil {
					t.Fatal(err)
				}
			})
			if got, _ := rawjson.At(raw, "/data"); string(got) != tt.want {
				t.Errorf("data: got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPresentIsTheWholeResult(t *testing.T) {
	result := presentertest.Full()
	raw, err := human.Present(view(t, result))
	if err != nil {
		t.Fatal(err)
	}
	if err := rawjson.Check(raw, rawjson.Limits{}); err != nil {
		t.Fatalf("not valid JSON: %v\n%s", err, raw)
	}
	result.Policy.ContainsSensitiveData, result.Policy.RedactionsApplied = false, nil
	want, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(raw, &a) != nil || json.Unmarshal(want, &b) != nil {
		t.Fatal("unreadable JSON")
	}
	got, _ := json.Marshal(a)
	expected, _ := json.Marshal(b)
	if !bytes.Equal(got, expected) {
		t.Errorf("got %s\nwant %s", got, expected)
	}
}

func TestPresentWritesAnglesPlainly(t *testing.T) {
	result := presentertest.Full()
	result.Presentation.Summary = "a < b & c > d"
	result.Presentation.Title = `literally \u003c and \\u003c`
	raw, err := human.Present(view(t, result))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(raw, []byte(`"a < b & c > d"`)) {
		t.Errorf("angles are escaped: %s", raw)
	}
	title, _ := rawjson.At(raw, "/presentation/title")
	if got, _ := rawjson.Unquote(title); got != result.Presentation.Title {
		t.Errorf("title: got %q, want %q", got, result.Presentation.Title)
	}
}

func TestPresentIndentChangesWhiteSpaceOnly(t *testing.T) {
	v := view(t, presentertest.Full())
	plain, err := human.Present(v)
	if err != nil {
		t.Fatal(err)
	}
	indented, err := human.PresentIndent(v, "  ")
	if err != nil {
		t.Fatal(err)
	}
	var got, want bytes.Buffer
	if json.Compact(&got, indented) != nil || json.Compact(&want, plain) != nil {
		t.Fatal("not valid JSON")
	}
	if got.String() != want.String() {
		t.Errorf("got %s\nwant %s", got.String(), want.String())
	}
	if !strings.Contains(string(indented), "\n    \"mean\": 1.50,\n") {
		t.Errorf("number text or indent lost:\n%s", indented)
	}
}

func TestPresentReportsBrokenExtensions(t *testing.T) {
	result := presentertest.Full()
	result.Extensions["vendor.example"] = json.RawMessage("{")
	if raw, err := human.Present(view(t, result)); err == nil {
		t.Errorf("got %s, want an error", raw)
	}
}
