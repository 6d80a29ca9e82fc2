package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vcphost/abi"
)

var resourceID = regexp.MustCompile(`res_[0-9A-HJKMNP-TV-Z]{26}`)

// named replaces the ids of a result's resources by the file names that the
// drafts gave them, so that a test can tell what became of which draft.
func named(result *abi.Result, text string) string {
	for _, resource := range result.Resources {
		text = strings.ReplaceAll(text, resource.ID, "<"+resource.FileName+">")
	}
	return text
}

func draft(id string) abi.ResourceDraft { return abi.ResourceDraft{ID: id, FileName: id + ".txt"} }

func TestReferencesAreRewrittenInData(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"at the top", `{"$resource":"a"}`, `{"$resource":"<a.txt>"}`},
		{"deep", `{"x":[1,{"y":{"$resource":"b"}}],"z":{"$resource":"a"}}`, `{"x":[1,{"y":{"$resource":"<b.txt>"}}],"z":{"$resource":"<a.txt>"}}`},
		{"twice the same", `[{"$resource":"a"},{"$resource":"a"}]`, `[{"$resource":"<a.txt>"},{"$resource":"<a.txt>"}]`},
		{"escaped", `{"\u0024resource":"\u0061"}`, `{"$resource":"<a.txt>"}`},
		{"white space around", "{ \"$resource\" :\n\"a\" }", `{"$resource":"<a.txt>"}`},
		{"an id in a text stays", `{"text":"see a and {\"$resource\":\"a\"}","id":"a"}`, `{"text":"see a and {\"$resource\":\"a\"}","id":"a"}`},
		{"with a second member it is no reference", `{"$resource":"nowhere","title":"x"}`, `{"$resource":"nowhere","title":"x"}`},
		{"a number is no reference", `{"$resource":7}`, `{"$resource":7}`},
		{"the rest of data stays as it is", `{"b":1.50,"a":"\u00e9","n":12345678901234567890,"r":{"$resource":"a"}}`, `{"b":1.50,"a":"\u00e9","n":12345678901234567890,"r":{"$resource":"<a.txt>"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, _ := plugin{invoke: answers(`{"status":"success","data":`+test.data+`}`, draft("a"), draft("b"))}.run(t)
			wantSuccess(t, result)
			if got := named(result, string(result.Data)); got != test.want {
				t.Errorf("got data %s, want %s", got, test.want)
			}
			if len(result.Resources) != 2 { // also what nothing refers to
				t.Errorf("got %d resources, want 2", len(result.Resources))
			}
		})
	}
}

func TestDanglingReferencesInData(t *testing.T) {
	for _, test := range []struct{ name, data, pointer string }{
		{"unknown", `{"a":[{"$resource":"x"}]}`, "/data/a/0"},
		{"empty", `{"$resource":""}`, "/data"},
		{"a host's id of somewhere", `{"m/n":{"$resource":"res_0000000000000000000000000A"}}`, "/data/m~1n"},
		{"after a good one", `[{"$resource":"a"},{"$resource":"x"}]`, "/data/1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, b := plugin{invoke: answers(`{"status":"success","data":`+test.data+`}`, draft("a"))}.run(t)
			failure := wantError(t, result, abi.StatusError, abi.CodeInvalidToolResult)
			if failure.Target != test.pointer {
				t.Errorf("got target %q, want %q", failure.Target, test.pointer)
			}
			if len(result.Resources) > 0 {
				t.Errorf("the failed call shows resources %v", result.Resources)
			}
			if err := b.DB.Scan([]byte("res/"), func(key, _ []byte) bool { t.Errorf("%s is left", key); return true }); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestReferencesInAdviceAndPresentation(t *testing.T) {
	result, _ := plugin{invoke: answers(`{"status":"success","data":null,
		"presentation":{"title":"T","primaryResourceId":"a"},
		"aiAdvice":{"intent":"display_resource","resourceIds":["x","b","a","y"],"priority":"high"}}`, draft("a"), draft("b"))}.run(t)
	wantSuccess(t, result)
	if got := named(result, result.Presentation.PrimaryResourceID); got != "<a.txt>" {
		t.Errorf("got primary resource %q, want that of a", got)
	}
	if got := named(result, strings.Join(result.AIAdvice.ResourceIDs, " ")); got != "<b.txt> <a.txt>" {
		t.Errorf("got advice on %q, want b and a", got)
	}
	if got, want := warned(result, abi.WarningDanglingReference), []string{"/aiAdvice/resourceIds/0", "/aiAdvice/resourceIds/3"}; !slices.Equal(got, want) {
		t.Errorf("got warnings at %q, want %q", got, want)
	}
	result, _ = plugin{invoke: answers(`{"status":"success","data":null,"presentation":{"primaryResourceId":"gone"}}`)}.run(t)
	wantSuccess(t, result)
	if result.Presentation.PrimaryResourceID != "" || !slices.Equal(warned(result, abi.WarningDanglingReference), []string{"/presentation/primaryResourceId"}) {
		t.Errorf("got presentation %+v, warnings %+v", result.Presentation, result.Warnings)
	}
}

func TestInputsThatAreReferencedAreListed(t *testing.T) {
	for _, test := range []struct {
		name, payload string
		listed        bool
	}{
		{"in data", `{"status":"success","data":[{"$resource":"%[1]s"},{"$resource":"%[1]s"}]}`, true},
		{"in advice", `{"status":"success","data":null,"aiAdvice":{"intent":"relay","resourceIds":["%[1]s"],"priority":"low"}}`, true},
		{"in presentation", `{"status":"success","data":null,"presentation":{"primaryResourceId":"%[1]s"}}`, true},
		{"nowhere", `{"status":"success","data":"%[1]s"}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := ""
			b := plugin{invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
				if len(inv.Inputs) != 1 || inv.Inputs[0].ID != id || inv.Inputs[0].Role != abi.RoleInput || inv.Inputs[0].SizeBytes != 5 {
					t.Errorf("the plugin was told of %+v", inv.Inputs)
				}
				return &abi.Reply{Payload: fmt.Appendf(nil, test.payload, id)}, nil
			}}.bench(t)
			id = b.Import(t, "in.txt", []byte("bytes"))
			result := b.Execute(context.Background(), t, b.Call("Test", fmt.Sprintf(`{"must":"","input":{"$resource":%q}}`, id)))
			wantSuccess(t, result)
			if !test.listed {
				if len(result.Resources) > 0 {
					t.Errorf("got resources %+v, want none", result.Resources)
				}
				return
			}
			if len(result.Resources) != 1 || result.Resources[0].ID != id || result.Resources[0].Role != abi.RoleInput {
				t.Errorf("got resources %+v, want the input once", result.Resources)
			}
		})
	}
}

func TestResourceOutputs(t *testing.T) {
	const outputs = `,"resourceOutputs":[{"field":"/chart","kind":"document","role":"preview"},{"field":"/list/0"}]`
	p := plugin{command: outputs, invoke: answers(`{"status":"success","data":{"chart":{"$resource":"a"},"list":[]},
		"resources":[{"id":"a","role":"attachment","metadata":{"k":[1]}}]}`, draft("a"))}
	result, b := p.run(t)
	wantSuccess(t, result)
	got := result.Resources[0]
	if got.Kind != abi.KindDocument || got.Role != abi.RolePreview || string(got.Metadata["k"]) != "[1]" {
		t.Errorf("got %+v, want kind and role of the manifest and metadata of the payload", got)
	}
	if got := warned(result, abi.WarningResourceOutputMissing); !slices.Equal(got, []string{"/data/list/0"}) {
		t.Errorf("got missing outputs %q, want /data/list/0", got)
	}
	stored, err := b.Resources.Describe(context.Background(), b.Viewer(), got.ID)
	if err != nil || stored.Kind != got.Kind || stored.Role != got.Role {
		t.Errorf("the stored descriptor is %+v, %v", stored, err)
	}

	p.invoke = answers(`{"status":"success","data":{"chart":{"$resource":"a"},"list":[{"$resource":"a"}]}}`,
		abi.ResourceDraft{ID: "a", Kind: abi.KindText, Role: abi.RoleLog})
	result, _ = p.run(t)
	if got := result.Resources[0]; got.Kind != abi.KindText || got.Role != abi.RoleLog || len(result.Warnings) > 0 {
		t.Errorf("got %+v with warnings %+v, want what the plugin said when it wrote", got, result.Warnings)
	}

	p.invoke = answers(`{"status":"error","data":null,"error":{"code":"T.X","message":"m"}}`)
	if result, _ = p.run(t); len(warned(result, abi.WarningResourceOutputMissing)) > 0 {
		t.Errorf("an error is warned of its outputs: %+v", result.Warnings)
	}
}

func TestAMismatchOfTheMediaTypeIsTold(t *testing.T) {
	result, _ := plugin{invoke: answers(plain, abi.ResourceDraft{ID: "a", FileName: "a.png", MIMEType: "image/png"})}.run(t)
	wantSuccess(t, result)
	if got := warned(result, abi.WarningMIMEMismatch); !slices.Equal(got, []string{result.Resources[0].ID}) {
		t.Errorf("got warnings %+v, want a mismatch", result.Warnings)
	}
}

func TestErrorCodesOfPlugins(t *testing.T) {
	for _, test := range []struct {
		name, failure  string
		code           string
		category       abi.Category
		retryable      bool
		reserved, news []string // targets of the two warnings
	}{
		{"a declared code", `"code":"CSV.MALFORMED","message":"m"`, "CSV.MALFORMED", abi.CategoryDomain, false, nil, nil},
		{"a standard code", `"code":"UPSTREAM_ERROR","message":"m"`, "UPSTREAM_ERROR", abi.CategoryDependency, true, nil, []string{"/error/code"}},
		{"retryable as the plugin says", `"code":"UPSTREAM_ERROR","message":"m","retryable":false`, "UPSTREAM_ERROR", abi.CategoryDependency, false, nil, []string{"/error/code"}},
		{"a category of its own", `"code":"CSV.MALFORMED","message":"m","category":"validation"`, "CSV.MALFORMED", abi.CategoryValidation, false, nil, nil},
		{"an undeclared code", `"code":"CSV.ODD","message":"m"`, "CSV.ODD", abi.CategoryDomain, false, nil, []string{"/error/code"}},
		{"a decision of the host", `"code":"APPROVAL_REJECTED","message":"m","category":"approval"`, "PLUGIN.APPROVAL_REJECTED", abi.CategoryDomain, false, []string{"/error/code"}, []string{"/error/code"}},
		{"a failure of the transport", `"code":"TRANSPORT_FAILURE","message":"m","retryable":true`, "PLUGIN.TRANSPORT_FAILURE", abi.CategoryDomain, true, []string{"/error/code"}, []string{"/error/code"}},
		{"a trap", `"code":"SANDBOX.TRAP","message":"m"`, "PLUGIN.SANDBOX.TRAP", abi.CategoryDomain, false, []string{"/error/code"}, []string{"/error/code"}},
		{"a code without a namespace", `"code":"ODD","message":"m"`, "PLUGIN.ODD", abi.CategoryDomain, false, []string{"/error/code"}, []string{"/error/code"}},
		{"a category of the host", `"code":"CSV.MALFORMED","message":"m","category":"authorization"`, "CSV.MALFORMED", abi.CategoryDomain, false, []string{"/error/category"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, _ := plugin{
				command: `,"errorCodes":["CSV.MALFORMED"]`,
				invoke:  answers(`{"status":"error","data":null,"error":{` + test.failure + `}}`),
			}.run(t)
			failure := wantError(t, result, abi.StatusError, test.code)
			if failure.Category != test.category || failure.Retryable != test.retryable {
				t.Errorf("got category %s, retryable %t; want %s, %t", failure.Category, failure.Retryable, test.category, test.retryable)
			}
			if got := warned(result, abi.WarningErrorCodeReserved); !slices.Equal(got, test.reserved) {
				t.Errorf("got %s at %q, want %q", abi.WarningErrorCodeReserved, got, test.reserved)
			}
			if got := warned(result, abi.WarningErrorCodeUndeclared); !slices.Equal(got, test.news) {
				t.Errorf("got %s at %q, want %q", abi.WarningErrorCodeUndeclared, got, test.news)
			}
		})
	}
}

func TestDefaultsOfTheCommand(t *testing.T) {
	const defaults = `,"presentation":{"preferredView":"card","title":"Default"},"aiAdvice":{"intent":"relay","message":"Default.","resourceIds":["a","gone"]}`
	for _, test := range []struct {
		name, payload       string
		view, title, advice string
	}{
		{"both left out", `{"status":"success","data":null}`, "card", "Default", "Default."},
		{"both null", `{"status":"success","data":null,"presentation":null,"aiAdvice":null}`, "card", "Default", "Default."},
		{"its own", `{"status":"success","data":null,"presentation":{"preferredView":"own","title":"Own"},"aiAdvice":{"intent":"relay","message":"Own.","resourceIds":[],"priority":"low"}}`, "own", "Own", "Own."},
		{"a presentation without a view", `{"status":"success","data":null,"presentation":{"title":"Own"}}`, "card", "Own", "Default."},
		{"an error", `{"status":"error","data":null,"error":{"code":"T.X","message":"m"}}`, "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := plugin{command: defaults, invoke: answers(test.payload, draft("a"))}.bench(t)
			for range 2 { // the manifest's own are not changed by a call
				result := b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`))
				view, title, advice := "", "", ""
				if p := result.Presentation; p != nil {
					view, title = p.PreferredView, p.Title
				}
				if a := result.AIAdvice; a != nil {
					advice = a.Message
				}
				if view != test.view || title != test.title || advice != test.advice {
					t.Errorf("got view %q, title %q, advice %q; want %q, %q, %q", view, title, advice, test.view, test.title, test.advice)
				}
				if test.advice == "Default." && (len(result.AIAdvice.ResourceIDs) != 1 || !resourceID.MatchString(result.AIAdvice.ResourceIDs[0])) {
					t.Errorf("got advice on %q, want the resource a alone", result.AIAdvice.ResourceIDs)
				}
			}
		})
	}
}

func TestTheOutputSchemaIsForWhatConsumersSee(t *testing.T) {
	const output = `{"type":"object","properties":{"file":{"$ref":"vcp:resource"},"n":{"type":"integer"}},"required":["file"]}`
	for _, test := range []struct {
		name, payload string
		code, target  string
	}{
		{"right", `{"status":"success","data":{"file":{"$resource":"a"},"n":1}}`, "", ""},
		{"wrong", `{"status":"success","data":{"file":{"$resource":"a"},"n":"1"}}`, abi.CodeInvalidToolResult, "/data/n"},
		{"wrong and partial", `{"status":"partial","data":{"n":1}}`, abi.CodeInvalidToolResult, "/data/file"},
		{"null", `{"status":"success","data":null}`, abi.CodeInvalidToolResult, "/data"},
		{"an error is not held against it", `{"status":"error","data":{"n":"x"},"error":{"code":"T.X","message":"m"}}`, "T.X", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, _ := plugin{output: output, invoke: answers(test.payload, draft("a"))}.run(t)
			if test.code == "" {
				wantSuccess(t, result)
				return
			}
			if failure := wantError(t, result, abi.StatusError, test.code); failure.Target != test.target {
				t.Errorf("got target %q, want %q", failure.Target, test.target)
			}
		})
	}
}

func TestForbiddenContentOfData(t *testing.T) {
	data := map[string]any{
		"maid": "x", "original_plugin_output": "x", "ok": map[string]any{"details": "a business field", "maid": "too"},
		"path": "/home/someone/file", "drive": `C:\Users\x`, "html": "<script>x</script>", "less": "1 < 2",
		"parts": []any{map[string]any{"type": "image_url", "image_url": "x"}}, "deep": []any{map[string]any{"originalPluginOutput": 1}},
	}
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	result, _ := plugin{invoke: answers(`{"status":"success","data":` + string(raw) + `}`)}.run(t)
	wantSuccess(t, result)
	got := warned(result, abi.WarningForbiddenField)
	slices.Sort(got)
	want := []string{"/data/deep/0/originalPluginOutput", "/data/drive", "/data/html", "/data/maid", "/data/original_plugin_output", "/data/parts/0/type", "/data/path"}
	if !slices.Equal(got, want) {
		t.Errorf("got warnings at %q, want %q", got, want)
	}
	many := strings.TrimSuffix(strings.Repeat(`"/tmp/secret",`, 1000), ",")
	result, _ = plugin{invoke: answers(`{"status":"success","data":[` + many + `]}`)}.run(t)
	if got := len(warned(result, abi.WarningForbiddenField)); got != 20 {
		t.Errorf("got %d warnings for 1000 finds, want 20", got)
	}
}

func TestWarningsAndExtensionsAreJoined(t *testing.T) {
	p := plugin{invoke: func(context.Context, *abi.Invocation) (*abi.Reply, error) {
		return &abi.Reply{
			Payload: json.RawMessage(`{"status":"success","data":null,"warnings":[{"code":"OWN","message":"m","details":{"a":1}}],
				"extensions":{"vendor.example":{"x":1},"vcp.schedule":{"y":2}}}`),
			Warnings:   []abi.Warning{{Code: abi.WarningLogTruncated, Message: "cut"}},
			Extensions: abi.Extensions{abi.ExtensionSandbox: json.RawMessage(`{"fuel":3}`)},
		}, nil
	}}
	result, _ := p.run(t)
	wantSuccess(t, result)
	if len(result.Warnings) != 2 || result.Warnings[0].Code != "OWN" || result.Warnings[1].Code != abi.WarningLogTruncated {
		t.Errorf("got warnings %+v", result.Warnings)
	}
	for key, want := range map[string]string{"vendor.example": `{"x":1}`, "vcp.schedule": `{"y":2}`, abi.ExtensionSandbox: `{"fuel":3}`, abi.ExtensionTrust: `"process"`} {
		if got := string(result.Extensions[key]); got != want {
			t.Errorf("got extension %s %s, want %s", key, got, want)
		}
	}
}
