package hostfunc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"vcphost/internal/kv"
	"vcphost/sandbox/hostfunc"
)

// used is what the store's row says, actual what its entries really have.
func used(t testing.TB, db kv.DB, plugin string) (told, actual uint64) {
	t.Helper()
	raw, err := db.Get([]byte("pluginkvuse/" + plugin))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		t.Fatal(err)
	}
	if err == nil {
		told = binary.BigEndian.Uint64(raw)
	}
	prefix := []byte("pluginkv/" + plugin + "/")
	err = db.Scan(prefix, func(key, value []byte) bool {
		actual += uint64(len(key)-len(prefix)) + uint64(len(value))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return told, actual
}

func kvBench(t testing.TB, db kv.DB, plugin string, quota int64) *bench {
	t.Helper()
	return newBench(t, setup{db: db, grants: hostfunc.Grants{KV: hostfunc.NewKVSpace(db, plugin, quota)}})
}

func TestTheQuotaIsExact(t *testing.T) {
	db := kv.NewMemory()
	b := kvBench(t, db, "Test", 20)
	for _, step := range []struct {
		name       string
		key, value string
		remove     bool
		errno      hostfunc.Errno
		used       uint64
	}{
		{"the first", "a", "1234567", false, hostfunc.OK, 8},
		{"up to the edge", "bb", "1234567890", false, hostfunc.OK, 20},
		{"a byte too many", "c", "", false, hostfunc.ELIMIT, 20},
		{"overwrite with as much", "a", "7654321", false, hostfunc.OK, 20},
		{"overwrite with too much", "a", "12345678", false, hostfunc.ELIMIT, 20},
		{"overwrite with less", "a", "1", false, hostfunc.OK, 14},
		{"overwrite with nothing", "a", "", false, hostfunc.OK, 13},
		{"what is free again", "c", "123456", false, hostfunc.OK, 20},
		{"remove", "bb", "", true, hostfunc.OK, 8},
		{"remove again", "bb", "", true, hostfunc.ENOENT, 8},
		{"remove what never was", "zz", "", true, hostfunc.ENOENT, 8},
		{"more than the quota at once", "x", strings.Repeat("x", 20), false, hostfunc.ELIMIT, 8},
		{"the rest", "bb", "1234567890", false, hostfunc.OK, 20},
	} {
		got := hostfunc.OK
		if step.remove {
			got = b.KVDelete([]byte(step.key))
		} else {
			got = b.KVSet([]byte(step.key), []byte(step.value))
		}
		want(t, step.name, got, step.errno)
		told, actual := used(t, db, "Test")
		if told != step.used || actual != step.used {
			t.Errorf("%s: got %d bytes told, %d really there, want %d", step.name, told, actual, step.used)
		}
	}
	buf := make([]byte, 16)
	want(t, "an empty value", b.KVGet([]byte("a"), buf), 0)
	want(t, "a value after refused overwrites", b.KVGet([]byte("bb"), buf), 10)
	want(t, "its bytes", string(buf[:10]), "1234567890")
	want(t, "failure", b.Failure() == nil, true)
}

func TestKeysAndValuesOfStrangers(t *testing.T) {
	b := kvBench(t, kv.NewMemory(), "Test", 4<<20)
	for _, test := range []struct {
		name  string
		key   string
		errno hostfunc.Errno
	}{
		{"no key", "", hostfunc.EINVAL},
		{"the longest key", strings.Repeat("k", 512), hostfunc.OK},
		{"a longer key", strings.Repeat("k", 513), hostfunc.ELIMIT},
		{"a very long key", strings.Repeat("k", 1<<20), hostfunc.ELIMIT},
		{"zero bytes", "\x00\x00", hostfunc.OK},
		{"not UTF-8", "\xff\xfe", hostfunc.OK},
		{"slashes", "/../Other/key", hostfunc.OK},
	} {
		t.Run(test.name, func(t *testing.T) {
			key := []byte(test.key)
			want(t, "set", b.KVSet(key, []byte("v")), test.errno)
			buf := []byte{0}
			if got := b.KVGet(key, buf); test.errno == hostfunc.OK {
				want(t, "get", got, 1)
				want(t, "value", string(buf), "v")
			} else {
				wantErrno(t, "get", got, test.errno)
			}
			want(t, "delete", b.KVDelete(key), test.errno)
		})
	}
	want(t, "the longest value", b.KVSet([]byte("v"), make([]byte, 1<<20)), hostfunc.OK)
	want(t, "a longer value", b.KVSet([]byte("v"), make([]byte, 1<<20+1)), hostfunc.ELIMIT)
	wantErrno(t, "what is not there", b.KVGet([]byte("none"), nil), hostfunc.ENOENT)
}

func TestAReadThatDoesNotFitWritesNothing(t *testing.T) {
	b := kvBench(t, kv.NewMemory(), "Test", 1000)
	want(t, "set", b.KVSet([]byte("k"), []byte("value")), hostfunc.OK)
	for size, filled := range map[int]string{0: "", 4: "....", 5: "value", 7: "value.."} {
		buf := bytes.Repeat([]byte("."), size)
		want(t, "length", b.KVGet([]byte("k"), buf), 5)
		want(t, "buffer", string(buf), filled)
	}
}

func TestPluginsDoNotShareAStore(t *testing.T) {
	db := kv.NewMemory()
	a, b := kvBench(t, db, "A", 100), kvBench(t, db, "A.B", 100)
	want(t, "set", a.KVSet([]byte("k"), []byte("of A")), hostfunc.OK)
	wantErrno(t, "get of another", b.KVGet([]byte("k"), nil), hostfunc.ENOENT)
	want(t, "delete of another", b.KVDelete([]byte("k")), hostfunc.ENOENT)
	again := kvBench(t, db, "A", 100) // the next process
	want(t, "get of the same", again.KVGet([]byte("k"), nil), 4)
}

// The guest's memory is its own again once a function returned.
func TestNothingOfTheGuestsMemoryIsKept(t *testing.T) {
	b := kvBench(t, kv.NewMemory(), "Test", 100)
	key, value := []byte("key"), []byte("value")
	want(t, "set", b.KVSet(key, value), hostfunc.OK)
	copy(key, "xxx")
	copy(value, "xxxxx")
	buf := make([]byte, 5)
	want(t, "get", b.KVGet([]byte("key"), buf), 5)
	want(t, "value", string(buf), "value")
}

// Calls of one plugin share its store: whatever they do at once, the used bytes
// stay true and within the quota.
func TestTheQuotaUnderConcurrency(t *testing.T) {
	const quota = 2000
	for _, test := range []struct {
		name string
		open func(t *testing.T) kv.DB
	}{
		{"memory", func(*testing.T) kv.DB { return kv.NewMemory() }},
		{"badger", func(t *testing.T) kv.DB {
			db, err := kv.OpenBadger(filepath.Join(t.TempDir(), "store"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			return db
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := test.open(t)
			space := hostfunc.NewKVSpace(db, "Test", quota)
			var wg sync.WaitGroup
			for worker := range 8 {
				b := newBench(t, setup{db: db, grants: hostfunc.Grants{KV: space}})
				random := rand.New(rand.NewPCG(1, uint64(worker)))
				wg.Go(func() {
					for range 100 {
						key := fmt.Appendf(nil, "key-%d", random.IntN(20))
						if random.IntN(3) == 0 {
							b.KVDelete(key)
						} else if got := b.KVSet(key, make([]byte, random.IntN(400))); got != hostfunc.OK && got != hostfunc.ELIMIT {
							t.Errorf("set gave %d", got)
						}
					}
				})
			}
			wg.Wait()
			if told, actual := used(t, db, "Test"); told != actual || actual > quota {
				t.Errorf("got %d bytes told, %d really there, quota %d", told, actual, quota)
			}
		})
	}
}

func TestWithoutGrantsOrAfterTheEnd(t *testing.T) {
	b := newBench(t, setup{})
	wantErrno(t, "get", b.KVGet([]byte("k"), nil), hostfunc.EPERM)
	want(t, "set", b.KVSet([]byte("k"), nil), hostfunc.EPERM)
	want(t, "delete", b.KVDelete([]byte("k")), hostfunc.EPERM)
	wantErrno(t, "config", b.ConfigGet([]byte("k"), nil), hostfunc.EPERM)
	b = kvBench(t, kv.NewMemory(), "Test", 100)
	b.cancel()
	want(t, "set after the end", b.KVSet([]byte("k"), nil), hostfunc.ECANCELED)
	b = kvBench(t, kv.NewMemory(), "Test", 0)
	want(t, "set without a quota", b.KVSet([]byte("k"), nil), hostfunc.ELIMIT)
}

func TestAStoreThatFails(t *testing.T) {
	db := kv.NewMemory()
	b := kvBench(t, db, "Test", 100)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "set", b.KVSet([]byte("k"), []byte("v")), hostfunc.EIO)
	wantErrno(t, "get", b.KVGet([]byte("k"), nil), hostfunc.EIO)
	if !strings.Contains(b.log.String(), "host function failed") {
		t.Errorf("the log does not say why: %s", b.log.String())
	}
}
