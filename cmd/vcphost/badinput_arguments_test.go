package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vcphost/abi"
)

// badCommandLines leave no call to make: exit status 2 and one line.
func badCommandLines() []badInput {
	line := func(name, says string, args ...string) badInput {
		return badInput{name: name, args: args, exit: exitNoResult, says: says}
	}
	return []badInput{
		line("unknown verb", `unknown command "cal"`, "cal", "Bad"),
		line("unknown verb below plugin", "unknown command", "plugin", "ls"),
		line("unknown flag", "unknown flag: --fast", "call", "Bad", "--fast"),
		line("flag without a value", "flag needs an argument", "call", "Bad", "--json"),
		line("no tool", "for example: vcphost call CsvChart.Plot", "call"),
		line("argument without an equals sign", `"hello" is not of the form name=value`, "call", "Bad", "hello"),
		line("argument without a name", `"=1" is not of the form name=value`, "call", "Bad", "=1"),
		line("argument twice", `"text" is given twice`, "call", "Bad", "text=a", "text=b"),
		line("unknown view", `--view "html"`, "call", "Bad", "--view", "html"),
		line("negative budget", "--max-characters -1", "call", "Bad", "--view", "ai", "--max-characters", "-1"),
		line("budget that is no number", "invalid argument", "call", "Bad", "--max-characters", "many"),
		line("timeout without a unit", "invalid argument", "call", "Bad", "--timeout", "5"),
		line("negative timeout", "--timeout -1s", "call", "Bad", "--timeout", "-1s"),
		line("timeout that rounds to nothing", "--timeout 1µs", "call", "Bad", "--timeout", "1µs"),
		line("input without a file", `--input "file" is not of the form name=@FILE`, "call", "Bad", "--input", "file"),
		line("input that does not exist", "--input file", "call", "Bad", "--input", "file=@/does/not/exist"),
		line("input that is a directory", "is a directory", "call", "Bad", "--input", "file=@."),
		line("input and argument of one name", `"file" is given twice`, "call", "Bad", "file=x", "--input", "file=@badinput_test.go"),
		line("inspect of an unknown plugin", `there is no plugin "Nobody"`, "plugin", "inspect", "Nobody"),
		line("inspect of nothing", "missing argument", "plugin", "inspect"),
		line("inspect of two", "too many arguments", "plugin", "inspect", "Bad", "Good"),
		line("a key without a scope", "a key needs --name NAME and at least one --scope", "key", "add", "--name", "x"),
		line("a key without a name", "a key needs --name NAME and at least one --scope", "key", "add", "--scope", "admin"),
		line("unknown resource", "resource res_0", "resource", "get", "res_0"),
		line("unknown result", "no such result", "result", "get", "tr_0"),
		line("unknown view of a result", `--view "legacy"`, "result", "get", "tr_0", "--view", "legacy"),
		line("plugins that are not there", "--plugins /does/not/exist", "call", "Bad", "--plugins", "/does/not/exist"),
		line("trust that is not there", "--trust /does/not/exist", "call", "Bad", "--trust", "/does/not/exist"),
		line("trust of what holds no plugins", "covers no directory of plugins", "call", "Bad", "--trust", "testdata"),
	}
}

// badArguments reach the host and come back as results.
func badArguments() []badInput {
	called := func(name, code, target string, args ...string) badInput {
		return badInput{name: name, args: append([]string{"call"}, args...), exit: exitResult, status: abi.StatusError, code: code, target: target}
	}
	stdin := func(name, says, raw string) badInput {
		return badInput{
			name: name, args: []string{"call", "Bad", "--json", "-"}, stdin: raw,
			exit: exitResult, status: abi.StatusError, code: abi.CodeInvalidArgument, says: says,
		}
	}
	rows := []badInput{
		called("unknown tool", abi.CodeToolNotFound, "Nobody", "Nobody"),
		called("empty tool", abi.CodeToolNotFound, "", ""),
		called("tool with a control character", abi.CodeToolNotFound, "", "Bad\x1b[2J"),
		called("unknown tool and broken arguments", abi.CodeToolNotFound, "", "Nobody", "--json", "{"),
		called("unknown command in the name", abi.CodeUnknownCommand, "command", "Bad.Walk"),
		called("unknown command in the arguments", abi.CodeUnknownCommand, "command", "Bad", "command=Walk"),
		called("command in name and arguments", abi.CodeInvalidArgument, "command", "Bad.Run", "command=Walk"),
		called("command that is no string", abi.CodeInvalidArgument, "command", "Bad", "--json", `{"command":5}`),
		called("unknown argument", abi.CodeInvalidArgument, "txet", "Bad", "txet=a"),
		called("wrong type", abi.CodeInvalidArgument, "count", "Bad", "count=many"),
		called("wrong type deeper", abi.CodeInvalidArgument, "", "Bad", "--json", `{"list":{"a":1}}`),
		called("resource that is a string", abi.CodeInvalidArgument, "file", "Bad", "file=res_01"),
		called("resource that does not exist", abi.CodeFileNotFound, "", "Bad", "--json", `{"file":{"$resource":"res_01M8QCETHB62Y2EYHBA0PQMA6W"}}`),
		stdin("only blanks", "the document is empty", " \n"),
		stdin("no JSON", "not JSON", "{text: 1}"),
		stdin("JSON that is cut off", "has no end", `{"text":"a`),
		stdin("no object", "an object is expected", "[1,2]"),
		stdin("two documents", "not JSON", "{}{}"),
		stdin("not UTF-8", "not UTF-8", "{\"text\":\"\xff\xfe\"}"),
		stdin("lone surrogate", "", `{"text":"\ud800"}`),
		stdin("duplicate keys", "text", `{"text":"a","text":"b"}`),
		stdin("duplicate keys by escape", "text", `{"text":"a","t\u0065xt":"b"}`),
		stdin("duplicate keys far below", "x", `{"list":[{"x":1,"x":2}]}`),
		stdin("nested 100,000 deep", "", `{"list":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+"}"),
		stdin("opened 100,000 deep", "", strings.Repeat(`{"a":`, 100_000)),
		stdin("10 MiB", "8388608", `{"text":"`+strings.Repeat("x", 10<<20)+`"}`),
	}
	nothing := badInput{name: "nothing on standard input", args: []string{"call", "Bad", "--json", "-"}, exit: exitNoResult, says: "standard input is empty"}
	missing := badInput{
		name: "missing argument", exit: exitResult, status: abi.StatusError, code: abi.CodeMissingArgument, target: "text",
		manifest: manifest("Bad", `"additionalProperties": false`, `"additionalProperties": false, "required": ["text"]`),
	}
	twice := badInput{
		name: "no command where there are two", exit: exitResult, status: abi.StatusError, code: abi.CodeMissingArgument, target: "command",
		manifest: manifest("Bad", `"invocationCommands": [ {`, `"invocationCommands": [ {
			"commandIdentifier": "Other", "description": "x", "inputSchema": {}, "outputSchema": true }, {`),
	}
	small := called("invocation over maxInputBytes", abi.CodeInvalidArgument, "", "Bad", "text="+strings.Repeat("x", 2000))
	small.manifest, small.says = manifest("Bad", `"memoryMiB": 4`, `"memoryMiB": 4, "maxInputBytes": 1000`), "1000"
	return append(rows, nothing, missing, twice, small)
}

// badMachines are data directories and files that cannot be used.
func badMachines() []badInput {
	data := func(name, says string, prepare func(t *testing.T, b *bench)) badInput {
		return badInput{name: name, exit: exitNoResult, says: says, prepare: prepare}
	}
	return append(badOutputs(),
		data("data directory that is a file", "not a directory", func(t *testing.T, b *bench) {
			b.useData(filepath.Join(b.plugins, "bad", "module.wasm"))
		}),
		data("data directory below a file", "not a directory", func(t *testing.T, b *bench) {
			b.useData(filepath.Join(b.plugins, "bad", "module.wasm", "data"))
		}),
		data("store that is a file", "not a directory", func(t *testing.T, b *bench) {
			writeFile(t, filepath.Join(b.dir, "data", "store"), "x")
			b.useData(filepath.Join(b.dir, "data"))
		}),
		data("store that is garbage", "open the data directory", func(t *testing.T, b *bench) {
			writeFile(t, filepath.Join(b.dir, "data", "store", "MANIFEST"), "this is no store")
			b.useData(filepath.Join(b.dir, "data"))
		}),
		data("cache that is a file", "cache", func(t *testing.T, b *bench) {
			writeFile(t, filepath.Join(b.dir, "data", "cache"), "x")
			b.useData(filepath.Join(b.dir, "data"))
		}),
		data("data directory without permission", "permission denied", func(t *testing.T, b *bench) {
			forbid(t, b, filepath.Join(b.dir, "locked"))
			b.useData(filepath.Join(b.dir, "locked", "data"))
		}),
		data("no home directory", "no --data given", func(t *testing.T, b *bench) {
			b.args = []string{"call", "Bad", "--plugins", b.plugins}
		}),
		data("data directory that another process uses", "in use by another vcphost", func(t *testing.T, b *bench) {
			child := startChild(t, b, began(loop()))
			b.undo = func() { child.kill(t) }
		}),
	)
}

func badOutputs() []badInput {
	return []badInput{
		{name: "out that is a file", exit: exitNoResult, says: "--out", prepare: func(t *testing.T, b *bench) {
			b.args = append(b.args, "--out", filepath.Join(b.plugins, "bad", "module.wasm"))
		}},
		{name: "out below a file", exit: exitNoResult, says: "--out", prepare: func(t *testing.T, b *bench) {
			b.args = append(b.args, "--out", filepath.Join(b.plugins, "bad", "module.wasm", "out"))
		}},
		{name: "file to write that is a directory", module: twins(), exit: exitNoResult, says: "--out: write", prepare: func(t *testing.T, b *bench) {
			writeFile(t, filepath.Join(b.dir, "out", "same.txt", "x"), "x")
			b.args = append(b.args, "--out", filepath.Join(b.dir, "out"))
		}},
		{name: "file to write that is a link out of the directory", module: twins(), exit: exitOK, prepare: func(t *testing.T, b *bench) {
			linkOut(t, b, "same.txt")
		}},
		{name: "link out of the directory under a name of no file", module: twins(), exit: exitOK, prepare: func(t *testing.T, b *bench) {
			linkOut(t, b, "same.txt.partial")
		}},
		{name: "input of more than a resource may have", exit: exitNoResult, says: "at most 4294967296", prepare: func(t *testing.T, b *bench) {
			b.args = append(b.args, "--input", "file=@badinput_test.go", "--input", "other=@"+sparseFile(t, b, maxImportBytes+1))
		}},
		{name: "input without permission", exit: exitNoResult, says: "permission denied", prepare: func(t *testing.T, b *bench) {
			forbid(t, b, filepath.Join(b.dir, "secret"))
			b.args = append(b.args, "--input", "file=@"+filepath.Join(b.dir, "secret", "x"))
		}},
	}
}

// sparseFile makes a file of that many bytes that takes no room.
func sparseFile(t *testing.T, b *bench, size int64) string {
	t.Helper()
	name := filepath.Join(b.dir, "sparse")
	writeFile(t, name, "")
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	return name
}
