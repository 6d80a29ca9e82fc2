package abi_test

import (
	"regexp"
	"strings"
	"testing"

	"vcphost/abi"
)

func TestValidCode(t *testing.T) {
	for _, test := range []struct {
		name, code string
		want       bool
	}{
		{"plain", "INVALID_ARGUMENT", true},
		{"namespaced", "DOUBAO.CONTENT_POLICY_REJECTED", true},
		{"deep", "A.B.C", true},
		{"digits", "HTTP_404", true},
		{"longest", strings.Repeat("A", abi.MaxCodeBytes), true},
		{"too long", strings.Repeat("A", abi.MaxCodeBytes+1), false},
		{"empty", "", false},
		{"small letters", "invalid", false},
		{"digit first", "4XX", false},
		{"underscore first", "_A", false},
		{"empty namespace", ".A", false},
		{"empty end", "A.", false},
		{"space", "A B", false},
		{"line end", "A\n", false},
		{"other letters", "É", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := abi.ValidCode(test.code); got != test.want {
				t.Errorf("ValidCode(%q) = %v, want %v", test.code, got, test.want)
			}
		})
	}
}

func TestExtensionKeys(t *testing.T) {
	for _, test := range []struct {
		name, key       string
		valid, reserved bool
	}{
		{"vendor", "vendor.example", true, false},
		{"business area of the protocol", "vcp.schedule", true, false},
		{"dash", "vcp.image-generation", true, false},
		{"the host's", "vcp.sandbox", true, true},
		{"below the host's", "vcp.trust.class", true, true},
		{"beside the host's", "vcp.sandboxed", true, false},
		{"letter case", "VCP.sandbox", true, false},
		{"no namespace", "vcp", false, false},
		{"empty", "", false, false},
		{"empty end", "vcp.", false, false},
		{"dash first", "a.-b", false, false},
		{"slash", "a.b/c", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := abi.ValidExtensionKey(test.key); got != test.valid {
				t.Errorf("ValidExtensionKey(%q) = %v, want %v", test.key, got, test.valid)
			}
			if got := abi.ReservedExtensionKey(test.key); got != test.reserved {
				t.Errorf("ReservedExtensionKey(%q) = %v, want %v", test.key, got, test.reserved)
			}
		})
	}
	for _, key := range abi.HostExtensionKeys() {
		if !abi.ValidExtensionKey(key) || !abi.ReservedExtensionKey(key) {
			t.Errorf("the host's key %q is not a valid reserved key", key)
		}
	}
}

// The expressions are those of the schemas.
func FuzzNames(f *testing.F) {
	code := regexp.MustCompile(`^[A-Z][A-Z0-9_]*(\.[A-Z][A-Z0-9_]*)*$`)
	key := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)+$`)
	for _, seed := range []string{"", "A", "A.B_2", "a.b-c", "vcp.trust", "A..B", "é.b", "A\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		short := len(s) <= abi.MaxCodeBytes
		if got, want := abi.ValidCode(s), short && code.MatchString(s); got != want {
			t.Errorf("ValidCode(%q) = %v, want %v", s, got, want)
		}
		if got, want := abi.ValidExtensionKey(s), short && key.MatchString(s); got != want {
			t.Errorf("ValidExtensionKey(%q) = %v, want %v", s, got, want)
		}
	})
}

func TestSameName(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		want       bool
	}{
		{"equal", "ListSchedules", "ListSchedules", true},
		{"case and separators", "ListSchedules", "list_schedules", true},
		{"dashes", "-list--schedules_", "LISTSCHEDULES", true},
		{"both nothing", "", "_-", true},
		{"prefix", "List", "ListSchedules", false},
		{"other letters keep their case", "É", "é", false},
		{"digits", "v1", "v2", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := abi.SameName(test.a, test.b); got != test.want {
				t.Errorf("SameName(%q, %q) = %v, want %v", test.a, test.b, got, test.want)
			}
		})
	}
}

func FuzzSameName(f *testing.F) {
	f.Add("List_Schedules", "list-schedules")
	f.Add("", "_")
	f.Add("a", "b")
	fold := func(s string) string {
		folded := []byte(strings.NewReplacer("_", "", "-", "").Replace(s))
		for i, c := range folded {
			if 'A' <= c && c <= 'Z' {
				folded[i] = c + 'a' - 'A'
			}
		}
		return string(folded)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := abi.SameName(a, b)
		if want := fold(a) == fold(b); got != want {
			t.Errorf("SameName(%q, %q) = %v, want %v", a, b, got, want)
		}
		if abi.SameName(b, a) != got || !abi.SameName(a, a) {
			t.Errorf("SameName is no equivalence for %q, %q", a, b)
		}
	})
}
