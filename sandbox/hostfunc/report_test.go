package hostfunc_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vcphost/abi"
	"vcphost/sandbox/hostfunc"
)

func TestLogLevels(t *testing.T) {
	b := newBench(t, setup{})
	for _, level := range []int32{-1 << 31, 0, 1, 2, 3, 1<<31 - 1} {
		b.Log(level, fmt.Appendf(nil, "at %d", level))
	}
	want(t, "log", b.log.String(), `level=DEBUG msg="at -2147483648"
level=DEBUG msg="at 0"
level=INFO msg="at 1"
level=WARN msg="at 2"
level=ERROR msg="at 3"
level=ERROR msg="at 2147483647"
`)
	want(t, "warnings", len(b.Warnings()), 0)
}

func TestEveryLineSaysWhoseCallItIs(t *testing.T) {
	var log bytes.Buffer
	call := hostfunc.NewCall(t.Context(), &abi.Invocation{InvocationID: "ti_1"}, hostfunc.Grants{}, hostfunc.Limits{},
		slog.New(slog.NewTextHandler(&log, nil)))
	call.Log(1, []byte("a line"))
	call.Panicked("now", "a reason")
	if got := strings.Count(log.String(), "invocationId=ti_1"); got != 2 {
		t.Errorf("%d of 2 lines name the call:\n%s", got, log.String())
	}
}

func TestLogIsCutAndCounted(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		kept  int // bytes
		cut   string
	}{
		{"within the limit", []string{strings.Repeat("a", 60), strings.Repeat("b", 40)}, 100, ""},
		{"a line over the edge", []string{strings.Repeat("a", 60), strings.Repeat("b", 41)}, 100, "1 bytes"},
		{"lines after the edge", []string{strings.Repeat("a", 100), "more", "", "and more"}, 100, "12 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, setup{logBytes: 100})
			for _, line := range test.lines {
				b.Log(1, []byte(line))
			}
			want(t, "bytes kept", strings.Count(b.log.String(), "a")+strings.Count(b.log.String(), "b"), test.kept)
			warnings := b.Warnings()
			if test.cut == "" {
				want(t, "warnings", len(warnings), 0)
				return
			}
			if len(warnings) != 1 || warnings[0].Code != abi.WarningLogTruncated || !strings.HasPrefix(warnings[0].Message, test.cut+" ") {
				t.Errorf("got warnings %+v, want %s cut", warnings, test.cut)
			}
		})
	}
	b := newBench(t, setup{logBytes: 1 << 20})
	b.Log(1, bytes.Repeat([]byte("x"), 10<<10))
	want(t, "one long line", strings.Count(b.log.String(), "x"), 8<<10)
}

func TestALogLineCannotForgeAnother(t *testing.T) {
	b := newBench(t, setup{})
	b.Log(1, []byte("first\nlevel=ERROR msg=forged\r\n\x1b[31m\xff\x00"))
	if got := strings.Count(b.log.String(), "\n"); got != 1 || !utf8.ValidString(b.log.String()) || strings.Contains(b.log.String(), "\x1b") {
		t.Errorf("got %q", b.log.String())
	}
}

func TestLineWriter(t *testing.T) {
	b := newBench(t, setup{})
	w := b.LineWriter(slog.LevelWarn)
	for _, part := range []string{"fir", "st\nsecond\n\n\nthi", "", "rd"} {
		if n, err := io.WriteString(w, part); n != len(part) || err != nil {
			t.Errorf("write %q: %d, %v", part, n, err)
		}
	}
	w.Flush()
	w.Flush()
	want(t, "log", b.log.String(), "level=WARN msg=first\nlevel=WARN msg=second\nlevel=WARN msg=third\n")
	if n, err := w.Write(bytes.Repeat([]byte("y"), 1<<20)); n != 1<<20 || err != nil {
		t.Errorf("write a long line: %d, %v", n, err)
	}
	w.Flush()
	if kept := strings.Count(b.log.String(), "y"); kept > hostfunc.DefaultMaxLogBytes || kept < hostfunc.DefaultMaxLogBytes-100 {
		t.Errorf("kept %d bytes of a line of 1 MiB, want about %d", kept, hostfunc.DefaultMaxLogBytes)
	}
}

func TestProgressOfStrangers(t *testing.T) {
	for _, test := range []struct {
		name, event string
		want        hostfunc.Errno
	}{
		{"everything", `{"stage":"s","progress":0.5,"message":"m"}`, hostfunc.OK},
		{"nothing", `{}`, hostfunc.OK},
		{"nulls", `{"stage":null,"progress":null,"message":null}`, hostfunc.OK},
		{"the edges", `{"progress":1}`, hostfunc.OK},
		{"an unknown member", `{"later":[1]}`, hostfunc.OK},
		{"empty", ``, hostfunc.EINVAL},
		{"no JSON", `half`, hostfunc.EINVAL},
		{"an array", `[]`, hostfunc.EINVAL},
		{"above 1", `{"progress":1.0001}`, hostfunc.EINVAL},
		{"below 0", `{"progress":-0.1}`, hostfunc.EINVAL},
		{"beyond numbers", `{"progress":1e999}`, hostfunc.EINVAL},
		{"a text as progress", `{"progress":"0.5"}`, hostfunc.EINVAL},
		{"a number as stage", `{"stage":1}`, hostfunc.EINVAL},
		{"an object as message", `{"message":{}}`, hostfunc.EINVAL},
		{"not UTF-8", "{\"stage\":\"\xff\"}", hostfunc.EINVAL},
		{"a member twice", `{"stage":"a","stage":"b"}`, hostfunc.EINVAL},
		{"deep", `{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, hostfunc.EINVAL},
		{"long", `{"message":"` + strings.Repeat("x", 16<<10) + `"}`, hostfunc.ELIMIT},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, setup{})
			want(t, "errno", b.Progress([]byte(test.event)), test.want)
			b.Close()
			if got, sent := len(b.events), test.want == hostfunc.OK; (got == 1) != sent {
				t.Errorf("got %d events", got)
			}
		})
	}
}

func TestProgressTextsAreCutAtCodePoints(t *testing.T) {
	b := newBench(t, setup{})
	event := fmt.Appendf(nil, `{"stage":%q,"message":%q}`, strings.Repeat("界", 200), strings.Repeat("界", 2000))
	want(t, "errno", b.Progress(event), hostfunc.OK)
	got := b.events[0]
	want(t, "stage", got.Stage, strings.Repeat("界", 256/3))
	want(t, "message", got.Message, strings.Repeat("界", 2048/3))
}

// Events that come too fast replace each other, the first comes at once, and
// the last one always comes.
func TestProgressIsCoalesced(t *testing.T) {
	b := newBench(t, setup{})
	began := time.Now()
	const events = 20_000
	for i := range events {
		if got := b.Progress(fmt.Appendf(nil, `{"message":"%d"}`, i)); got != hostfunc.OK {
			t.Fatalf("event %d gave %d", i, got)
		}
		if i == 0 {
			want(t, "events after the first", len(b.events), 1)
		}
	}
	most := int(time.Since(began)/(50*time.Millisecond)) + 2
	b.Close()
	b.Close() // nothing comes twice
	if got := len(b.events); got < 2 || got > most {
		t.Errorf("got %d events of %d, want 2 to %d", got, events, most)
	}
	want(t, "first", b.events[0].Message, "0")
	want(t, "last", b.events[len(b.events)-1].Message, fmt.Sprint(events-1))
}

func TestConfig(t *testing.T) {
	b := newBench(t, setup{grants: hostfunc.Grants{Config: map[string]string{"THEME": "light", "EMPTY": ""}}})
	buf := bytes.Repeat([]byte("."), 6)
	want(t, "get", b.ConfigGet([]byte("THEME"), buf), 5)
	want(t, "value", string(buf), "light.")
	want(t, "an empty value", b.ConfigGet([]byte("EMPTY"), buf), 0)
	want(t, "no room", b.ConfigGet([]byte("THEME"), nil), 5)
	for _, key := range []string{"", "theme", "PATH", strings.Repeat("x", 1<<20), "\xff"} {
		wantErrno(t, fmt.Sprintf("get %.10q", key), b.ConfigGet([]byte(key), buf), hostfunc.ENOENT)
	}
}

func TestRandomAndNow(t *testing.T) {
	b := newBench(t, setup{})
	one, two := make([]byte, 3<<20), make([]byte, 3<<20)
	want(t, "random", b.Random(one), hostfunc.OK)
	want(t, "random", b.Random(two), hostfunc.OK)
	if bytes.Equal(one, two) || bytes.Equal(one[len(one)-32:], make([]byte, 32)) {
		t.Error("the bytes are not random")
	}
	want(t, "random of nothing", b.Random(nil), hostfunc.OK)
	if apart := time.Since(time.Unix(0, b.Now())); apart < 0 || apart > time.Minute {
		t.Errorf("the clock is %v off", apart)
	}
}

func TestAPanicOfTheHostIsTheHostsFailure(t *testing.T) {
	b := newBench(t, setup{})
	b.Panicked("kv_set", "secret")
	want(t, "failure", abi.CodeOf(b.Failure()), abi.CodeInternalError)
	if strings.Contains(b.Failure().Message, "secret") || !strings.Contains(b.log.String(), "secret") {
		t.Errorf("got message %q, log %q; the cause belongs into the log alone", b.Failure().Message, b.log.String())
	}
}
