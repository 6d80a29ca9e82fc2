//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"vcphost/abi"
	w "vcphost/sandbox/wasmbuild"
)

// sandboxCases are the settings that bound what a module costs before it runs.
func sandboxCases() map[string]func(*testing.T, *settingCase) {
	return map[string]func(*testing.T, *settingCase){
		"sandbox.compileMemoryBytes": func(t *testing.T, c *settingCase) {
			c.refusesModule(t, "64MiB", `"limit":67108864`, straight(1<<20))
		},
		"sandbox.compileTime": func(t *testing.T, c *settingCase) {
			c.refusesModule(t, "1s", `"limit":1`, nested(20_000))
		},
		"sandbox.compiledBytes": func(t *testing.T, c *settingCase) {
			c.refusesModule(t, "1MiB", `"limit":1048576`, straight(1<<18))
		},
		"sandbox.cacheBytes": func(t *testing.T, c *settingCase) {
			c.withOwnCache(t)
			s := c.serve(t, "1")
			for _, tool := range []string{"Good", "Bad"} {
				s.call(t, tool)
				stored, err := filepath.Glob(filepath.Join(s.data, "cache", "store", "*"))
				if err != nil || len(stored) != 1 {
					t.Errorf("after %s %v are stored: %v", tool, stored, err)
				}
			}
		},
		"sandbox.poolBytes": func(t *testing.T, c *settingCase) {
			for value, path := range map[string]string{"1": "made", "": "pooled"} {
				c.given["data"] = t.TempDir()
				s := c.serve(t, value)
				s.call(t, "Good")
				wantIn(t, s.call(t, "Good"), `"path":"`+path+`"`)
			}
		},
		"sandbox.maxInstances": func(t *testing.T, c *settingCase) {
			c.given["drain"] = "0s"
			s := c.serve(t, "1")
			go s.hang("Bad")
			s.awaitRunning(t, func(n int) bool { return n == 1 })
			go s.hang("Good")
			s.awaitRunning(t, func(n int) bool { return n == 2 })
			s.awaitStats(t, `"runningInstances":1`)
		},
		"sandbox.allowShared": func(t *testing.T, c *settingCase) {
			file := filepath.Join(c.bench.plugins, "good", "plugin-manifest.json")
			manifest, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			asks := bytes.Replace(manifest, []byte(`"memoryMiB": 4`), []byte(`"memoryMiB": 4, "isolation": "shared"`), 1)
			if err := os.WriteFile(file, asks, 0o600); err != nil {
				t.Fatal(err)
			}
			for value, says := range map[string]string{"true": `"isolation":"shared"`, "": abi.CodeToolDisabled} {
				c.given["data"] = t.TempDir()
				wantIn(t, c.serve(t, value).call(t, "Good"), says)
			}
		},
	}
}

// withOwnCache compiles in a process, into a directory that no other test has.
func (c *settingCase) withOwnCache(t *testing.T) {
	t.Helper()
	c.compile = []string{binary(t), compileVerb}
	c.given["data"] = t.TempDir()
}

// refusesModule wants the setting to refuse a plugin by name, and no other.
func (c *settingCase) refusesModule(t *testing.T, value, limit string, code []byte) {
	t.Helper()
	c.withOwnCache(t)
	module := w.Guest{Extra: func(m *w.Module) {
		m.Function(w.Signature{Params: []w.ValueType{w.I32}, Results: []w.ValueType{w.I32}}, nil, code, w.LocalGet(0))
	}}.Bytes()
	if err := os.WriteFile(filepath.Join(c.bench.plugins, "bad", "module.wasm"), module, 0o600); err != nil {
		t.Fatal(err)
	}
	s := c.serve(t, value)
	wantIn(t, s.call(t, "Bad"), abi.CodeToolDisabled, `"setting":"`+c.row.Name+`"`, limit)
	wantIn(t, s.call(t, "Good"), `"status":"success"`)
}

// straight is code of about size bytes without a branch, of which nothing can be
// left out.
func straight(size int) []byte {
	turn := slices.Concat(w.LocalGet(0), w.LocalGet(0), w.I32Load8U(), w.I32Add(), w.LocalSet(0))
	return bytes.Repeat(turn, size/len(turn))
}

// nested is code of blocks within one another, each of which may be left.
func nested(depth int) []byte {
	return append(bytes.Repeat([]byte{0x02, 0x40, 0x20, 0x00, 0x0d, 0x00}, depth), bytes.Repeat([]byte{0x0b}, depth)...)
}
