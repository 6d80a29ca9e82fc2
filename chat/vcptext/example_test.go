package vcptext_test

import (
	"fmt"

	"vcphost/chat/vcptext"
)

// canvas is a plugin with one command.
type canvas struct{}

func (canvas) InputNames(string) []string { return []string{"imageSize", "prompt"} }

func (canvas) InputTypes(_, name string) []string {
	if name == "imageSize" {
		return []string{"integer"}
	}
	return []string{"string"}
}

func Example() {
	blocks, err := vcptext.Parse(`Here you are:
<<<[TOOL_REQUEST]>>>
tool_name:「始」Canvas「末」,
maid:「始」Nova「末」,
IMAGE_SIZE:「始」512「末」,
prompt:「始ESCAPE」the sign 「末」 in red「末ESCAPE」
<<<[END_TOOL_REQUEST]>>>`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, block := range blocks {
		calls, err := vcptext.Calls(block, canvas{})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, call := range calls {
			fmt.Printf("%s for %s: %s\n", block.Tool, block.Control.Maid, call.Arguments)
		}
	}
	// Output: Canvas for Nova: {"imageSize":512,"prompt":"the sign 「末」 in red"}
}

func ExampleParse_malformed() {
	_, err := vcptext.Parse("<<<[TOOL_REQUEST]>>>\ntool_name:「始」Canvas「末」,\nprompt：「始」x「末」\n<<<[END_TOOL_REQUEST]>>>")
	fmt.Println(err)
	// Output: line 3, column 7: the key "prompt" has no value: expected ':' (U+003A) and 「始」, found '：'
}
