package signedurl

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"vcphost/internal/kv"
)

func open(t *testing.T, db kv.DB) *Signer {
	t.Helper()
	s, err := Open(db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSignatures(t *testing.T) {
	db := kv.NewMemory()
	s := open(t, db)
	now := time.Unix(1_700_000_000, 500)
	query, err := url.ParseQuery(s.Query("res_A", now.Add(time.Minute)))
	if err != nil {
		t.Fatal(err)
	}
	expires, signature := query.Get("expires"), query.Get("signature")
	other := open(t, kv.NewMemory())
	tests := []struct {
		name                   string
		signer                 *Signer
		id, expires, signature string
		at                     time.Time
		want                   bool
	}{
		{"as made", s, "res_A", expires, signature, now, true},
		{"after opening again", open(t, db), "res_A", expires, signature, now, true},
		{"in its last moment", s, "res_A", expires, signature, now.Truncate(time.Second).Add(time.Minute - 1), true},
		{"expired", s, "res_A", expires, signature, now.Truncate(time.Second).Add(time.Minute), false},
		{"another id", s, "res_B", expires, signature, now, false},
		{"a later expiry", s, "res_A", "1" + expires, signature, now, false},
		{"the same expiry written otherwise", s, "res_A", "0" + expires, signature, now, false},
		{"the line break moved", s, "res_A\n1", expires[1:], signature, now, false},
		{"no expiry", s, "res_A", "", signature, now, false},
		{"no signature", s, "res_A", expires, "", now, false},
		{"a cut signature", s, "res_A", expires, signature[:len(signature)-2], now, false},
		{"trailing bits", s, "res_A", expires, signature[:len(signature)-1] + "_", now, false},
		{"padding", s, "res_A", expires, signature + "=", now, false},
		{"a long expiry", s, "res_A", strings.Repeat("9", 100), signature, now, false},
		{"another directory's key", other, "res_A", expires, signature, now, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			until, ok := test.signer.Verify(test.id, test.expires, test.signature, test.at)
			if ok != test.want || ok && until.Unix() != now.Add(time.Minute).Unix() {
				t.Errorf("got %v until %v", ok, until)
			}
		})
	}
}

func TestADamagedKeyIsNotReplaced(t *testing.T) {
	for name, stored := range map[string]string{
		"no JSON": `{"v":1,"key":"sec`, "a newer version": `{"v":2,"key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`, "short": `{"v":1,"key":"AAAA"}`,
	} {
		t.Run(name, func(t *testing.T) {
			db := kv.NewMemory()
			var batch kv.Batch
			batch.Set([]byte(keyRow), []byte(stored))
			if err := db.Apply(&batch); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(db); err == nil || strings.Contains(err.Error(), "AAAA") || strings.Contains(err.Error(), "sec\"") {
				t.Errorf("got %v", err)
			}
			if raw, err := db.Get([]byte(keyRow)); err != nil || string(raw) != stored {
				t.Errorf("the row is now %q, %v", raw, err)
			}
		})
	}
}
