//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host/record"
	"vcphost/internal/kv"
)

// placeCases are the settings of where things lie and how long they stay.
func placeCases() map[string]func(*testing.T, *settingCase) {
	return map[string]func(*testing.T, *settingCase){
		"plugins": func(t *testing.T, c *settingCase) {
			delete(c.given, "plugins")
			delete(c.given, "trust") // of no directory, it would be refused
			s := c.serve(t, "")
			if list := s.want(t, 200, "GET", "/v1/plugins", ""); strings.Contains(list, `"Good"`) {
				t.Errorf("without the setting there is Good: %s", list)
			}
			key := s.secret
			s.stop(t)
			s = c.serve(t, c.bench.plugins)
			s.secret = key
			wantIn(t, s.want(t, 200, "GET", "/v1/plugins", ""), `"Good"`)
		},
		"trust": func(t *testing.T, c *settingCase) {
			delete(c.given, "trust")
			s := c.serve(t, "")
			wantIn(t, s.call(t, "Good"), abi.CodeToolDisabled)
			key := s.secret
			s.stop(t)
			s = c.serve(t, c.bench.plugins)
			s.secret = key
			wantIn(t, s.call(t, "Good"), `"status":"success"`)
		},
		"data": func(t *testing.T, c *settingCase) {
			delete(c.given, "data")
			dir := filepath.Join(newData(t), "deeper")
			shareCache(t, dir)
			s := c.serve(t, dir)
			s.call(t, "Good")
			for _, name := range []string{"store", "cache", socketFile} {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
		},
		"minFreeBytes": minFreeCase,
		"retention":    retentionCase,
	}
}

func minFreeCase(t *testing.T, c *settingCase) {
	s := c.serve(t, "300MiB")
	stats := s.want(t, 200, "GET", "/v1/stats", "")
	wantIn(t, stats, `"floorBytes":314572800`)
	wantIn(t, s.call(t, "Good"), `"status":"success"`)
	var unused struct{ Secret string }
	if err := json.Unmarshal([]byte(s.want(t, 201, "POST", "/v1/keys", `{"name":"n","scopes":["admin"]}`)), &unused); err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	c.refuse(t, "4194304TiB", "not enough free disk space")
	aFullDiskIsNoFailureOfTheStop(t, c, stats, unused.Secret)
}

// aFullDiskIsNoFailureOfTheStop starts a server between its floor and half of it,
// where everything can be read. It ended with status 2, as it could not save when
// the key was last used.
func aFullDiskIsNoFailureOfTheStop(t *testing.T, c *settingCase, stats, key string) {
	t.Helper()
	var told struct{ Store struct{ FreeBytes int64 } }
	if err := json.Unmarshal([]byte(stats), &told); err != nil {
		t.Fatal(err)
	}
	s := c.serve(t, strconv.FormatInt(told.Store.FreeBytes/2*3, 10))
	s.secret = key
	wantIn(t, s.want(t, 200, "GET", "/v1/stats", ""), `"short":true`)
	s.stop(t)
	wantIn(t, s.log.String(), "the use of keys could not be saved")
}

// retentionCase plants a result that is two hours old.
func retentionCase(t *testing.T, c *settingCase) {
	s := c.serve(t, "")
	var result abi.Result
	if err := json.Unmarshal([]byte(s.call(t, "Good")), &result); err != nil {
		t.Fatal(err)
	}
	key := s.secret
	s.stop(t)
	db, err := kv.OpenBadger(filepath.Join(c.bench.data, "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	store, err := record.New(db, &record.Options{Now: func() time.Time { return time.Now().Add(-2 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	fresh := result.ID
	result.ID = fresh[:len(fresh)-4] + "0000"
	if err := store.Keep(t.Context(), abi.Owner{Tenant: "default", Actor: "planted"}, &result); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct {
		retention string
		want      int
	}{{"forever", 200}, {"3h", 200}, {"1h", 404}} {
		s := c.serve(t, run.retention)
		s.secret = key
		s.want(t, run.want, "GET", "/v1/results/"+result.ID, "")
		s.want(t, 200, "GET", "/v1/results/"+fresh, "")
		s.stop(t)
	}
}

// watchCases are the settings of the door and of what watches the server.
func watchCases() map[string]func(*testing.T, *settingCase) {
	return map[string]func(*testing.T, *settingCase){
		"addr": func(t *testing.T, c *settingCase) {
			delete(c.given, "addr")
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addr := free.Addr().String()
			if err := free.Close(); err != nil {
				t.Fatal(err)
			}
			s := c.serve(t, addr)
			if s.url != "http://"+addr {
				t.Errorf("it serves on %s, want %s", s.url, addr)
			}
			s.want(t, 200, "GET", "/healthz", "")
		},
		"key": func(t *testing.T, c *settingCase) {
			secret := strings.Repeat("s3cret-", 6)
			s := c.serve(t, secret)
			if s.secret != "" || strings.Contains(s.log.String(), secret) {
				t.Errorf("a key is shown: %s%s", &s.stdout, &s.log)
			}
			s.want(t, 401, "GET", "/v1/keys", "")
			s.secret = secret
			s.want(t, 200, "GET", "/v1/keys", "")
		},
		"baseUrl": func(t *testing.T, c *settingCase) {
			const base = "https://tools.example.org/vcp"
			s := c.serve(t, base)
			wantIn(t, s.want(t, 201, "POST", "/v1/resources", "{}"), `"url":"`+base+`/v1/resources/res_`)
			key := s.secret
			s.stop(t)
			s = c.serve(t, "")
			s.secret = key
			wantIn(t, s.want(t, 201, "POST", "/v1/resources", "{}"), `"url":null`)
		},
		"logLevel":  logLevelCase,
		"logFormat": logFormatCase,
		"otlpEndpoint": func(t *testing.T, c *settingCase) {
			var spans atomic.Int64
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); r.URL.Path == "/v1/traces" {
					spans.Add(int64(len(body)))
				}
			}))
			t.Cleanup(receiver.Close)
			s := c.serve(t, receiver.URL)
			s.call(t, "Good")
			s.stop(t)
			if spans.Load() == 0 {
				t.Error("no traces came")
			}
		},
	}
}

func logLevelCase(t *testing.T, c *settingCase) {
	for _, run := range []struct {
		level   string
		levels  []string // that are there
		without []string
	}{
		{"debug", []string{"DEBUG", "INFO"}, nil},
		{"info", []string{"INFO"}, []string{"DEBUG"}},
		{"warn", nil, []string{"DEBUG", "INFO"}},
		{"error", nil, []string{"DEBUG", "INFO", "WARN"}},
	} {
		s := c.serve(t, run.level)
		conn, err := dialSocket(t.Context(), s.data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nhalf a request"); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil { // which is told at the level debug
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		s.stop(t)
		for _, level := range run.levels {
			wantIn(t, s.log.String(), `"level":"`+level+`"`)
		}
		for _, level := range run.without {
			if strings.Contains(s.log.String(), `"level":"`+level+`"`) {
				t.Errorf("at the level %s, the log has %s: %s", run.level, level, &s.log)
			}
		}
	}
}

func logFormatCase(t *testing.T, c *settingCase) {
	for format, has := range map[string]string{"json": `"msg":"serving"`, "text": `msg=serving`} {
		s := c.serve(t, format)
		s.stop(t)
		wantIn(t, s.log.String(), has)
	}
}
