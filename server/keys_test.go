package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vcphost/internal/kv"
	"vcphost/server"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

// made is the answer to a request for a key.
type made struct {
	identity.Key
	Secret string
}

func makeKey(t *testing.T, s *servertest.Server, body string) (int, made, string) {
	t.Helper()
	status, _, answer := s.Do(t, "POST", "/v1/keys", "application/json", body)
	var key made
	if err := json.Unmarshal(answer, &key); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return status, key, string(answer)
}

func TestAKeyIsMadeListedAndRevoked(t *testing.T) {
	s := servertest.Start(t, nil)
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	status, key, answer := makeKey(t, s, `{"name":"n","scopes":["tools:list","keys:admin"],"tenant":"acme","actor":"ada","actorType":"agent","expiresAt":"`+expires+`"}`)
	if status != 201 || key.Owner.Tenant != "acme" || key.Owner.Actor != "ada" || key.ActorType != "agent" || key.ExpiresAt.IsZero() || key.Secret == "" {
		t.Fatalf("got %d %s", status, answer)
	}
	if status, _, _ := s.As(key.Secret).Do(t, "GET", "/v1/tools", "", ""); status != 200 {
		t.Errorf("the new key gets %d", status)
	}
	if _, _, list := s.Do(t, "GET", "/v1/keys", "", ""); !strings.Contains(string(list), key.ID) || strings.Contains(string(list), key.Secret) {
		t.Errorf("the list is %s", list)
	}
	if status, _, body := s.Do(t, "DELETE", "/v1/keys/"+key.ID, "", ""); status != 204 || len(body) != 0 {
		t.Errorf("revoking: %d %s", status, body)
	}
	if status, _, _ := s.As(key.Secret).Do(t, "GET", "/v1/tools", "", ""); status != 401 {
		t.Errorf("the revoked key gets %d", status)
	}
}

// A key that administers keys must not be a way to more than it has.
func TestAKeyOfKeysIsNoWayUp(t *testing.T) {
	s := servertest.Start(t, nil)
	clerk := s.As(s.Key(t, identity.KeySpec{Name: "clerk", Scopes: identity.Scopes{"keys:admin", "results:read", "tools:call:Tiny.*"}, Tenant: "acme", Actor: "clerk"}))
	for _, test := range []struct {
		name, body string
		want       int
		pointer    string
	}{
		{"less", `{"name":"n","scopes":["results:read"]}`, 201, ""},
		{"a part of a pattern", `{"name":"n","scopes":["tools:call:Tiny.Run"]}`, 201, ""},
		{"its own actor", `{"name":"n","scopes":["results:read"],"tenant":"acme","actor":"clerk"}`, 201, ""},
		{"an administrator", `{"name":"n","scopes":["admin"]}`, 403, "/scopes"},
		{"another scope", `{"name":"n","scopes":["results:read","resources:read"]}`, 403, "/scopes"},
		{"a wider pattern", `{"name":"n","scopes":["tools:call:*"]}`, 403, "/scopes"},
		{"another tenant", `{"name":"n","scopes":["results:read"],"tenant":"default"}`, 403, "/tenant"},
		{"another actor", `{"name":"n","scopes":["results:read"],"actor":"ada"}`, 403, "/actor"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, key, answer := makeKey(t, clerk, test.body)
			if status != test.want || !strings.Contains(answer, test.pointer) {
				t.Errorf("got %d, want %d at %s: %s", status, test.want, test.pointer, answer)
			}
			if status == 201 && key.Owner.Tenant != "acme" {
				t.Errorf("the key is of %s", key.Owner.Tenant)
			}
		})
	}
	for _, test := range []struct {
		name string
		spec identity.KeySpec
		want int
	}{
		{"of another tenant", identity.KeySpec{Name: "x", Scopes: identity.Scopes{"results:read"}, Tenant: "other"}, 404},
		{"that can more", identity.KeySpec{Name: "x", Scopes: identity.Scopes{"admin"}, Tenant: "acme"}, 404},
		{"that can less", identity.KeySpec{Name: "x", Scopes: identity.Scopes{"results:read"}, Tenant: "acme"}, 204},
	} {
		t.Run("a key "+test.name, func(t *testing.T) {
			key, _, err := s.Keys.Add(t.Context(), test.spec)
			if err != nil {
				t.Fatal(err)
			}
			_, _, list := clerk.Do(t, "GET", "/v1/keys", "", "")
			if seen := strings.Contains(string(list), key.ID); seen != (test.want == 204) {
				t.Errorf("listed: %v", seen)
			}
			if status, _, _ := clerk.Do(t, "DELETE", "/v1/keys/"+key.ID, "", ""); status != test.want {
				t.Errorf("revoking: %d, want %d", status, test.want)
			}
		})
	}
}

func TestWrongRequestsForKeys(t *testing.T) {
	s := servertest.Start(t, nil)
	for _, test := range []struct {
		name, body string
		pointer    string
	}{
		{"no object", `[]`, ""},
		{"no name", `{"scopes":["admin"]}`, ""},
		{"no scopes", `{"name":"n"}`, ""},
		{"a scope that is none", `{"name":"n","scopes":["root"]}`, ""},
		{"scopes that are text", `{"name":"n","scopes":"admin"}`, "/scopes"},
		{"a scope that is a number", `{"name":"n","scopes":[1]}`, "/scopes"},
		{"a name that is a number", `{"name":1,"scopes":["admin"]}`, "/name"},
		{"a time without a zone", `{"name":"n","scopes":["admin"],"expiresAt":"2030-01-01"}`, "/expiresAt"},
		{"a time that has passed", `{"name":"n","scopes":["admin"],"expiresAt":"2000-01-01T00:00:00Z"}`, ""},
		{"an unknown member", `{"name":"n","scopes":["admin"],"secret":"x"}`, "/secret"},
		{"a member twice", `{"name":"n","name":"m","scopes":["admin"]}`, "/name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, _, answer := s.Do(t, "POST", "/v1/keys", "application/json", test.body)
			if status != 400 || !strings.Contains(string(answer), `"pointer":"`+test.pointer) && test.pointer != "" {
				t.Errorf("got %d %s, want 400 at %q", status, answer, test.pointer)
			}
		})
	}
}

// fullDB is a database whose disk is full on demand.
type fullDB struct {
	kv.DB
	full atomic.Bool
}

func (d *fullDB) Apply(b *kv.Batch) error {
	if d.full.Load() {
		return fmt.Errorf("apply: %w", kv.ErrNoSpace)
	}
	return d.DB.Apply(b)
}

// TestAFullDiskRefusesKeysWithARetry: making and revoking answered 500.
func TestAFullDiskRefusesKeysWithARetry(t *testing.T) {
	db := &fullDB{DB: kv.NewMemory()}
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) {
		keys, err := identity.Open(db, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.API.KeyStore = keys
	}})
	status, key, answer := makeKey(t, s, `{"name":"n","scopes":["tools:list"]}`)
	if status != 201 {
		t.Fatalf("got %d %s", status, answer)
	}
	db.full.Store(true)
	refused := func(method, path, contentType, body string) {
		t.Helper()
		status, header, answer := s.Do(t, method, path, contentType, body)
		if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(string(answer), "disk") {
			t.Errorf("%s %s: got %d %s (Retry-After %q), want 503", method, path, status, answer, header.Get("Retry-After"))
		}
	}
	refused("POST", "/v1/keys", "application/json", `{"name":"n","scopes":["tools:list"]}`)
	refused("DELETE", "/v1/keys/"+key.ID, "", "")
	db.full.Store(false)
	if status, _, answer := s.Do(t, "DELETE", "/v1/keys/"+key.ID, "", ""); status != 204 {
		t.Errorf("with space again: %d %s", status, answer)
	}
}
