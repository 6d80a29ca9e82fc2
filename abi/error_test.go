package abi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"vcphost/abi"
)

func TestErrorIsAndUnwrap(t *testing.T) {
	cause := errors.New("disk gone")
	err := abi.NewError(abi.CodeUpstreamError, "asked %d times", 3).WithCause(cause)
	wrapped := fmt.Errorf("fetch rates: %w", err)
	for _, test := range []struct {
		name   string
		target error
		want   bool
	}{
		{"same code", abi.NewError(abi.CodeUpstreamError, "another message"), true},
		{"other code", abi.NewError(abi.CodeInternalError, "asked 3 times"), false},
		{"cause", cause, true},
		{"something else", errors.New("disk gone"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := errors.Is(wrapped, test.target); got != test.want {
				t.Errorf("errors.Is = %v, want %v", got, test.want)
			}
		})
	}
	if got := abi.CodeOf(wrapped); got != abi.CodeUpstreamError {
		t.Errorf("CodeOf = %q", got)
	}
	if got := abi.CodeOf(cause); got != "" {
		t.Errorf("CodeOf of a plain error = %q", got)
	}
	if got := err.Error(); got != "UPSTREAM_ERROR: asked 3 times" {
		t.Errorf("Error() = %q", got)
	}
}

func TestErrorComplete(t *testing.T) {
	for _, test := range []struct {
		name, wire string
		category   abi.Category
		retryable  bool
	}{
		{"all from the table", `{"code":"UPSTREAM_ERROR","message":"m"}`, abi.CategoryDependency, true},
		{"null is absent", `{"code":"UPSTREAM_ERROR","message":"m","category":null,"retryable":null}`, abi.CategoryDependency, true},
		{"false is a statement", `{"code":"UPSTREAM_ERROR","message":"m","retryable":false}`, abi.CategoryDependency, false},
		{"true is a statement", `{"code":"X.Y","message":"m","retryable":true}`, abi.CategoryDomain, true},
		{"the category stays", `{"code":"X.Y","message":"m","category":"dependency"}`, abi.CategoryDependency, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err abi.Error
			if e := json.Unmarshal([]byte(test.wire), &err); e != nil {
				t.Fatalf("unmarshal: %v", e)
			}
			err.Complete()
			if err.Category != test.category || err.Retryable != test.retryable {
				t.Errorf("got %s, retryable %v; want %s, %v", err.Category, err.Retryable, test.category, test.retryable)
			}
		})
	}
}

func TestErrorOnTheWire(t *testing.T) {
	err := abi.NewError(abi.CodeInvalidArgument, "no").WithTarget("time").
		WithDetails(map[string]string{"expected": "RFC 3339"}).WithCause(errors.New("secret path"))
	raw, e := json.Marshal(err)
	if e != nil {
		t.Fatalf("marshal: %v", e)
	}
	want := `{"code":"INVALID_ARGUMENT","message":"no","category":"validation","retryable":false,"target":"time","details":{"expected":"RFC 3339"},"cause":null}`
	if string(raw) != want {
		t.Errorf("got %s, want %s", raw, want)
	}
	var again abi.Error
	if e := json.Unmarshal([]byte(strings.Replace(want, `"cause":null`, `"cause":{"code":"X"}`, 1)), &again); e != nil {
		t.Fatalf("unmarshal: %v", e)
	}
	if again.Unwrap() != nil {
		t.Errorf("a cause came in over the wire")
	}
	if bare, _ := json.Marshal(abi.Error{Code: "X.Y"}); !strings.Contains(string(bare), `"target":null,"details":null,"cause":null`) {
		t.Errorf("an error without target and details is %s", bare)
	}
	unprintable := abi.NewError("X.Y", "m").WithDetails(map[string]any{"f": func() {}})
	if !strings.HasPrefix(string(unprintable.Details), `{"unprintable":`) {
		t.Errorf("details that cannot be written became %s", unprintable.Details)
	}
}
