package hosttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"vcphost/abi"
)

// Pattern fills p with the bytes that the pattern has from offset on: byte i is
// the exclusive or of the three lowest bytes of i.
func Pattern(offset int64, p []byte) {
	for i := range p {
		at := offset + int64(i)
		p[i] = byte(at ^ at>>8 ^ at>>16)
	}
}

func pattern(size int) []byte {
	p := make([]byte, size)
	Pattern(0, p)
	return p
}

func digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}

// only gives the one resource of a result, which data references.
func only(t testing.TB, result *abi.Result, reference abi.Reference) abi.Resource {
	t.Helper()
	if len(result.Resources) != 1 || result.Resources[0].ID != reference.Resource {
		t.Fatalf("data references %q, and the resources are %+v", reference.Resource, result.Resources)
	}
	return result.Resources[0]
}

func (s *suite) testResourceOut(t *testing.T) {
	for _, test := range []struct{ size, piece int }{
		{0, 1}, {1, 1}, {1000, 7}, {1<<20 + 1, 64 << 10}, {5<<20 + 3, 1 << 20},
	} {
		t.Run(fmt.Sprintf("%d in pieces of %d", test.size, test.piece), func(t *testing.T) {
			result := s.run(t, "Stream", map[string]any{
				"bytes": test.size, "piece": test.piece, "fileName": "a/b/../pattern.bin", "mimeType": "application/x-pattern",
			})
			found := data[struct{ File abi.Reference }](t, result)
			resource, want := only(t, result, found.File), pattern(test.size)
			if resource.SizeBytes != int64(test.size) || resource.SHA256 != digest(want) {
				t.Errorf("got %d bytes with hash %s, want %d with %s", resource.SizeBytes, resource.SHA256, test.size, digest(want))
			}
			if resource.FileName != "pattern.bin" || resource.Role != abi.RoleOutput || resource.Source.Provider != PluginName {
				t.Errorf("got resource %+v", resource)
			}
			if got := s.Bytes(t, resource.ID); !bytes.Equal(got, want) {
				t.Errorf("the %d bytes that were read back differ from the %d that were written", len(got), len(want))
			}
			stranger := abi.Viewer{Owner: abi.Owner{Tenant: s.Owner.Tenant, Actor: "stranger"}}
			if _, err := s.Resources.Describe(context.Background(), stranger, resource.ID); abi.CodeOf(err) != abi.CodeFileNotFound {
				t.Errorf("a stranger sees the resource: %v", err)
			}
		})
	}
}

func (s *suite) testResourceIn(t *testing.T) {
	for _, test := range []struct{ size, piece int }{
		{0, 16}, {1, 1}, {1000, 7}, {4<<20 + 5, 256 << 10},
	} {
		t.Run(fmt.Sprintf("%d in pieces of %d", test.size, test.piece), func(t *testing.T) {
			content := pattern(test.size)
			id := s.Import(t, "input.bin", content)
			result := s.run(t, "Read", map[string]any{"input": abi.Reference{Resource: id}, "piece": test.piece})
			got := data[struct {
				SizeBytes int64
				SHA256    string
			}](t, result)
			if got.SizeBytes != int64(test.size) || got.SHA256 != digest(content) {
				t.Errorf("the plugin read %d bytes with hash %s, want %d with %s", got.SizeBytes, got.SHA256, test.size, digest(content))
			}
			if len(result.Resources) > 0 {
				t.Errorf("an input that data does not mention is listed: %+v", result.Resources)
			}
		})
	}
}

func (s *suite) testResourceThrough(t *testing.T) {
	content := pattern(3<<20 + 11)
	id := s.Import(t, "input.bin", content)
	result := s.run(t, "Copy", map[string]any{"input": abi.Reference{Resource: id}})
	copied := only(t, result, data[struct{ Copy abi.Reference }](t, result).Copy)
	if copied.ID == id || copied.SHA256 != digest(content) || !bytes.Equal(s.Bytes(t, copied.ID), content) {
		t.Errorf("got copy %+v of %s", copied, id)
	}
}

// testResourceNotGiven: a plugin opens what the arguments reference and nothing
// else, not even what the caller owns.
func (s *suite) testResourceNotGiven(t *testing.T) {
	id := s.Import(t, "secret.txt", []byte("not for you"))
	for _, wanted := range []string{id, "res_0000000000000000000000000A", "", "../x", "out"} {
		if data[struct{ Opened bool }](t, s.run(t, "Open", map[string]any{"id": wanted})).Opened {
			t.Errorf("the plugin opened %q, which it was not given", wanted)
		}
	}
	result := s.run(t, "Read", map[string]any{"input": abi.Reference{Resource: "res_0000000000000000000000000A"}, "piece": 10})
	mustFail(t, result, abi.StatusError, abi.CodeFileNotFound)
}

func (s *suite) testResourceUnfinished(t *testing.T) {
	result := s.run(t, "Unfinished", nil)
	mustSucceed(t, result)
	if len(result.Resources) > 0 {
		t.Errorf("an unfinished resource is published: %+v", result.Resources)
	}
	if !slices.ContainsFunc(result.Warnings, func(w abi.Warning) bool {
		return w.Code == abi.WarningResourceUnfinished && w.Target == "half"
	}) {
		t.Errorf("got warnings %+v, want %s for half", result.Warnings, abi.WarningResourceUnfinished)
	}
	s.works(t)
}

// testResourceLimits: a limit that was hit stands, whatever the plugin makes of
// it.
func (s *suite) testResourceLimits(t *testing.T) {
	for _, test := range []struct {
		name             string
		resources, bytes int
		limit            string
	}{
		{"bytes of one", 1, MaxResourceBytes + 1, "maxResourceBytes"},
		{"bytes of all", 3, MaxResourceBytes/3 + 1, "maxResourceBytes"},
		{"number", MaxResources + 1, 10, "maxResources"},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := s.run(t, "Flood", map[string]any{"resources": test.resources, "bytes": test.bytes})
			mustFail(t, result, abi.StatusError, abi.CodeResourceTooLarge)
			if !bytes.Contains(result.Error.Details, []byte(`"`+test.limit+`"`)) {
				t.Errorf("got details %s, want the limit %s", result.Error.Details, test.limit)
			}
			s.works(t)
		})
	}
	result := s.run(t, "Flood", map[string]any{"resources": MaxResources, "bytes": MaxResourceBytes / MaxResources})
	mustSucceed(t, result)
	if got := len(result.Resources); got != MaxResources {
		t.Errorf("got %d resources at the limit, want %d", got, MaxResources)
	}
}

// testResourceOfAFailedCall: nothing of a call that failed can be read, and
// nothing of it stays in the store.
func (s *suite) testResourceOfAFailedCall(t *testing.T) {
	before := s.blobs(t)
	mustFail(t, s.run(t, "Flood", map[string]any{"resources": MaxResources + 1, "bytes": 100_000}), abi.StatusError, abi.CodeResourceTooLarge)
	if after := s.blobs(t); after != before {
		t.Errorf("the store holds %d keys of resources and blobs, %d before the failed call", after, before)
	}
}

// blobs counts the keys that resources and blobs have in the store.
func (s *suite) blobs(t *testing.T) int {
	t.Helper()
	count := 0
	for _, prefix := range []string{"res/", "blob"} {
		err := s.DB.Scan([]byte(prefix), func(_, _ []byte) bool { count++; return true })
		if err != nil {
			t.Fatal(err)
		}
	}
	return count
}
