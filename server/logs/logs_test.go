package logs_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"vcphost/internal/lockbuf"
	"vcphost/server/logs"
)

const (
	key    = "vcp_01JZX5T0C4Q0K7ZG4V4W9B2M3P_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE"
	random = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE"
	static = `a "static" key <of> somebody`
)

func TestMaskedTexts(t *testing.T) {
	masker := logs.NewMasker(static, "short")
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "a basic test of the vcp host, with a bearer", "a basic test of the vcp host, with a bearer"},
		{"a key alone", key, "vcp_***"},
		{"a key in a text", "the key " + key + ", please", "the key vcp_***, please"},
		{"a key that was cut", `there is no view "` + key[:40] + `…"`, `there is no view "vcp_***…"`},
		{"two keys", key + " " + key, "vcp_*** vcp_***"},
		{"in a query", "/v1/tools?key=" + key + "&x=1", "/v1/tools?key=vcp_***&x=1"},
		{"a header", "Authorization: Bearer abcdefghijkl", "Authorization: Bearer ***"},
		{"a header, encoded", "authorization=bearer+abcdefghijkl;x", "authorization=bearer ***;x"},
		{"basic credentials", "Basic dXNlcjpwYXNzd29yZA==", "Basic ***"},
		{"a known one", "no: " + static + "!", "no: ***!"},
		{"a known one that was cut", "no: " + static[:20] + "… " + static, "no: ***… ***"},
		{"a known one that is a word", "shortly", "shortly"},
		{"a protocol's name", "vcp_abi_1 vcp_alloc", "vcp_abi_1 vcp_alloc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := masker.Text(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// speaking is a value with a text of its own.
type speaking struct{ text string }

func (s speaking) String() string { return s.text }

// silent fails to tell its text.
type silent struct{ text *string }

func (s *silent) Error() string { return *s.text }

// late is resolved when it is logged.
type late struct{}

func (late) LogValue() slog.Value {
	return slog.GroupValue(slog.String("token", "hidden"), slog.String("a", key))
}

func TestNoAttributeShowsASecret(t *testing.T) {
	var out bytes.Buffer
	logger := logs.New(&out, &logs.Options{
		Level: slog.LevelDebug, Secrets: []string{static},
		Context: func(context.Context) []slog.Attr {
			return []slog.Attr{slog.String("traceId", "0af7651916cd43dd8448eb211c80319c")}
		},
	})
	var nobody *silent
	logger = logger.With("first", key, "X-Api-Key", "hidden").WithGroup("group").With("second", errors.New(key))
	logger.Info("message "+key,
		"Authorization", "hidden", "client_secret", "hidden", "accessToken", "hidden", "PASSWORD", "hidden", "Set-Cookie", "hidden",
		"text", key, "error", fmt.Errorf("no: %w", errors.New(key+static)), "speaking", speaking{key}, "late", late{},
		"bytes", []byte(key), "list", []string{key, static}, "map", map[string]any{"password": "hidden", key: 1, "deep": []any{map[string]string{"token": "hidden"}}},
		"struct", struct{ Secret, Other string }{"hidden", key}, "nil", nil, "nobody", nobody, "function", func() {}, "number", 7,
		slog.Group("inner", "secret", "hidden", "text", key), key, "named by a key", "keyId", "key_01JZX5T0C4Q0K7ZG4V4W9B2M3P")
	line := out.String()
	for _, secret := range []string{"hidden", random, key[:20], static, `a \"static\" key`, base64.StdEncoding.EncodeToString([]byte(key))} {
		if strings.Contains(line, secret) {
			t.Errorf("the line shows %q: %s", secret, line)
		}
	}
	var told struct {
		First string
		Group struct {
			KeyID   string `json:"keyId"`
			Number  int
			TraceID string `json:"traceId"`
			Text    string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &told); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if told.Group.KeyID != "key_01JZX5T0C4Q0K7ZG4V4W9B2M3P" || told.Group.Number != 7 || told.Group.TraceID == "" || told.Group.Text != "vcp_***" {
		t.Errorf("the line lost what is no secret: %s", line)
	}
}

func TestManyGoroutinesLog(t *testing.T) {
	var out lockbuf.Buffer
	logger := logs.New(&out, nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				logger.With("i", i).Info("line "+key, "j", j, "secret", key)
			}
		})
	}
	wg.Wait()
	if lines := strings.Count(out.String(), "\n"); lines != 800 || strings.Contains(out.String(), random) {
		t.Errorf("%d lines, want 800 without a secret", lines)
	}
}

func FuzzMaskedTextHasNoKey(f *testing.F) {
	f.Add("a", "b")
	f.Add("vcp_", "Bearer ")
	f.Fuzz(func(t *testing.T, before, after string) {
		got := logs.NewMasker().Text(before + " " + key + " " + after)
		if strings.Contains(got, random) {
			t.Errorf("%q shows the key", got)
		}
	})
}

func BenchmarkALineWithoutSecrets(b *testing.B) {
	logger := logs.New(discard{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		logger.Info("request", "requestId", "req_01JZX5T0C4Q0K7ZG4V4W9B2M3Q", "method", "POST", "route", "/v1/human/tool", "status", 200, "durationMs", 3)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
