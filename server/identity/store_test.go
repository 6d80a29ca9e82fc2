package identity

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/internal/kv/kvtest"
)

var start = time.Date(2030, 1, 2, 3, 4, 5, 678_912_345, time.UTC)

func open(t testing.TB, db kv.DB, opts *Options) *Store {
	t.Helper()
	s, err := Open(db, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t testing.TB, s *Store, spec KeySpec) (Key, string) {
	t.Helper()
	key, secret, err := s.Add(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return key, secret
}

func reader(name string) KeySpec {
	return KeySpec{Name: name, Scopes: Scopes{ScopeResultsRead}}
}

// check says what a secret is answered with: the name of its key, or an error.
func check(s *Store, secret string) string {
	who, err := s.Authenticate(context.Background(), secret)
	switch {
	case err == nil:
		return who.Name
	case who != nil:
		return "an identity beside " + err.Error()
	}
	for _, known := range []error{ErrUnknown, ErrExpired, ErrRevoked} {
		if err == known {
			return err.Error()
		}
	}
	return "another error: " + err.Error()
}

func TestAddAndAuthenticate(t *testing.T) {
	s := open(t, kv.NewMemory(), &Options{Now: func() time.Time { return start }})
	key, secret := add(t, s, KeySpec{
		Name: "Nova's agent", Tenant: "acme", Actor: "nova", ActorType: abi.ActorAgent,
		Scopes: Scopes{"tools:call:Schedule*", ScopeToolsList, ScopeToolsList}, ExpiresAt: start.Add(time.Hour),
	})
	if want := regexp.MustCompile(`^vcp_[0-9A-Z]{26}_[0-9A-Za-z_-]{43}$`); !want.MatchString(secret) {
		t.Errorf("the secret %q has not the form %s", secret, want)
	}
	if want := "key_" + secret[4:30]; key.ID != want {
		t.Errorf("the key is %s, want %s", key.ID, want)
	}
	who, err := s.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	want := &Identity{
		KeyID: key.ID, Name: "Nova's agent", Scopes: Scopes{"tools:call:Schedule*", ScopeToolsList},
		Owner: abi.Owner{Tenant: "acme", Actor: "nova"}, ActorType: abi.ActorAgent,
	}
	if !reflect.DeepEqual(who, want) {
		t.Errorf("the identity is %+v, want %+v", who, want)
	}
	if got := who.Viewer(); got.Admin || !got.MayRead(want.Owner) || got.MayRead(abi.Owner{Tenant: "acme", Actor: "eve"}) {
		t.Errorf("the viewer is %+v", got)
	}
	if got := who.Actor(); got.Type != abi.ActorAgent || *got.ID != "nova" || got.Maid != nil {
		t.Errorf("the actor is %+v", got)
	}
	if key.CreatedAt.Nanosecond() != 678_000_000 {
		t.Errorf("made at %v, want whole milliseconds", key.CreatedAt)
	}
}

func TestDefaults(t *testing.T) {
	s := open(t, kv.NewMemory(), nil)
	one, _ := add(t, s, reader("one"))
	two, _ := add(t, s, reader("two"))
	if one.Owner == two.Owner || one.Owner != (abi.Owner{Tenant: DefaultTenant, Actor: one.ID}) || one.ActorType != abi.ActorUser {
		t.Errorf("owners %v and %v, type %s", one.Owner, two.Owner, one.ActorType)
	}
	var nobody *Identity
	if v := nobody.Viewer(); v.Admin || v.MayRead(one.Owner) || nobody.Actor() != nil {
		t.Errorf("nobody is %+v", v)
	}
}

func TestWrongSecrets(t *testing.T) {
	s := open(t, kv.NewMemory(), nil)
	_, secret := add(t, s, reader("right"))
	_, other := add(t, s, reader("other"))
	tests := []struct{ name, secret, want string }{
		{"right", secret, "right"},
		{"empty", "", ErrUnknown.Error()},
		{"prefix", "vcp_", ErrUnknown.Error()},
		{"no random part", secret[:31], ErrUnknown.Error()},
		{"cut", secret[:len(secret)-1], ErrUnknown.Error()},
		{"longer", secret + "A", ErrUnknown.Error()},
		{"another key's random part", secret[:31] + other[31:], ErrUnknown.Error()},
		{"letter case", strings.ToLower(secret), ErrUnknown.Error()},
		{"space", secret + " ", ErrUnknown.Error()},
		{"the id", "key_" + secret[4:30], ErrUnknown.Error()},
		{"unknown id", "vcp_00000000000000000000000000" + secret[30:], ErrUnknown.Error()},
		{"NUL", secret + "\x00", ErrUnknown.Error()},
		{"huge", strings.Repeat(secret, 100_000), ErrUnknown.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(s, tt.secret); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	s := open(t, kv.NewMemory(), &Options{Now: func() time.Time { return start }})
	good := Scopes{ScopeToolsList}
	tests := []struct {
		name string
		spec KeySpec
		want string
	}{
		{"no name", KeySpec{Scopes: good}, "the name is empty"},
		{"long name", KeySpec{Name: strings.Repeat("名", 101), Scopes: good}, "longer than 100 characters"},
		{"line feed in the name", KeySpec{Name: "a\nb", Scopes: good}, "cannot be printed"},
		{"escape in the name", KeySpec{Name: "a\x1b[31m", Scopes: good}, "cannot be printed"},
		{"reversed text", KeySpec{Name: "a\u202eb", Scopes: good}, "cannot be printed"},
		{"name of spaces", KeySpec{Name: "  ", Scopes: good}, "space around it"},
		{"name not UTF-8", KeySpec{Name: "\xff", Scopes: good}, "not UTF-8"},
		{"no scope", KeySpec{Name: "n"}, "without a scope"},
		{"unknown scope", KeySpec{Name: "n", Scopes: Scopes{"amdin"}}, `did you mean "admin"?`},
		{"many scopes", KeySpec{Name: "n", Scopes: make(Scopes, 65)}, "at most 64 scopes"},
		{"tenant", KeySpec{Name: "n", Scopes: good, Tenant: "a\x00"}, "the tenant has a character"},
		{"actor", KeySpec{Name: "n", Scopes: good, Actor: " a"}, "the actor has space"},
		{"actor type", KeySpec{Name: "n", Scopes: good, ActorType: "root"}, "actor type must be one of"},
		{"expired", KeySpec{Name: "n", Scopes: good, ExpiresAt: start}, "in the past"},
		{"too late", KeySpec{Name: "n", Scopes: good, ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "9999"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, secret, err := s.Add(t.Context(), tt.spec)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want) || secret != "" || key.ID != "" {
				t.Errorf("Add = %v, %q, %v, want ErrInvalid with %q", key, secret, err, tt.want)
			}
		})
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("there are keys: %v, %v", list, err)
	}
	if _, _, err := s.Add(t.Context(), KeySpec{Name: strings.Repeat("名", 100), Scopes: good}); err != nil {
		t.Errorf("a name of 100 characters is refused: %v", err)
	}
}

func TestExpiry(t *testing.T) {
	now := start
	s := open(t, kv.NewMemory(), &Options{Now: func() time.Time { return now }})
	spec := reader("brief")
	spec.ExpiresAt = start.Add(time.Minute)
	key, secret := add(t, s, spec)
	for _, step := range []struct {
		at   time.Time
		want string
	}{
		{key.ExpiresAt.Add(-time.Nanosecond), "brief"},
		{key.ExpiresAt, ErrExpired.Error()},
		{start.AddDate(100, 0, 0), ErrExpired.Error()},
	} {
		now = step.at
		if got := check(s, secret); got != step.want {
			t.Errorf("at %v: %s, want %s", step.at, got, step.want)
		}
		// Only who has the secret learns that the key has expired.
		if got := check(s, secret[:len(secret)-1]+"?"); got != ErrUnknown.Error() {
			t.Errorf("a wrong secret at %v: %s", step.at, got)
		}
	}
}

func TestRevoke(t *testing.T) {
	now := start
	s := open(t, kv.NewMemory(), &Options{Now: func() time.Time { return now }})
	key, secret := add(t, s, reader("one"))
	_, other := add(t, s, reader("two"))
	for range 3 {
		if err := s.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		if got := check(s, secret); got != ErrRevoked.Error() {
			t.Errorf("revoked: %s", got)
		}
		now = now.Add(time.Hour)
	}
	if got := check(s, other); got != "two" {
		t.Errorf("the other key: %s", got)
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("the list is %v, %v", list, err)
	}
	for _, k := range list {
		if want := stamp(start); k.ID == key.ID && !k.RevokedAt.Equal(want) || k.ID != key.ID && !k.RevokedAt.IsZero() {
			t.Errorf("%s is revoked at %v, the first revocation of %s was at %v", k.Name, k.RevokedAt, key.Name, want)
		}
	}
	for _, id := range []string{"", "key_", key.ID + "0", strings.TrimPrefix(key.ID, "key_"), "key_00000000000000000000000000", other} {
		err := s.Revoke(t.Context(), id)
		if !errors.Is(err, ErrNotFound) || id != "" && strings.Contains(err.Error(), id) {
			t.Errorf("Revoke(%q) = %v, want ErrNotFound without the id", id, err)
		}
	}
}

func TestBootstrap(t *testing.T) {
	db := kv.NewMemory()
	s := open(t, db, nil)
	secret, made, err := s.Bootstrap(t.Context())
	if err != nil || !made {
		t.Fatalf("the first start: %v, %v", made, err)
	}
	who, err := s.Authenticate(t.Context(), secret)
	if err != nil || !who.Admin || !who.Viewer().Admin || who.Name != "first administrator" || !who.Scopes.Allow(ScopeKeysAdmin) {
		t.Errorf("the first administrator is %+v, %v", who, err)
	}
	if err := s.Revoke(t.Context(), who.KeyID); err != nil {
		t.Fatal(err)
	}
	for _, again := range []*Store{s, open(t, db, nil)} {
		if secret, made, err := again.Bootstrap(t.Context()); err != nil || made || secret != "" {
			t.Errorf("a later start: %q, %v, %v", secret, made, err)
		}
	}
}

func TestStatic(t *testing.T) {
	for _, bad := range []string{"", strings.Repeat("a", 31), strings.Repeat("a", 513), strings.Repeat("a", 31) + " ", strings.Repeat("é", 32), strings.Repeat("a", 40) + "\n"} {
		if k, err := Static(bad); err == nil || k != nil || len(bad) > 1 && strings.Contains(err.Error(), bad) {
			t.Errorf("Static of %d bytes = %v, %v", len(bad), k, err)
		}
	}
	const secret = "correct-horse-battery-staple-0123456789"
	k, err := Static(secret)
	if err != nil {
		t.Fatal(err)
	}
	db := kv.NewMemory()
	s := open(t, db, &Options{Static: k})
	if _, made, err := s.Bootstrap(t.Context()); made || err != nil {
		t.Errorf("Bootstrap beside a static key: %v, %v", made, err)
	}
	_, ordinary := add(t, s, reader("ordinary"))
	for _, tt := range []struct{ secret, want string }{
		{secret, "static administrator"}, {ordinary, "ordinary"}, {secret[1:], ErrUnknown.Error()}, {"", ErrUnknown.Error()},
	} {
		if got := check(s, tt.secret); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.secret, got, tt.want)
		}
	}
	if who, err := k.Authenticate(t.Context(), secret); err != nil || !who.Admin || who.KeyID != StaticKeyID {
		t.Errorf("alone: %+v, %v", who, err)
	}
	if who, err := k.Authenticate(t.Context(), secret+"x"); err != ErrUnknown || who != nil {
		t.Errorf("alone and wrong: %+v, %v", who, err)
	}
	if got := kvtest.Keys(t, db, ""); len(got) != 1 {
		t.Errorf("the store has %v, want the ordinary key alone", got)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, k); got != "static key" {
			t.Errorf("printed with %s it is %q", verb, got)
		}
	}
}

func TestReopen(t *testing.T) {
	dir := t.TempDir()
	db, err := kv.OpenBadger(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := start
	opts := &Options{Now: func() time.Time { return now }}
	s := open(t, db, opts)
	spec := reader("brief")
	spec.ExpiresAt = start.Add(time.Hour)
	_, brief := add(t, s, spec)
	now = now.Add(time.Second)
	gone, revoked := add(t, s, reader("gone"))
	now = now.Add(time.Minute)
	_, used := add(t, s, KeySpec{Name: "used", Scopes: Scopes{"tools:call:A*", ScopeAdmin}, Tenant: "t", Actor: "a", ActorType: abi.ActorNode})
	check(s, used)
	if err := errors.Join(s.Revoke(t.Context(), gone.ID), s.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	before, _ := s.List(t.Context())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	if db, err = kv.OpenBadger(dir, nil); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s = open(t, db, opts)
	after, err := s.List(t.Context())
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("the keys were\n%+v\nand are\n%+v, %v", before, after, err)
	}
	if !after[2].LastUsedAt.Equal(now.Truncate(time.Minute)) || !after[0].LastUsedAt.IsZero() {
		t.Errorf("last used at %v and %v", after[2].LastUsedAt, after[0].LastUsedAt)
	}
	for secret, want := range map[string]string{brief: "brief", revoked: ErrRevoked.Error(), used: "used"} {
		if got := check(s, secret); got != want {
			t.Errorf("after reopening: %s, want %s", got, want)
		}
	}
	now = start.Add(time.Hour)
	if got := check(s, brief); got != ErrExpired.Error() {
		t.Errorf("an hour later: %s", got)
	}
}

func TestOpenRefusesRows(t *testing.T) {
	const id = "key/key_01JDZ3V7Q8K5M2N4P6R8T0W2Y4"
	hash := `"` + strings.Repeat("A", 43) + `="`
	tests := []struct{ name, key, value, want string }{
		{"a newer version", id, `{"v":2,"sha256":` + hash + `}`, "version 2"},
		{"no version", id, `{"sha256":` + hash + `}`, "version 0"},
		{"not JSON", id, `{`, "damaged"},
		{"empty", id, ``, "damaged"},
		{"no hash", id, `{"v":1}`, "its hash has 0 bytes"},
		{"short hash", id, `{"v":1,"sha256":"AAAA"}`, "its hash has 3 bytes"},
		{"no id", "key/other", `{"v":1,"sha256":` + hash + `}`, "no key's row"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := kv.NewMemory()
			kvtest.Set(t, db, tt.key, tt.value)
			s, err := Open(db, nil)
			if err == nil || s != nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "AAAA") {
				t.Errorf("Open = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// A scope of a later program, in a row of this version, allows nothing here.
func TestUnknownScopeInARowAllowsNothing(t *testing.T) {
	who := identify(&Key{Scopes: Scopes{"admin:all", "tools:call", "*"}})
	if who.Admin || who.Scopes.AllowTool("A", "b") || who.Scopes.Allow(ScopeStatsRead) {
		t.Errorf("%+v", who)
	}
}

func TestSecretsStayInside(t *testing.T) {
	var log bytes.Buffer
	db := kv.NewMemory()
	s := open(t, db, &Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	key, secret := add(t, s, reader("careful"))
	who, err := s.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := s.List(t.Context())
	raw, err := json.Marshal(map[string]any{"list": list, "key": key, "identity": who})
	if err != nil {
		t.Fatal(err)
	}
	_, wrong := s.Authenticate(t.Context(), secret+"x")
	texts := []string{
		string(raw), fmt.Sprintf("%+v %#v %+v %+v", list, who, s, key), wrong.Error(),
		fmt.Sprint(s.Revoke(t.Context(), secret), s.Revoke(t.Context(), key.ID)), log.String(),
	}
	if !strings.Contains(log.String(), key.ID) {
		t.Errorf("the log does not tell of the key: %s", log.String())
	}
	var rows strings.Builder
	if err := db.Scan(nil, func(k, v []byte) bool { fmt.Fprintf(&rows, "%s %s\n", k, v); return true }); err != nil {
		t.Fatal(err)
	}
	hash := digestOf(secret)
	rest := secret[31:]
	for _, text := range append(texts, rows.String()) {
		if strings.Contains(text, rest) {
			t.Errorf("the secret is in %s", text)
		}
	}
	for _, text := range texts {
		if strings.Contains(text, hex.EncodeToString(hash[:])) || strings.Contains(text, fmt.Sprint(hash)) ||
			strings.Contains(strings.ToLower(text), "sha256") {
			t.Errorf("the hash is in %s", text)
		}
	}
}

func TestKeepsNothingOfTheCallersBuffers(t *testing.T) {
	s := open(t, kv.NewMemory(), nil)
	spec := KeySpec{Name: "kept", Scopes: Scopes{ScopeToolsList, ScopeStatsRead}, Actor: "a"}
	key, _ := add(t, s, spec)
	spec.Scopes[0], key.Scopes[0] = ScopeAdmin, ScopeAdmin
	list, _ := s.List(t.Context())
	list[0].Scopes[0] = ScopeAdmin
	list, _ = s.List(t.Context())
	if list[0].Scopes.Admin() {
		t.Error("a caller's slice is the store's")
	}
}
