package engine

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vcphost/sandbox/wasmbuild"
)

// invalid is a module that the engine refuses, with a name in its words.
func invalid(name string) []byte {
	m := &wasmbuild.Module{}
	m.ExportFunction(name, m.Function(wasmbuild.Signature{}, nil))
	m.ExportFunction(name, m.Function(wasmbuild.Signature{}, nil))
	return m.Bytes()
}

func TestWhatTheEngineRefuses(t *testing.T) {
	for way, command := range ways(t) {
		for name, test := range map[string]struct {
			binary []byte
			says   string
		}{
			"empty":         {nil, ""},
			"no module":     {[]byte("something else"), "magic"},
			"cut":           {answers(1, 10)[:40], ""},
			"a name twice":  {invalid("twice"), "twice"},
			"a long name":   {invalid(strings.Repeat("long ", 100_000)), "long long"},
			"control bytes": {invalid("\x1b[2J\n\r\u2028"), ""},
		} {
			t.Run(way+"/"+name, func(t *testing.T) {
				c := open(t, t.TempDir(), &CacheOptions{Command: command})
				failed := failedAs(t, c.Ensure(t.Context(), test.binary), ReasonInvalid)
				if failed.Detail == "" || !strings.Contains(failed.Detail, test.says) {
					t.Errorf("the engine says %q, want %q", failed.Detail, test.says)
				}
				if len(failed.Detail) > maxDetail || !utf8.ValidString(failed.Detail) || strings.ContainsAny(failed.Detail, "\n\r") {
					t.Errorf("the engine says %d bytes: %q", len(failed.Detail), failed.Detail)
				}
				if failed.Setting != "" || !strings.Contains(failed.Error(), "not valid") {
					t.Errorf("the error is %q", failed)
				}
				if left := files(t, filepath.Join(c.dir, storeDir)); len(left) != 0 {
					t.Errorf("%v is left", left)
				}
			})
		}
	}
}

func TestTheCompiledFormIsBounded(t *testing.T) {
	for way, command := range ways(t) {
		t.Run(way, func(t *testing.T) {
			c := open(t, t.TempDir(), &CacheOptions{Command: command, FileBytes: 64 << 10})
			ensure(t, c, answers(7, 10))
			failed := failedAs(t, c.Ensure(t.Context(), functions(5000)), ReasonSize)
			if failed.Limit != 64<<10 || failed.Setting != SettingFile {
				t.Errorf("the error is %+v", failed)
			}
			if left := files(t, filepath.Join(c.dir, storeDir)); len(left) != 1 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

func TestACommandThatDoesNotCompile(t *testing.T) {
	self := thisBinary(t)
	for name, command := range map[string][]string{
		"not there":     {filepath.Join(t.TempDir(), "none")},
		"other numbers": {self[0], self[1], "1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := open(t, t.TempDir(), &CacheOptions{Command: command}).Ensure(t.Context(), answers(7, 10))
			var failed *CompileError
			if err == nil || errors.As(err, &failed) {
				t.Errorf("the error is %v, want one of the host's", err)
			}
		})
	}
}

func TestChildMainRefusesWhatIsNotForIt(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing":        nil,
		"too few":        {"dir", "1", "2", "3"},
		"no number":      {"dir", "1", "2", "x", "4"},
		"a negative one": {"dir", "1", "-2", "3", "4"},
		"no limit":       {"dir", "1", "0", "3", "4"},
		"too long":       {"dir", "9000000000", "1", "1", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			if status := ChildMain(args, strings.NewReader("x"), &said); status != childMisused || said.Len() == 0 {
				t.Errorf("the status is %d, and it says %q", status, &said)
			}
		})
	}
}

// A child has no environment, and cannot be told by one what to do.
func TestAChildHasNoEnvironment(t *testing.T) {
	t.Setenv("GODEBUG", "gctrace=1")
	t.Setenv("GOGC", "1")
	c := open(t, t.TempDir(), &CacheOptions{Command: []string{"/bin/sh", "-c", "env >&2; exit 71"}})
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell here")
	}
	failed := failedAs(t, c.Ensure(t.Context(), answers(7, 10)), ReasonInvalid)
	if strings.Contains(failed.Detail, "GO") || strings.Contains(failed.Detail, "HOME") {
		t.Errorf("the environment is %s", failed.Detail)
	}
}

func TestACommandThatLeavesSomethingElse(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell here")
	}
	for name, script := range map[string]string{
		"nothing":      "true",
		"a file":       "echo > $0/file",
		"no hash":      "mkdir $0/e; echo > $0/e/x",
		"a link":       "mkdir $0/e; ln -s /etc/passwd $0/e/" + strings.Repeat("0", nameBytes),
		"two":          "mkdir $0/e; echo > $0/e/" + strings.Repeat("0", nameBytes) + "; echo > $0/e/" + strings.Repeat("1", nameBytes),
		"two engines":  "mkdir $0/e $0/f",
		"a large file": "mkdir $0/e; head -c 100000 /dev/zero > $0/e/" + strings.Repeat("0", nameBytes),
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, t.TempDir(), &CacheOptions{Command: []string{"/bin/sh", "-c", "PATH=/bin:/usr/bin; " + script}, FileBytes: 64 << 10})
			var failed *CompileError
			if err := c.Ensure(t.Context(), answers(7, 10)); !errors.As(err, &failed) {
				t.Errorf("the error is %v", err)
			}
			if left := files(t, filepath.Join(c.dir, storeDir)); len(left) != 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

func TestDetail(t *testing.T) {
	for _, test := range []struct{ name, said, want string }{
		{"lines", " a\n\tb  c\r\n", "a b c"},
		{"no text", "a\xff\xfeb", "a�b"},
		{"long", strings.Repeat("é", maxDetail), strings.Repeat("é", maxDetail/2)},
		{"cut in a rune", "a" + strings.Repeat("é", maxDetail), "a" + strings.Repeat("é", maxDetail/2-1)},
	} {
		if got := detail(test.said); got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func TestWatchMemory(t *testing.T) {
	over := make(chan struct{})
	go watchMemory(1, func() { close(over); select {} })
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Error("a byte is not too much")
	}
	go watchMemory(math.MaxInt64, func() { t.Error("everything is too much") })
	time.Sleep(10 * watchEvery)
}
