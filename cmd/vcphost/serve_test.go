package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"vcphost/internal/lockbuf"
)

// served is the real program serving as a process of its own.
type served struct {
	command     *exec.Cmd
	stdout, log lockbuf.Buffer
	url, secret string
	ended       chan struct{} // the process is gone, and its output complete
}

var (
	shownSecret = regexp.MustCompile(`vcp_[0-9A-Z]{26}_\S{43}`)
	servingAt   = regexp.MustCompile(`"msg":"serving","addr":"([^"]+)"`)
)

// startServer serves the plugins of a bench and waits until it does.
func startServer(t *testing.T, b *bench, args ...string) *served {
	t.Helper()
	s := &served{ended: make(chan struct{})}
	s.command = exec.Command(binary(t), append(append([]string{"serve", "--addr", "127.0.0.1:0"}, b.flags()...), args...)...)
	s.command.Stdout, s.command.Stderr = &s.stdout, &s.log
	s.command.Dir = b.dir
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.command.Wait() // its state says all
		close(s.ended)
	}()
	t.Cleanup(func() {
		_ = s.command.Process.Kill() // it may have ended by itself
		<-s.ended
	})
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(5 * time.Millisecond) {
		if found := servingAt.FindStringSubmatch(s.log.String()); found != nil {
			s.url, s.secret = "http://"+found[1], shownSecret.FindString(s.stdout.String())
			return s
		}
		select {
		case <-s.ended:
			t.Fatalf("the server ended: %s%s", &s.stdout, &s.log)
		default:
		}
	}
	t.Fatalf("the server does not come up: %s", &s.log)
	return nil
}

// stop asks the server to end and waits for it.
func (s *served) stop(t *testing.T) {
	t.Helper()
	if err := s.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	if status := s.command.ProcessState.ExitCode(); status != exitOK {
		t.Errorf("the server ends with status %d: %s", status, &s.log)
	}
}

func (s *served) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
		t.Fatalf("the server does not end: %s", &s.log)
	}
}

// ask sends a request with a key, "" for none.
func (s *served) ask(t *testing.T, method, path, secret, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

// verb runs another verb of the program on the bench.
func (b *bench) verb(t *testing.T, args ...string) outcome {
	t.Helper()
	return invocation{args: append(args, b.flags()...)}.run(t)
}

func TestTheFirstStartShowsAKeyOnceAndOnlyKeysOpenTheDoor(t *testing.T) {
	b := badInput{}.set(t)
	s := startServer(t, b)
	if s.secret == "" {
		t.Fatalf("no key is shown: %s", &s.stdout)
	}
	const call = `{"tool":"Good","arguments":{}}`
	for _, test := range []struct {
		name, method, path, secret, body string
		want                             int
	}{
		{"with the key", "POST", "/v1/human/tool", s.secret, call, 200},
		{"without a key", "POST", "/v1/human/tool", "", call, 401},
		{"with a wrong key", "POST", "/v1/human/tool", s.secret[:len(s.secret)-1] + "!", call, 401},
		{"health without a key", "GET", "/healthz", "", "", 200},
		{"what is local, with the key", "GET", "/v1/local/process", s.secret, "", 404},
		{"what is local, without", "POST", "/v1/local/call", "", "{}", 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			if status, body := s.ask(t, test.method, test.path, test.secret, test.body); status != test.want {
				t.Errorf("got %d, want %d: %s", status, test.want, body)
			}
		})
	}
	s.stop(t)
	if again := startServer(t, b); again.secret != "" || again.stdout.String() != "" {
		t.Errorf("the second start shows %s", &again.stdout)
	}
	if strings.Contains(s.log.String(), s.secret) {
		t.Error("the key is in the log")
	}
}

func TestKeysOfTheCommandLine(t *testing.T) {
	for _, beside := range []bool{true, false} {
		t.Run("beside a server: "+strconv.FormatBool(beside), func(t *testing.T) {
			b := badInput{}.set(t)
			var s *served
			if beside {
				s = startServer(t, b)
			}
			added := b.verb(t, "key", "add", "--name", "reader", "--scope", "tools:list", "--scope", "tools:call:Good", "--tenant", "acme", "--actor", "ada", "--expires", "1h")
			secret := strings.TrimSuffix(added.stdout, "\n")
			if added.status != exitOK || !shownSecret.MatchString(secret) || strings.Contains(added.stderr, secret) {
				t.Fatalf("key add: %d %q %q", added.status, added.stdout, added.stderr)
			}
			list := b.verb(t, "key", "list", "--json")
			var keys []struct {
				ID, Name  string
				Scopes    []string
				Owner     struct{ Tenant, Actor string }
				ExpiresAt time.Time
			}
			if err := json.Unmarshal([]byte(list.stdout), &keys); err != nil || len(keys) == 0 || strings.Contains(list.stdout, secret) {
				t.Fatalf("key list --json: %v\n%s", err, list.stdout)
			}
			key := keys[len(keys)-1]
			if key.Name != "reader" || len(key.Scopes) != 2 || key.Owner.Tenant != "acme" || key.Owner.Actor != "ada" || time.Until(key.ExpiresAt) > time.Hour {
				t.Errorf("key list: %+v", key)
			}
			if !beside {
				s = startServer(t, b)
			}
			if status, body := s.ask(t, "GET", "/v1/tools", secret, ""); status != 200 || !strings.Contains(body, "Good") || strings.Contains(body, "Bad") {
				t.Errorf("with the key: %d %s", status, body)
			}
			if got := b.verb(t, "key", "revoke", key.ID); got.status != exitOK {
				t.Errorf("key revoke: %d %s", got.status, got.stderr)
			}
			if status, _ := s.ask(t, "GET", "/v1/tools", secret, ""); status != 401 {
				t.Errorf("with the revoked key: %d", status)
			}
			if table := b.verb(t, "key", "list"); !strings.Contains(table.stdout, "revoked") {
				t.Errorf("key list: %s", table.stdout)
			}
		})
	}
}

func TestAKeyFromTheEnvironmentIsAnAdministrators(t *testing.T) {
	b := badInput{}.set(t)
	secret := strings.Repeat("s3cret-", 6)
	t.Setenv("VCPHOST_KEY", secret)
	s := startServer(t, b)
	if s.stdout.String() != "" {
		t.Errorf("a key is shown: %s", &s.stdout)
	}
	if status, body := s.ask(t, "GET", "/v1/keys", secret, ""); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
	s.stop(t)
	got := invocation{args: append([]string{"serve"}, b.flags()...), env: map[string]string{"VCPHOST_KEY": "short"}}.run(t)
	if got.status != exitNoResult || !strings.Contains(got.stderr, "VCPHOST_KEY") || strings.Contains(got.stderr, "short") {
		t.Errorf("a short key: %d %s", got.status, got.stderr)
	}
}

func TestHealthcheck(t *testing.T) {
	s := startServer(t, badInput{}.set(t))
	addr := strings.TrimPrefix(s.url, "http://")
	if got := (invocation{args: []string{"healthcheck", "--addr", addr}}).run(t); got.status != exitOK || got.stdout+got.stderr != "" {
		t.Errorf("of a server that lives: %+v", got)
	}
	s.stop(t)
	if got := (invocation{args: []string{"healthcheck", "--addr", addr}}).run(t); got.status != exitResult || got.stderr == "" {
		t.Errorf("of none: %+v", got)
	}
}

func TestOtherPluginsThanTheServers(t *testing.T) {
	b := badInput{}.set(t)
	s := startServer(t, b)
	other := filepath.Join(b.dir, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(b.dir, "link")
	if err := os.Symlink(b.plugins, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		args []string
		says string // "" where the call goes through
	}{
		{"none given", nil, ""},
		{"the same", []string{"--plugins", b.plugins, "--trust", b.plugins}, ""},
		{"the same by another name", []string{"--plugins", link, "--trust", link}, ""},
		{"other plugins", []string{"--plugins", other}, "--plugins"},
		{"more plugins", []string{"--plugins", b.plugins, "--plugins", other}, "--plugins"},
		{"other trust", []string{"--trust", filepath.Join(b.plugins, "good")}, "--trust"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := invocation{args: append([]string{"call", "Good", "--data", b.data}, test.args...)}.run(t)
			if test.says == "" {
				if got.status != exitOK {
					t.Errorf("exit status %d: %s", got.status, got.stderr)
				}
				return
			}
			if got.status != exitNoResult || !strings.Contains(got.stderr, test.says) || !strings.Contains(got.stderr, b.plugins) ||
				!strings.Contains(got.stderr, strconv.Itoa(s.command.Process.Pid)) {
				t.Errorf("exit status %d: %s", got.status, got.stderr)
			}
		})
	}
}

func TestASecondServerSaysWhoHoldsTheData(t *testing.T) {
	b := badInput{}.set(t)
	s := startServer(t, b)
	got := b.verb(t, "serve", "--addr", "127.0.0.1:0")
	holder := "vcphost serve, process " + strconv.Itoa(s.command.Process.Pid)
	if got.status != exitNoResult || !strings.Contains(got.stderr, holder) {
		t.Errorf("exit status %d: %s; want %q", got.status, got.stderr, holder)
	}
	if status, _ := s.ask(t, "GET", "/healthz", "", ""); status != 200 {
		t.Errorf("the first server answers %d", status)
	}
}

func TestAServerOnAnAddressInUseLeavesNothing(t *testing.T) {
	b, c := badInput{}.set(t), badInput{}.set(t)
	s := startServer(t, b)
	got := c.verb(t, "serve", "--addr", strings.TrimPrefix(s.url, "http://"))
	if got.status != exitNoResult || !strings.Contains(got.stderr, "--addr") {
		t.Errorf("exit status %d: %s", got.status, got.stderr)
	}
	if got := c.verb(t, "call", "Good"); got.status != exitOK {
		t.Errorf("the next call: %s", got.stderr)
	}
}
