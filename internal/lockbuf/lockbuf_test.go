package lockbuf

import (
	"strings"
	"sync"
	"testing"
)

func TestManyWriteWhileOneReads(t *testing.T) {
	var b Buffer
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				_, _ = b.Write([]byte("line\n")) // never fails
			}
		})
	}
	for range 100 {
		if text := b.String(); strings.Trim(text, "line\n") != "" || len(text)%5 != 0 {
			t.Fatalf("read %q", text)
		}
	}
	wg.Wait()
	if got := strings.Count(b.String(), "line\n"); got != 8000 {
		t.Errorf("%d lines, want 8000", got)
	}
}
