package guest_test

import (
	"fmt"
	"io"
	"strings"

	guest "vcphost/abi/guest/go"
)

type greetArgs struct {
	Name string `json:"name"`
}

type greeting struct {
	Text string `json:"text"`
}

func greet(c *guest.Call, args greetArgs) (greeting, error) {
	if args.Name == "" {
		return greeting{}, guest.Errorf("INVALID_ARGUMENT", "a name is needed").WithTarget("name")
	}
	c.Summary("a greeting")
	return greeting{Text: "Hello, " + args.Name}, nil
}

// A plugin is a package variable, and its handlers run in tests.
func Example() {
	plugin := guest.Export(guest.Handle("Greet", greet))

	r, err := plugin.Run("Greet", greetArgs{Name: "Nova"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(r.Payload))

	r, err = plugin.Run("Greet", greetArgs{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Error)
	// Output:
	// {"status":"success","data":{"text":"Hello, Nova"},"resources":[],"warnings":[],"presentation":{"summary":"a greeting"},"extensions":{}}
	// INVALID_ARGUMENT: a name is needed
}

// An input is read and an output written as streams.
func ExampleCall_CreateResource() {
	type upperArgs struct {
		Text guest.Reference `json:"text"`
	}
	type upperData struct {
		Upper guest.Reference `json:"upper"`
	}
	upper := func(c *guest.Call, args upperArgs) (upperData, error) {
		in, err := c.Open(args.Text)
		if err != nil {
			return upperData{}, err
		}
		defer in.Close()
		text, err := io.ReadAll(in)
		if err != nil {
			return upperData{}, err
		}
		w, err := c.CreateResource(guest.Draft{ID: "upper", Kind: "text", Role: "output", FileName: "upper.txt"})
		if err != nil {
			return upperData{}, err
		}
		if _, err := io.WriteString(w, strings.ToUpper(string(text))); err != nil {
			return upperData{}, err
		}
		return upperData{Upper: w.Ref()}, w.Close()
	}
	plugin := guest.Export(guest.Handle("Upper", upper))

	r, err := plugin.Run("Upper", upperArgs{Text: guest.Ref("res_1")}, &guest.Fake{
		Inputs: map[string]guest.Input{"res_1": {Content: []byte("quiet")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(r.Data))
	fmt.Println(r.Resources[0].FileName, string(r.Resources[0].Content))
	// Output:
	// {"upper":{"$resource":"upper"}}
	// upper.txt QUIET
}
