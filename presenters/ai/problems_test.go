package ai

import (
	"testing"

	"vcphost/abi"
)

func TestUnrepeated(t *testing.T) {
	const told = `"pointer":"/a","expected":"an integer","got":"a string"`
	for _, test := range []struct{ name, message, details, want string }{
		{"one problem, told by the message", "the argument a: expected an integer, got a string",
			`{` + told + `,"problems":[{"pointer":"/a","keyword":"type","expected":"an integer","got":"a string"}]}`,
			`{"problems":[{"pointer":"/a","keyword":"type"}]}`},
		{"one problem, in other words", "the argument a is missing",
			`{` + told + `,"problems":[{"keyword":"type",` + told + `}]}`, `{"problems":[{"keyword":"type",` + told + `}]}`},
		{"two problems, the second told", "m", `{` + told + `,"problems":[{"pointer":"/b"},{` + told + `}]}`,
			`{"problems":[{"pointer":"/b"},{` + told + `}]}`},
		{"another problem than the list has", "m", `{"pointer":"/a","problems":[{"pointer":"/b"}]}`, `{"pointer":"/a","problems":[{"pointer":"/b"}]}`},
		{"more than a problem has", "m", `{"pointer":"/a","line":1,"problems":[{"pointer":"/a"}]}`, `{"pointer":"/a","line":1,"problems":[{"pointer":"/a"}]}`},
		{"a member that looks like a pointer", "m", `{"a/~b":1,"problems":[{"a/~b":1}]}`, `{"problems":[{"a/~b":1}]}`},
		{"no problems", "m", `{` + told + `}`, `{` + told + `}`},
		{"no list", "m", `{"pointer":"/a","problems":{"pointer":"/a"}}`, `{"pointer":"/a","problems":{"pointer":"/a"}}`},
		{"an empty list", "m", `{"problems":[]}`, `{"problems":[]}`},
		{"a list of no objects", "m", `{"problems":["x",null]}`, `{"problems":["x",null]}`},
		{"no object", "m", `"text"`, `"text"`},
		{"nothing", "m", ``, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(unrepeated(&abi.Error{Message: test.message, Details: []byte(test.details)})); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
