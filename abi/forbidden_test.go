package abi_test

import (
	"strings"
	"testing"

	"vcphost/abi"
)

func TestLookupForbiddenMember(t *testing.T) {
	for _, test := range []struct {
		name, member string
		depth        int
		want         string // the row's name, "" for none
	}{
		{"wrapper at the top", "result", 1, "result"},
		{"wrapper deeper down", "result", 2, ""},
		{"details at the top", "Details", 1, "details"},
		{"details deeper down", "details", 3, ""},
		{"raw output anywhere", "originalPluginOutput", 4, "original_plugin_output"},
		{"error in a success", "plugin-error", 2, "plugin_error"},
		{"time stamp", "timeStamp", 1, "timestamp"},
		{"name of the plugin", "pluginName", 1, "plugin_name"},
		{"maid", "MAID", 1, "maid"},
		{"maid deeper down", "maid", 2, ""},
		{"record", "recordId", 1, "record_id"},
		{"business", "results", 1, ""},
		{"nothing", "", 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			row, found := abi.LookupForbiddenMember(test.member, test.depth)
			if found != (test.want != "") || row.Name != test.want {
				t.Errorf("got %+v, %v; want %q", row, found, test.want)
			}
			if found && row.Reason == "" {
				t.Errorf("the row gives no reason")
			}
		})
	}
}

func TestForbiddenText(t *testing.T) {
	for _, test := range []struct {
		name, text string
		path, html bool
	}{
		{"text", "a plain sentence", false, false},
		{"nothing", "", false, false},
		{"unix path", "/home/nova/notes.txt", true, false},
		{"temporary file", "/tmp/x", true, false},
		{"path on a Mac", "/Users/nova/x", true, false},
		{"windows path", `C:\Users\nova`, true, false},
		{"windows path with slashes", "c:/Users/nova", true, false},
		{"network share", `\\server\share`, true, false},
		{"file URL", "FILE:///etc/hosts", true, false},
		{"web URL", "https://example.com/home/x", false, false},
		{"scheme of one letter", "x://host", false, false},
		{"route", "/v1/resources/1", false, false},
		{"relative path", "image/a.png", false, false},
		{"path in prose", "look into /home/nova please", false, false},
		{"text that begins with a path", "/tmp/a\nsecond line", false, false},
		{"very long", "/tmp/" + strings.Repeat("x", 5000), false, false},
		{"script", "a <ScRiPt>alert(1)</script>", false, true},
		{"image tag", `<img src="x">`, false, true},
		{"frame", "<iframe src=x>", false, true},
		{"comparison", "a < b and b > c", false, false},
		{"generics", "List<string>", false, false},
		{"emphasis", "<b>bold</b>", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := ""
			switch {
			case test.path:
				want = "an absolute local path"
			case test.html:
				want = "an HTML directive"
			}
			if got := abi.ForbiddenText(test.text); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestForbiddenContentType(t *testing.T) {
	for kind, want := range map[string]bool{"image_url": true, "tool_use": true, "text": false, "image": false, "": false} {
		if got := abi.ForbiddenContentType(kind); got != want {
			t.Errorf("%q: got %v, want %v", kind, got, want)
		}
	}
}

func FuzzForbiddenText(f *testing.F) {
	for _, seed := range []string{"", "c:/", "/tmp/", "<img ", "<", `\\`, "file:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) { abi.ForbiddenText(s) })
}
