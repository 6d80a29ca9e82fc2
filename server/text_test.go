package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

// echo is a guest that answers with the invocation as its data.
func echo() wasmbuild.Guest {
	prefix := []byte(`{"status":"success","data":`)
	begin := int32(wasmbuild.InputAddress - len(prefix))
	length := wasmbuild.LocalGet(1)
	return wasmbuild.Guest{
		Pages: 4,
		Extra: func(m *wasmbuild.Module) { m.Data(uint32(begin), prefix) },
		Body: func(*wasmbuild.Module) [][]byte {
			return [][]byte{
				wasmbuild.LocalGet(0), length, wasmbuild.I32Add(), wasmbuild.I32Const('}'), wasmbuild.I32Store8(),
				length, wasmbuild.I64ExtendI32S(),
				wasmbuild.I64Const(wasmbuild.Packed(uint32(begin), uint32(len(prefix)+1))), {0x7c}, // i64.add
			}
		},
	}
}

// plugin is a folder with a manifest of one module.
func plugin(folder fstest.MapFS, name, protocol, commands string, guest wasmbuild.Guest) {
	folder[strings.ToLower(name)+"/plugin-manifest.json"] = &fstest.MapFile{Data: []byte(`{
		"manifestVersion": "1.0.0", "name": "` + name + `", "displayName": "` + name + `", "version": "1.0.0", "description": "For tests.",
		"pluginType": "synchronous", "entryPoint": { "type": "wasm", "module": "guest.wasm"` + abiOf(protocol) + ` },
		"communication": { "protocol": "wasm", "timeout": 20000 }, ` + protocol + `
		"capabilities": { "invocationCommands": [` + commands + `] } }`)}
	folder[strings.ToLower(name)+"/guest.wasm"] = &fstest.MapFile{Data: guest.Bytes()}
}

// abiOf is that of plugins which may go without the protocol.
func abiOf(protocol string) string {
	if protocol == "" {
		return `, "abi": "extism"`
	}
	return ""
}

const strict = `"toolResultProtocol": { "name": "vcp.tool-result", "version": "1.0" },`

// tools are plugins that show what reached them.
func tools() fs.FS {
	folder := fstest.MapFS{}
	plugin(folder, "Echo", strict, `
		{ "commandIdentifier": "Run", "description": "Run.", "outputSchema": true, "inputSchema": { "type": "object", "properties": {
			"command": { "const": "Run" }, "imageSize": { "type": "integer" }, "ratio": { "type": "number" }, "flag": { "type": "boolean" },
			"title": { "type": "string" }, "list": { "type": "array" }, "file_path": { "type": "string" } }, "additionalProperties": false } },
		{ "commandIdentifier": "Other", "description": "Other.", "outputSchema": true, "inputSchema": { "type": "object", "properties": {
			"title": { "type": "string" }, "maid": { "type": "string" } } } }`, echo())
	plugin(folder, "Broken", strict, `{ "commandIdentifier": "Run", "description": "Run.", "inputSchema": true, "outputSchema": true, "errorCodes": ["BROKEN.DISK"] }`,
		wasmbuild.Guest{Payload: []byte(`{"status":"error","data":null,"error":{"code":"BROKEN.DISK","message":"no disk"}}`)})
	plugin(folder, "Old", "", `{ "commandIdentifier": "Run", "description": "Run." }`,
		echo())
	return folder
}

func startTools(t *testing.T) *servertest.Server {
	t.Helper()
	return servertest.Start(t, &servertest.Options{Plugins: tools()})
}

// seen is a result with what the echo saw.
type seen struct {
	abi.Result
	Echo struct {
		Command   string
		Arguments json.RawMessage
		Actor     *abi.Actor
		Source    string
	}
}

func (s *seen) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &s.Result); err != nil {
		return err
	}
	return json.Unmarshal(s.Data, &s.Echo)
}

func block(fields ...string) string {
	out := "<<<[TOOL_REQUEST]>>>\n"
	for _, field := range fields {
		key, value, _ := strings.Cut(field, "=")
		out += key + ":「始」" + value + "「末」,\n"
	}
	return out + "<<<[END_TOOL_REQUEST]>>>"
}

func TestTextBlocks(t *testing.T) {
	w := startTools(t)
	for _, test := range []struct {
		name      string
		fields    []string
		arguments string
		maid      string
	}{
		{"as the schema names them", []string{"tool_name=Echo", "command=Run", "imageSize=42", "title=42"}, `{"command":"Run","imageSize":42,"title":"42"}`, ""},
		{"alike", []string{"tool_name=Echo", "Command=Run", "IMAGE_SIZE=42", "File-Path=a/b"}, `{"command":"Run","imageSize":42,"file_path":"a/b"}`, ""},
		{"types", []string{"tool_name=Echo", "command=Run", "ratio=-1.50", "flag=True", "list=[1, \"2\"]", "title=true"}, `{"command":"Run","ratio":-1.50,"flag":true,"list":[1, "2"],"title":"true"}`, ""},
		{"maid", []string{"maid=Nova", "tool_name=Echo", "command=Run", "title=x"}, `{"command":"Run","title":"x"}`, "Nova"},
		{"maid that the schema wants", []string{"maid=Nova", "tool_name=Echo", "command=Other", "title=x"}, `{"command":"Other","title":"x","maid":"Nova"}`, "Nova"},
		{"control keys", []string{"tool_name=Echo", "command=Run", "tool_password=s3cret", "archery=no_reply", "ink=mark_history", "river=full", "vref=3"}, `{"command":"Run"}`, ""},
		{"tool with command", []string{"tool_name=Echo.Run", "IMAGESIZE=7"}, `{"command":"Run","imageSize":7}`, ""},
		{"over lines", []string{"tool_name=Echo", "command=Run", "title= a\nb: <c>\t"}, `{"command":"Run","title":"a\nb: <c>"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, _, body := w.Do(t, "POST", "/v1/human/tool", "text/plain; charset=utf-8", "Sure, I will.\n"+block(test.fields...)+"\nDone.")
			var got seen
			if err := json.Unmarshal(body, &got); status != 200 || err != nil || got.Status != abi.StatusSuccess {
				t.Fatalf("%d %v %s", status, err, body)
			}
			if !sameJSON(t, got.Echo.Arguments, test.arguments) {
				t.Errorf("the tool got %s, want %s", got.Echo.Arguments, test.arguments)
			}
			maid := ""
			if got.Actor != nil && got.Actor.Maid != nil {
				maid = *got.Actor.Maid
			}
			if maid != test.maid {
				t.Errorf("the maid is %q, want %q", maid, test.maid)
			}
			if strings.Contains(string(body), "s3cret") {
				t.Error("the password went on")
			}
		})
	}
}

// sameJSON compares the text of values, and members in any order.
func sameJSON(t *testing.T, got []byte, want string) bool {
	t.Helper()
	decode := func(raw string) any {
		decoder := json.NewDecoder(strings.NewReader(raw))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		return value
	}
	return fmt.Sprintf("%#v", decode(string(got))) == fmt.Sprintf("%#v", decode(want))
}

// statuses runs a text and gives the status of each result.
func statuses(t *testing.T, w *servertest.Server, text string) []string {
	t.Helper()
	status, _, body := w.Do(t, "POST", "/v1/human/tool", "text/plain", text)
	var results []abi.Result
	if err := json.Unmarshal(body, &results); status != 200 || err != nil {
		t.Fatalf("%d %v %s", status, err, body)
	}
	list := []string{}
	for _, result := range results {
		list = append(list, result.Tool.Name+"."+result.Tool.Command+" "+string(result.Status))
	}
	return list
}

func TestSeveralBlocksAndChains(t *testing.T) {
	w := startTools(t)
	run := func(title string) string { return block("tool_name=Echo", "command=Run", "title="+title) }
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"two blocks", run("a") + "\nthen\n" + run("b"), []string{"Echo.Run success", "Echo.Run success"}},
		{"a failure stops no other block", block("tool_name=Broken", "command=Run") + run("b"), []string{"Broken.Run error", "Echo.Run success"}},
		{"an unknown tool stops no other block", block("tool_name=Nope") + run("b"), []string{"Nope. error", "Echo.Run success"}},
		{"a chain", block("tool_name=Echo", "command1=Run", "title1=a", "command2=Other", "title2=b"), []string{"Echo.Run success", "Echo.Other success"}},
		{"a chain stops at its first error", block("tool_name=Echo", "command1=Run", "imageSize1=x", "command2=Other") + run("b"),
			[]string{"Echo.Run error", "Echo.Run success"}},
		{"a chain of one", block("tool_name=Echo", "command1=Run") + run("b"), []string{"Echo.Run success", "Echo.Run success"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := statuses(t, w, test.text); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// noted is a host that notes the arguments of its calls.
type noted struct {
	api.Executor
	arguments []string
}

func (n *noted) Execute(ctx context.Context, call *abi.Call) *abi.Result {
	n.arguments = append(n.arguments, string(call.Arguments))
	return n.Executor.Execute(ctx, call)
}

// TestKeysOfPluginsWithoutAProtocol are not interpreted: command1 is no chain.
func TestKeysOfPluginsWithoutAProtocol(t *testing.T) {
	var host *noted
	w := servertest.Start(t, &servertest.Options{Plugins: tools(), Change: func(o *server.Options) {
		host = &noted{Executor: o.API.Host}
		o.API.Host = host
	}})
	status, _, body := w.Do(t, "POST", "/v1/human/tool", "text/plain", block("tool_name=Old", "command=Run", "command1=x", "Image_Size=42", "maid=Nova"))
	if want := `{"command":"Run","command1":"x","Image_Size":"42","maid":"Nova"}`; status != 200 || !slices.Equal(host.arguments, []string{want}) {
		t.Errorf("%d %s: the host got %s, want %s", status, body, host.arguments, want)
	}
}

func TestMalformedText(t *testing.T) {
	w := startTools(t)
	many := strings.Repeat(block("tool_name=Echo", "command=Run"), 65)
	for _, test := range []struct {
		name, text   string
		status       int
		line, column int
	}{
		{"empty", "", 400, 0, 0},
		{"no block", "hello", 400, 0, 0},
		{"never ends", "a\n<<<[TOOL_REQUEST]>>>\ntool_name:「始」Echo「末」", 400, 2, 1},
		{"no tool", block("command=Run"), 400, 1, 1},
		{"a value that never ends", "<<<[TOOL_REQUEST]>>>\ntool_name:「始」Echo「末」,\n  title:「始」x\n<<<[END_TOOL_REQUEST]>>>", 400, 3, 0},
		{"not UTF-8", "<<<[TOOL_REQUEST]>>>\ntool_name:「始」\xff「末」\n<<<[END_TOOL_REQUEST]>>>", 400, 2, 0},
		{"a chain with a gap", "\n" + block("tool_name=Echo", "command1=Run", "command3=Run"), 400, 5, 1},
		{"two keys of one meaning", block("tool_name=Echo", "command=Run", "imageSize=1", "image_size=2"), 400, 5, 1},
		{"the second block", block("tool_name=Echo", "command=Run") + "\n" + block("command=Run"), 400, 5, 1},
		{"too many", many, 413, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, header, body := w.Do(t, "POST", "/v1/human/tool", "text/plain", test.text)
			refused(t, test.name, test.status, status, header, body)
			var told struct{ Line, Column int }
			if err := json.Unmarshal(body, &told); err != nil || test.line > 0 && told.Line != test.line || test.column > 0 && told.Column != test.column {
				t.Errorf("line %d, column %d in %s, want %d, %d", told.Line, told.Column, body, test.line, test.column)
			}
		})
	}
}

// TestTextNeedsEveryScope runs nothing of a text of which a part is forbidden.
func TestTextNeedsEveryScope(t *testing.T) {
	w := startTools(t)
	only := w.As(w.Key(t, identity.KeySpec{Scopes: identity.Scopes{"tools:call:Echo.Run", "tools:list"}}))
	run, other := block("tool_name=Echo", "command=Run"), block("tool_name=Echo", "Command=Other")
	for _, test := range []struct {
		name, text string
		status     int
	}{
		{"allowed", run, 200}, {"the other command", other, 403}, {"both", run + other, 403}, {"another tool", block("tool_name=Broken", "command=Run"), 403},
		{"a chain", block("tool_name=Echo", "command1=Run", "command2=Other"), 403}, {"by name", block("tool_name=Echo.Other"), 403},
		{"no command", block("tool_name=Echo"), 403}, {"unknown", block("tool_name=Nope"), 403},
	} {
		status, header, body := only.Do(t, "POST", "/v1/human/tool", "text/plain", test.text)
		if test.status == 200 && status != 200 {
			t.Errorf("%s: %d %s", test.name, status, body)
		}
		if test.status != 200 {
			refused(t, test.name, test.status, status, header, body)
		}
	}
	// Two commands at once: whichever the host takes, the other must not run.
	_, _, body := only.Do(t, "POST", "/v1/human/tool", "text/plain", block("tool_name=Echo.Run", "command=Other"))
	if strings.Contains(string(body), `"status":"success"`) {
		t.Errorf("two names: %s", body)
	}
	status, _, body := only.Do(t, "GET", "/v1/tools", "", "")
	var list struct {
		Tools []struct {
			Name     string
			Commands []struct{ Command string }
		}
	}
	if err := json.Unmarshal(body, &list); err != nil || status != 200 || len(list.Tools) != 1 || len(list.Tools[0].Commands) != 1 || list.Tools[0].Commands[0].Command != "Run" {
		t.Errorf("the tools of the key: %d %s", status, body)
	}
	for path, want := range map[string]int{"/v1/tools/Echo": 200, "/v1/tools/Broken": 404, "/v1/tools/Nope": 404} {
		if status, _, body := only.Do(t, "GET", path, "", ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
