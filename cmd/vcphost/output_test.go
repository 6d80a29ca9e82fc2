package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vcphost/abi"
)

func TestFreeName(t *testing.T) {
	long := strings.Repeat("界", 85) // 255 bytes
	for _, test := range []struct {
		name        string
		names, want []string
	}{
		{"in any case", []string{"a.png", "A.PNG", "a-2.png", "a.png"}, []string{"a.png", "A-2.PNG", "a-2-2.png", "a-3.png"}},
		{"as long as can be", []string{long, long}, []string{long, strings.Repeat("界", 84) + "-2"}},
		{"all extension", []string{"x." + long[:252], "x." + long[:252]}, []string{"x." + long[:252], "x." + long[:249] + "-2"}},
		{"hidden", []string{".bashrc", ".bashrc"}, []string{"_bashrc", "_bashrc-2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			taken := map[string]bool{}
			for i, name := range test.names {
				got := freeName(name, taken)
				if got != test.want[i] || len(got) > 255 {
					t.Errorf("freeName(%q) = %q (%d bytes), want %q", name, got, len(got), test.want[i])
				}
			}
		})
	}
}

func TestNothingSteersTheTerminal(t *testing.T) {
	const shown = "a ü 界 \U0001f469\u200d\U0001f4bb"
	const steering = "\u009b31m\x7f\u202e\u2066\u2028\u200b\U000e0041"
	if got := printable("\x1b[2J" + steering + shown); got != "[2J31m"+shown {
		t.Errorf("printable = %q", got)
	}
	text := []byte("{\n  \"" + steering + "\": \"" + shown + "\"\n}\n")
	escaped := escapeInvisible(text)
	if strings.ContainsAny(string(escaped), "\u009b\x7f\u202e\u2066\u2028\u200b\U000e0041") || !strings.Contains(string(escaped), shown) {
		t.Errorf("escaped: %q", escaped)
	}
	var before, after map[string]string
	if err := json.Unmarshal(text, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(escaped, &after); err != nil || after[steering] != before[steering] || len(after) != 1 {
		t.Errorf("escaping changed the document: %q, %v", after, err)
	}
}

func TestWriteResourcesLosesNoneWhateverItsName(t *testing.T) {
	ctx := t.Context()
	program := &Program{Stderr: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }}
	program.settings.data = t.TempDir()
	s, err := program.connect(ctx, "test", needStore)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	result := &abi.Result{}
	names := []string{"a.png.partial", "a.png", strings.Repeat("n", 255), strings.Repeat("n", 255), ".profile"}
	for i, name := range names {
		content := strconv.Itoa(i)
		resource, err := s.Upload(ctx, name, int64(len(content)), strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		resource.Role = abi.RoleOutput
		result.Resources = append(result.Resources, resource)
	}
	dir := t.TempDir()
	out, err := openOut(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer out.close()
	if err := s.writeResources(ctx, result, out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{names[0], names[1], names[2], names[2][:253] + "-2", "_profile"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != strconv.Itoa(i) {
			t.Errorf("%.20s holds %q, %v; want %d", name, got, err, i)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != len(names) {
		t.Errorf("the directory has %v, %v; want %d files", all, err, len(names))
	}
}
