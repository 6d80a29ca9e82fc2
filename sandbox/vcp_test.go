package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"vcphost/sandbox/engine"
)

// TestABI1IsFrozen: a name, once released, keeps its type. New names go to the
// end.
func TestABI1IsFrozen(t *testing.T) {
	const frozen = `resource_create (i32 i32) i32
resource_write (i32 i32 i32) i32
resource_close (i32) i32
resource_open (i32 i32) i32
resource_size (i32) i64
resource_read (i32 i32 i32) i32
progress (i32 i32) i32
cancelled () i32
log (i32 i32 i32)
random (i32 i32) i32
now () i64
config_get (i32 i32 i32 i32) i32
kv_get (i32 i32 i32 i32) i32
kv_set (i32 i32 i32 i32) i32
kv_delete (i32 i32) i32
http_request (i32 i32 i32 i32) i32
http_status (i32) i32
http_header (i32 i32 i32 i32 i32) i32
http_read (i32 i32 i32) i32
http_close (i32) i32
call_tool (i32 i32) i32
`
	linked := newSandbox(t).engine
	var list strings.Builder
	names := func(types []engine.ValueType) string {
		text := engine.Signature{Params: types}.String() // [i32 i64] -> []
		return text[1:strings.Index(text, "]")]
	}
	for _, f := range vcpFunctions() {
		signature, ok := linked.Linked(vcpModule, f.name)
		if !ok {
			t.Fatalf("%s is not linked", f.name)
		}
		list.WriteString(strings.TrimSpace(fmt.Sprintf("%s (%s) %s", f.name, names(signature.Params), names(signature.Results))) + "\n")
	}
	if got := list.String(); got != frozen {
		t.Errorf("got\n%s\nwant\n%s", got, frozen)
	}
	if got, want := len(vcpFunctions()), strings.Count(frozen, "\n"); got != want {
		t.Errorf("%d functions are linked, %d are frozen", got, want)
	}
}
