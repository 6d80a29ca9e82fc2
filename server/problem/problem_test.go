package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestKinds(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[Kind]bool{}
	status := 0
	for _, info := range Kinds() {
		if !form.MatchString(string(info.Kind)) || seen[info.Kind] || info.Title == "" || info.Description == "" {
			t.Errorf("bad entry %+v", info)
		}
		seen[info.Kind] = true
		if info.Status < status || info.Status < 400 {
			t.Errorf("%s is out of order", info.Kind)
		}
		status = info.Status
		if Lookup(info.Kind) != info {
			t.Errorf("Lookup(%s) = %+v", info.Kind, Lookup(info.Kind))
		}
	}
	if len(seen) != 18 {
		t.Errorf("%d kinds, want 18: types are stable", len(seen))
	}
	if got := Lookup("new"); got.Kind != KindInternal {
		t.Errorf("an unknown kind is %+v", got)
	}
}

func TestConstructors(t *testing.T) {
	tests := []struct {
		p      *Problem
		kind   Kind
		status int
	}{
		{BadRequest("x"), KindBadRequest, 400},
		{InvalidJSON("x"), KindInvalidJSON, 400},
		{Unauthorized(), KindUnauthorized, 401},
		{Forbidden("x"), KindForbidden, 403},
		{NotFound("x"), KindNotFound, 404},
		{MethodNotAllowed("x"), KindMethodNotAllowed, 405},
		{NotAcceptable("x"), KindNotAcceptable, 406},
		{Timeout("x"), KindTimeout, 408},
		{Conflict("x"), KindConflict, 409},
		{PreconditionFailed("x"), KindPreconditionFailed, 412},
		{PayloadTooLarge("x"), KindPayloadTooLarge, 413},
		{URITooLong("x"), KindURITooLong, 414},
		{UnsupportedMediaType("x"), KindUnsupportedMediaType, 415},
		{RangeNotSatisfiable("x"), KindRangeNotSatisfiable, 416},
		{TooManyRequests(time.Second, "x"), KindTooManyRequests, 429},
		{HeaderTooLarge("x"), KindHeaderTooLarge, 431},
		{Internal(), KindInternal, 500},
		{Unavailable(time.Second, "x"), KindUnavailable, 503},
	}
	if len(tests) != len(Kinds()) {
		t.Errorf("%d constructors, %d kinds", len(tests), len(Kinds()))
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			if tt.p.Type != "/problems/"+string(tt.kind) || tt.p.Status != tt.status || tt.p.Title == "" || tt.p.Detail == "" {
				t.Errorf("%+v", tt.p)
			}
		})
	}
}

func TestForStatus(t *testing.T) {
	for status, want := range map[int]Kind{
		400: KindBadRequest, 404: KindNotFound, 405: KindMethodNotAllowed, 418: KindBadRequest, 422: KindBadRequest,
		431: KindHeaderTooLarge, 500: KindInternal, 502: KindInternal, 503: KindUnavailable, 0: KindInternal, 200: KindInternal,
	} {
		if got := ForStatus(status).Type; got != Base+string(want) {
			t.Errorf("ForStatus(%d) is %s, want %s", status, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	tests := []struct {
		name string
		p    *Problem
		want string
	}{
		{"zero", &Problem{}, `{"type":"about:blank","title":"Internal Server Error","status":500}`},
		{
			"everything", &Problem{
				Type: "/problems/x", Title: "T", Status: 418, Detail: "d", Instance: "/i", RequestID: "req_1", Pointer: "/a/0",
				RetryAfter: 1100 * time.Millisecond, Extra: map[string]any{"b": []int{1}, "a": nil},
			},
			`{"type":"/problems/x","title":"T","status":418,"detail":"d","instance":"/i","requestId":"req_1","pointer":"/a/0","retryAfterSeconds":2,"a":null,"b":[1]}`,
		},
		{"no override", (&Problem{Type: "t", Title: "T", Status: 400}).With("status", 200).With("requestId", "forged").With("type", 1).With("retryAfterSeconds", 0), `{"type":"t","title":"T","status":400}`},
		{"values that are no JSON", (&Problem{Type: "t", Title: "T", Status: 400}).With("nan", math.NaN()).With("f", func() {}).With("ok", true).With("\xff", 1), `{"type":"t","title":"T","status":400,"ok":true}`},
		{"a hostile detail", &Problem{Type: "t", Title: "T", Status: 400, Detail: "a\"\r\n\x00<script>\xff"}, `{"type":"t","title":"T","status":400,"detail":"a\"\r\n\u0000\u003cscript\u003e` + "\uFFFD" + `"}`},
		{"time gone by", &Problem{Type: "t", Title: "T", Status: 429, RetryAfter: -time.Second}, `{"type":"t","title":"T","status":429}`},
		{"a moment", &Problem{Type: "t", Title: "T", Status: 429, RetryAfter: 1}, `{"type":"t","title":"T","status":429,"retryAfterSeconds":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.p.Bytes()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			raw, err := json.Marshal(tt.p)
			var a, b any
			if err != nil || json.Unmarshal(raw, &a) != nil || json.Unmarshal(tt.p.Bytes(), &b) != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("json.Marshal = %s, %v", raw, err)
			}
		})
	}
}

func TestLongTextsAreCut(t *testing.T) {
	for _, long := range []string{strings.Repeat("a", 1<<20), strings.Repeat("界", 1<<19), strings.Repeat("\x80", 1<<20), "x" + strings.Repeat("😀", 1<<18)} {
		raw := (&Problem{Detail: long, Instance: long, Pointer: long, RequestID: long}).Bytes()
		if len(raw) > 6*4*maxTextBytes || !json.Valid(raw) || !utf8.Valid(raw) {
			t.Errorf("%.8q… makes %d bytes", long, len(raw))
		}
	}
}

func TestIsAnError(t *testing.T) {
	err := fmt.Errorf("handle: %w", NotFound("no result %q", "tr_1").At("/id"))
	var p *Problem
	if !errors.As(err, &p) || p.Pointer != "/id" || p.Error() != `There is nothing here: no result "tr_1"` {
		t.Errorf("%v", err)
	}
	if got := ForStatus(404).Error(); got != "There is nothing here" {
		t.Error(got)
	}
}
