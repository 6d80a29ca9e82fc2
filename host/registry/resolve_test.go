package registry

import (
	"encoding/json"
	"slices"
	"testing"

	"vcphost/abi"
)

// planned is a plugin of commands that no schema binds.
func planned(strict bool, commands ...*Command) *Plugin {
	m := &Manifest{Name: "P", Commands: commands}
	if strict {
		protocol := abi.CurrentProtocol()
		m.ToolResultProtocol = &protocol
	}
	return &Plugin{Name: "P", Manifest: m}
}

// commandCase is one choice of a command.
type commandCase struct {
	name      string
	plugin    *Plugin
	arguments string
	hint      string
	command   string // "" means nil
	want      string // the arguments, or the code of the error
}

// commandCases gives the cases, and the strict plugin of several commands.
func commandCases() ([]commandCase, *Plugin) {
	open := func(name string) *Command { return &Command{Identifier: name, takesCommand: true} }
	closed := &Command{Identifier: "Shut"}
	one, two := planned(true, open("Plot")), planned(true, open("Plot"), open("PlotAll"), open("Plot_All"), closed)
	legacy := planned(false, open("Plot"), open("Draw"))
	return []commandCase{
		{"exact", two, `{"command":"Plot","a":1}`, "", "Plot", `{"command":"Plot","a":1}`},
		{"alike", two, `{"command":"pl-o_t"}`, "", "Plot", `{"command":"Plot"}`},
		{"exact among alike", two, `{"command":"Plot_All"}`, "", "Plot_All", `{"command":"Plot_All"}`},
		{"ambiguous", two, `{"command":"plot-all"}`, "", "", abi.CodeUnknownCommand},
		{"only command", one, `{"a":1}`, "", "Plot", `{"a":1,"command":"Plot"}`},
		{"no arguments", one, ``, "", "Plot", `{"command":"Plot"}`},
		{"missing", two, `{}`, "", "", abi.CodeMissingArgument},
		{"unknown", two, `{"command":"Paint"}`, "", "", abi.CodeUnknownCommand},
		{"unknown though only one", one, `{"command":"Paint"}`, "", "", abi.CodeUnknownCommand},
		{"empty", one, `{"command":""}`, "", "", abi.CodeUnknownCommand},
		{"number", one, `{"command":5}`, "", "", abi.CodeInvalidArgument},
		{"null", one, `{"command":null}`, "", "", abi.CodeInvalidArgument},
		{"array", one, `[]`, "", "", abi.CodeInvalidArgument},
		{"hint", two, `{}`, "plot", "Plot", `{"command":"Plot"}`},
		{"hint that agrees", two, `{"command":"PLOT"}`, "plot", "Plot", `{"command":"Plot"}`},
		{"hint that contradicts", two, `{"command":"PlotAll"}`, "Plot", "", abi.CodeInvalidArgument},
		{"hint against unknown", two, `{"command":"Paint"}`, "Plot", "", abi.CodeInvalidArgument},
		{"unknown hint", two, `{}`, "Paint", "", abi.CodeUnknownCommand},
		{"closed schema, given", two, `{"command":"shut", "a": [1]}`, "", "Shut", `{"a":[1]}`},
		{"closed schema, hint", two, `{"a":1}`, "Shut", "Shut", `{"a":1}`},
		{"legacy match", legacy, `{"command":"plot"}`, "", "Plot", `{"command":"plot"}`},
		{"legacy unknown", legacy, `{"command":"ls -l"}`, "", "", `{"command":"ls -l"}`},
		{"legacy odd", legacy, `{"command":5}`, "", "", `{"command":5}`},
		{"legacy absent", legacy, `{"a":1}`, "", "", `{"a":1}`},
		{"legacy only one", planned(false, open("Plot")), `{"a":1}`, "", "Plot", `{"a":1}`},
		{"legacy hint", legacy, `{"a":1}`, "draw", "Draw", `{"a":1,"command":"Draw"}`},
		{"legacy unknown hint", legacy, `{}`, "paint", "", `{"command":"paint"}`},
		{"legacy contradiction", legacy, `{"command":"Plot"}`, "Draw", "", abi.CodeInvalidArgument},
		{"no commands", planned(false), `{"a":1}`, "", "", `{"a":1}`},
	}, two
}

func TestCommand(t *testing.T) {
	tests, two := commandCases()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			command, arguments, err := test.plugin.Command([]byte(test.arguments), test.hint)
			if err != nil {
				if err.Code != test.want {
					t.Fatalf("got %v, want %s", err, test.want)
				}
				return
			}
			name := ""
			if command != nil {
				name = command.Identifier
			}
			if name != test.command || string(arguments) != test.want {
				t.Fatalf("got %q %s, want %q %s", name, arguments, test.command, test.want)
			}
		})
	}
	_, _, err := two.Command([]byte(`{}`), "")
	var details struct{ Commands []string }
	if json.Unmarshal(err.Details, &details) != nil || !slices.Equal(details.Commands, []string{"Plot", "PlotAll", "Plot_All", "Shut"}) || err.Target != "command" {
		t.Errorf("details: got %s, target %q", err.Details, err.Target)
	}
}

func TestTakesMember(t *testing.T) {
	tests := []struct {
		schema string
		want   bool
	}{
		{``, true},
		{`true`, true},
		{`{}`, true},
		{`{"additionalProperties":false}`, false},
		{`{"additionalProperties":{"type":"string"}}`, true},
		{`{"properties":{"command":true},"additionalProperties":false}`, true},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"additionalProperties":false}}}`, false},
		{`{"$ref":"#/$defs/a","unevaluatedProperties":false,"$defs":{"a":{"properties":{"command":{}}}}}`, true},
		{`{"allOf":[{"$ref":"#"}],"additionalProperties":false}`, false},
	}
	for _, test := range tests {
		var schema []byte
		if test.schema != "" {
			schema = []byte(test.schema)
		}
		if got := takesMember(schema, "command"); got != test.want {
			t.Errorf("%s: got %v, want %v", test.schema, got, test.want)
		}
	}
}

func TestInputType(t *testing.T) {
	const schema = `{"$defs":{"n":{"type":"integer"},"loop":{"$ref":"#/$defs/loop"}},"properties":{
  "s":{"type":"string"},"two":{"type":["number","null"]},"ref":{"$ref":"#/$defs/n"},"loop":{"$ref":"#/$defs/loop"},
  "r":{"$ref":"vcp:resource"},"rs":{"anyOf":[{"$ref":"vcp:resource"},{"type":"string"}]},
  "c":{"const":true},"e":{"enum":["a",1]},"any":{},"yes":true,"a/b":{"type":"array"}}}`
	p := planned(true, &Command{Identifier: "Plot", InputRaw: json.RawMessage(schema)})
	tests := []struct {
		argument string
		want     Input
	}{
		{"s", Input{true, []string{"string"}, false}},
		{"two", Input{true, []string{"number", "null"}, false}},
		{"ref", Input{true, []string{"integer"}, false}},
		{"loop", Input{true, nil, false}},
		{"r", Input{true, []string{"object"}, true}},
		{"rs", Input{true, []string{"object", "string"}, true}},
		{"c", Input{true, []string{"boolean"}, false}},
		{"e", Input{true, []string{"string", "number"}, false}},
		{"any", Input{true, nil, false}},
		{"yes", Input{true, nil, false}},
		{"a/b", Input{true, []string{"array"}, false}},
		{"other", Input{}},
	}
	for _, test := range tests {
		for _, command := range []string{"", "plot"} {
			got := p.InputType(command, test.argument)
			if got.Known != test.want.Known || got.Resource != test.want.Resource || !slices.Equal(got.Types, test.want.Types) {
				t.Errorf("InputType(%q, %q): got %+v, want %+v", command, test.argument, got, test.want)
			}
		}
	}
	if got := p.InputType("Paint", "s"); got.Known {
		t.Errorf("unknown command: got %+v", got)
	}
}

func TestInputNames(t *testing.T) {
	const schema = `{"$defs":{"more":{"properties":{"b":{},"c":true}},"loop":{"$ref":"#/$defs/loop"}},
  "properties":{"b":{},"a":{}},"allOf":[{"$ref":"#/$defs/more"},{"$ref":"#/$defs/loop"}],
  "anyOf":[{"properties":{"d/e":{}}},{"properties":[1]}]}`
	p := planned(true, &Command{Identifier: "Plot", InputRaw: json.RawMessage(schema)})
	want := []string{"b", "a", "c", "d/e"}
	for _, command := range []string{"", "plot", "Plot"} {
		got := p.InputNames(command)
		if !slices.Equal(got, want) {
			t.Errorf("InputNames(%q): got %q, want %q", command, got, want)
		}
		for _, name := range got {
			if !p.InputType(command, name).Known {
				t.Errorf("InputType(%q, %q) does not know the name", command, name)
			}
		}
	}
	if got := p.InputNames("Paint"); got != nil {
		t.Errorf("unknown command: got %q", got)
	}
	if got := (&Plugin{}).InputNames(""); got != nil {
		t.Errorf("no manifest: got %q", got)
	}
}

func TestVersionRange(t *testing.T) {
	tests := []struct {
		wanted string
		in     []string
		out    []string
	}{
		{">=14.0.0", []string{"14.0.0", "20.1"}, []string{"13.9.9"}},
		{">= 3.8, <4", []string{"3.8", "3.13.1"}, []string{"3.7.9", "4.0"}},
		{"^1.2.3", []string{"1.2.3", "1.9"}, []string{"1.2.2", "2.0.0"}},
		{"^0.2", []string{"0.2.9"}, []string{"0.3", "1.0"}},
		{"~1.2.3", []string{"1.2.9"}, []string{"1.3.0"}},
		{"~1", []string{"1.9"}, []string{"2.0"}},
		{"~=3.8", []string{"3.12"}, []string{"4.0", "3.7"}},
		{"~=3.8.1", []string{"3.8.5"}, []string{"3.9"}},
		{"18.x || 20.x", []string{"18.1.0", "20.0.0"}, []string{"19.0.0"}},
		{"*", []string{"0.0.0", "99.9.9"}, nil},
		{"!=3.9", []string{"3.8.9", "3.10"}, []string{"3.9.7"}},
		{">3.9", []string{"3.10"}, []string{"3.9.7"}},
		{"<=3.9", []string{"3.9.7"}, []string{"3.10"}},
		{"=v1.2.3", []string{"1.2.3-beta+1"}, []string{"1.2.4"}},
	}
	for _, test := range tests {
		ranges, err := parseRange(test.wanted)
		if err != nil {
			t.Errorf("%q: %v", test.wanted, err)
			continue
		}
		for i, list := range [][]string{test.in, test.out} {
			for _, text := range list {
				v, _, err := parseVersion(text)
				if err != nil || ranges.contains(v) != (i == 0) {
					t.Errorf("%q contains %s: got %v (%v)", test.wanted, text, ranges.contains(v), err)
				}
			}
		}
	}
	for _, bad := range []string{"", "||", "latest", ">=", "=>1", "1.-2", ">=1 ||"} {
		if _, err := parseRange(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestProbeOfAnUnknownRuntime(t *testing.T) {
	if got, err := probeRuntime(t.Context(), "no-such-runtime"); err == nil {
		t.Errorf("got version %q, want an error", got)
	}
}
