package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"vcphost/abi"
)

func TestProgressOnATerminalIsOneLineThatGoes(t *testing.T) {
	var out bytes.Buffer
	p := &progress{to: &out, moves: true}
	p.end()
	if out.Len() != 0 {
		t.Errorf("without an event: %q", &out)
	}
	half, over := 0.5, 7.0
	p.report(abi.Progress{Stage: "read\x1b[2J", Progress: &half, Message: "rows\n1"})
	p.report(abi.Progress{Stage: "plot", Progress: &over})
	p.report(abi.Progress{Stage: "rest", Message: strings.Repeat("界", 200)})
	p.end()
	shown := strings.Split(out.String(), clearLine)
	want := []string{
		"", "[" + strings.Repeat("█", 12) + strings.Repeat("░", 12) + "]  50% read[2J rows1",
		"[" + strings.Repeat("█", 24) + "] 100% plot ", "rest " + strings.Repeat("界", 35) + "…", "",
	}
	if len(shown) != len(want) {
		t.Fatalf("got %q", shown)
	}
	for i := range want {
		if shown[i] != want[i] {
			t.Errorf("line %d: got %q, want %q", i, shown[i], want[i])
		}
		if strings.ContainsAny(shown[i], "\n\x1b") || utf8.RuneCountInString(shown[i]) > lineCells+1 {
			t.Errorf("line %d would not go: %q", i, shown[i])
		}
	}
}

func TestProgressElsewhereIsALineForEachEvent(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, func(string) (string, bool) { return "xterm", true })
	quarter := 0.25
	p.report(abi.Progress{Stage: "read", Progress: &quarter, Message: "rows"})
	p.report(abi.Progress{Stage: "plot"})
	p.end()
	if got, want := out.String(), "progress: read  25% rows\nprogress: plot \n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
