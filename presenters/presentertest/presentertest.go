// Package presentertest helps to test presenters: it proves that a presenter
// does not change the result it is given.
package presentertest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"vcphost/abi"
)

// Fingerprint gives a digest of everything that can be reached from result:
// every member, exported or not, every byte of raw JSON, nil told from empty. Of
// a Go error behind an [abi.Error] only its presence counts.
// Two calls give the same fingerprint exactly if nothing was changed between.
func Fingerprint(result *abi.Result) string {
	h := sha256.New()
	write(h, reflect.ValueOf(result))
	return hex.EncodeToString(h.Sum(nil))
}

// Unchanged fails t if present changes result.
func Unchanged(t testing.TB, result *abi.Result, present func()) {
	t.Helper()
	before := Fingerprint(result)
	present()
	if after := Fingerprint(result); after != before {
		t.Errorf("the presenter changed its input: fingerprint %s before, %s after", before, after)
	}
}

// writer is the part of hash.Hash that a fingerprint needs.
type writer interface {
	Write(p []byte) (int, error)
}

// write feeds v to h in a form in which different values differ: each with its
// type, and lengths before contents.
func write(h writer, v reflect.Value) {
	if !v.IsValid() {
		fmt.Fprint(h, "invalid;")
		return
	}
	fmt.Fprintf(h, "%s:", v.Type())
	if at := reflect.TypeFor[time.Time](); v.Type().ConvertibleTo(at) && v.CanInterface() {
		// A time points to its zone, in which the time package keeps a cache.
		fmt.Fprint(h, v.Convert(at).Interface().(time.Time).Format(time.RFC3339Nano), ";")
		return
	}
	switch v.Kind() {
	case reflect.Interface: // the cause of an error, which belongs to others
		fmt.Fprintf(h, "%t;", v.IsNil())
	case reflect.Pointer:
		fmt.Fprintf(h, "%t;", v.IsNil())
		if !v.IsNil() {
			write(h, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			write(h, v.Field(i))
		}
	case reflect.Slice:
		fmt.Fprintf(h, "%t,%d;", v.IsNil(), v.Len())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			_, _ = h.Write(v.Bytes())
			return
		}
		for i := range v.Len() {
			write(h, v.Index(i))
		}
	case reflect.Map:
		fmt.Fprintf(h, "%t,%d;", v.IsNil(), v.Len())
		writeMap(h, v)
	case reflect.String:
		fmt.Fprintf(h, "%d,%s;", v.Len(), v.String())
	default:
		fmt.Fprintf(h, "%v;", v)
	}
}

// writeMap writes the entries in the order of their keys.
func writeMap(h writer, m reflect.Value) {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b)))
	})
	for _, key := range keys {
		write(h, key)
		write(h, m.MapIndex(key))
	}
}
