package hostfunc_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/resources"
	"vcphost/sandbox/hostfunc"
)

func TestDraftsOfStrangers(t *testing.T) {
	for _, test := range []struct {
		name, draft string
		want        hostfunc.Errno // OK: a handle
	}{
		{"the least", `{"id":"a"}`, hostfunc.OK},
		{"everything", `{"id":"a","kind":"image","role":"preview","fileName":"a.png","mimeType":"image/png"}`, hostfunc.OK},
		{"nulls", `{"id":"a","kind":null,"role":null,"fileName":null,"mimeType":null}`, hostfunc.OK},
		{"an id of any script", `{"id":"图 1"}`, hostfunc.OK},
		{"a path as name", `{"id":"a","fileName":"../../etc/passwd"}`, hostfunc.OK},
		{"nothing", ``, hostfunc.EINVAL},
		{"no JSON", `id=a`, hostfunc.EINVAL},
		{"an array", `["a"]`, hostfunc.EINVAL},
		{"no id", `{}`, hostfunc.EINVAL},
		{"an empty id", `{"id":""}`, hostfunc.EINVAL},
		{"a null id", `{"id":null}`, hostfunc.EINVAL},
		{"a number as id", `{"id":1}`, hostfunc.EINVAL},
		{"an id that is not UTF-8", "{\"id\":\"\xff\"}", hostfunc.EINVAL},
		{"a long id", `{"id":"` + strings.Repeat("x", 129) + `"}`, hostfunc.EINVAL},
		{"an id twice", `{"id":"a","id":"b"}`, hostfunc.EINVAL},
		{"an unknown member", `{"id":"a","localPath":"/etc/passwd"}`, hostfunc.EINVAL},
		{"an unknown kind", `{"id":"a","kind":"picture"}`, hostfunc.EINVAL},
		{"a directory", `{"id":"a","kind":"directory"}`, hostfunc.EINVAL},
		{"an unknown role", `{"id":"a","role":"boss"}`, hostfunc.EINVAL},
		{"a media type that is none", `{"id":"a","mimeType":"png"}`, hostfunc.EINVAL},
		{"deep", strings.Repeat(`{"id":`, 100) + `1` + strings.Repeat("}", 100), hostfunc.EINVAL},
		{"long", `{"id":"a","fileName":"` + strings.Repeat("x", 33<<10) + `"}`, hostfunc.ELIMIT},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, setup{})
			got := b.ResourceCreate([]byte(test.draft))
			if test.want == hostfunc.OK {
				want(t, "handle", got, 1)
				return
			}
			wantErrno(t, "errno", got, test.want)
			want(t, "failure", b.Failure() == nil, true)
		})
	}
}

func TestHandles(t *testing.T) {
	b := newBench(t, setup{})
	out := b.ResourceCreate([]byte(`{"id":"out"}`))
	in := b.ResourceOpen([]byte(b.input))
	want(t, "first handle", out, 1)
	want(t, "second handle", in, 2)
	wantErrno(t, "the same id again", b.ResourceCreate([]byte(`{"id":"out"}`)), hostfunc.EINVAL)
	buf := make([]byte, 8)
	for _, handle := range []int32{-1 << 31, -1, 0, 3, 1<<31 - 1} {
		wantErrno(t, fmt.Sprint("write ", handle), b.ResourceWrite(handle, buf), hostfunc.EBADF)
		wantErrno(t, fmt.Sprint("read ", handle), b.ResourceRead(handle, buf), hostfunc.EBADF)
		want(t, fmt.Sprint("size ", handle), b.ResourceSize(handle), int64(hostfunc.EBADF))
		want(t, fmt.Sprint("close ", handle), b.ResourceClose(handle), hostfunc.EBADF)
	}
	wantErrno(t, "write an input", b.ResourceWrite(in, buf), hostfunc.EBADF)
	wantErrno(t, "read an output", b.ResourceRead(out, buf), hostfunc.EBADF)
	want(t, "size of an output", b.ResourceSize(out), int64(hostfunc.EBADF))

	want(t, "write", b.ResourceWrite(out, []byte("abc")), 3)
	want(t, "write nothing", b.ResourceWrite(out, nil), 0)
	want(t, "close", b.ResourceClose(out), hostfunc.OK)
	want(t, "close again", b.ResourceClose(out), hostfunc.EBADF)
	wantErrno(t, "write after close", b.ResourceWrite(out, buf), hostfunc.EBADF)
	want(t, "close an input", b.ResourceClose(in), hostfunc.OK)
	wantErrno(t, "read after close", b.ResourceRead(in, buf), hostfunc.EBADF)
	want(t, "a number is not used twice", b.ResourceOpen([]byte(b.input)), 3)
	finished := b.session.Finished()
	if len(finished) != 1 || finished[0].DraftID != "out" || finished[0].Resource.SizeBytes != 3 {
		t.Errorf("got finished %+v", finished)
	}
	want(t, "warnings", len(b.Warnings()), 0)
}

func TestInputs(t *testing.T) {
	b := newBench(t, setup{})
	for _, id := range []string{"", "x", "../" + b.input, "res_0000000000000000000000000A", strings.Repeat("x", 1<<20), "\xff"} {
		wantErrno(t, fmt.Sprintf("open %.20q", id), b.ResourceOpen([]byte(id)), hostfunc.ENOENT)
	}
	in := b.ResourceOpen([]byte(b.input))
	want(t, "size", b.ResourceSize(in), 100_000)
	want(t, "read nothing", b.ResourceRead(in, nil), 0)
	var read bytes.Buffer
	buf := make([]byte, 7001)
	for {
		n := b.ResourceRead(in, buf)
		if n < 0 {
			t.Fatalf("read: %d", n)
		}
		if n == 0 {
			break
		}
		read.Write(buf[:n])
	}
	want(t, "what was read", read.String(), strings.Repeat("0123456789", 10_000))
	want(t, "read at the end", b.ResourceRead(in, buf), 0)
}

// What a guest opens at a time is bounded, what it opens one after another is
// not: nothing is kept of it.
func TestOpenHandlesAreBounded(t *testing.T) {
	b := newBench(t, setup{resources: resources.Limits{MaxResources: 1000}})
	for i := range 500 {
		in := b.ResourceOpen([]byte(b.input))
		if in < 0 || b.ResourceClose(in) != hostfunc.OK {
			t.Fatalf("round %d: got handle %d", i, in)
		}
	}
	for i := range 300 {
		out := b.ResourceCreate(fmt.Appendf(nil, `{"id":"out-%d"}`, i))
		if out < 0 || b.ResourceClose(out) != hostfunc.OK {
			t.Fatalf("resource %d: got handle %d", i, out)
		}
	}
	for range 64 {
		if in := b.ResourceOpen([]byte(b.input)); in < 0 {
			t.Fatalf("got %d", in)
		}
	}
	wantErrno(t, "one too many to read", b.ResourceOpen([]byte(b.input)), hostfunc.ELIMIT)
	wantErrno(t, "one too many to write", b.ResourceCreate([]byte(`{"id":"more"}`)), hostfunc.ELIMIT)
	b.Close()
	if in := b.ResourceOpen([]byte(b.input)); in < 0 {
		t.Errorf("after Close the handles are still open: %d", in)
	}
}

func TestResourceLimits(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits resources.Limits
		exceed func(b *bench) int32
	}{
		{"bytes", resources.Limits{MaxResourceBytes: 10}, func(b *bench) int32 {
			out := b.ResourceCreate([]byte(`{"id":"a"}`))
			want(t, "write within the limit", b.ResourceWrite(out, make([]byte, 10)), 10)
			return b.ResourceWrite(out, make([]byte, 1))
		}},
		{"number", resources.Limits{MaxResources: 1}, func(b *bench) int32 {
			b.ResourceCreate([]byte(`{"id":"a"}`))
			return b.ResourceCreate([]byte(`{"id":"b"}`))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, setup{resources: test.limits})
			wantErrno(t, "errno", test.exceed(b), hostfunc.ELIMIT)
			want(t, "failure", abi.CodeOf(b.Failure()), abi.CodeResourceTooLarge)
			wantErrno(t, "close what is cut off", int32(b.ResourceClose(1)), hostfunc.ELIMIT)
			want(t, "finished", len(b.session.Finished()), 0)
		})
	}
}

func TestUnfinishedResourcesAreTold(t *testing.T) {
	b := newBench(t, setup{})
	for _, id := range []string{"first", "second", "third"} {
		b.ResourceCreate(fmt.Appendf(nil, `{"id":%q}`, id))
	}
	b.ResourceOpen([]byte(b.input))
	want(t, "close", b.ResourceClose(2), hostfunc.OK)
	b.Close()
	var targets []string
	for _, warning := range b.Warnings() {
		want(t, "code", warning.Code, abi.WarningResourceUnfinished)
		targets = append(targets, warning.Target)
	}
	want(t, "unfinished", strings.Join(targets, " "), "first third")
}

func TestAfterTheEndOfTheCall(t *testing.T) {
	b := newBench(t, setup{})
	out, in := b.ResourceCreate([]byte(`{"id":"out"}`)), b.ResourceOpen([]byte(b.input))
	want(t, "cancelled before", b.Cancelled(), 0)
	b.cancel()
	want(t, "cancelled after", b.Cancelled(), 1)
	buf := make([]byte, 8)
	wantErrno(t, "create", b.ResourceCreate([]byte(`{"id":"b"}`)), hostfunc.ECANCELED)
	wantErrno(t, "write", b.ResourceWrite(out, buf), hostfunc.ECANCELED)
	wantErrno(t, "open", b.ResourceOpen([]byte(b.input)), hostfunc.ECANCELED)
	wantErrno(t, "read", b.ResourceRead(in, buf), hostfunc.ECANCELED)
	want(t, "random", b.Random(buf), hostfunc.ECANCELED)
}
