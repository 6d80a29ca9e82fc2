// Command bench measures the sandbox against its peers, by class of guest, and
// prints one Markdown table of one run:
//
//	go run -C sandbox/bench . [-short] [-rounds N] [-wall] [-write ../../README.md]
//
// It is a module of its own, so that no peer is a dependency of the product.
// Peers are bare wazero in the product's version, wazy, the Extism SDK, and
// node and python3 as processes. Each has the best configuration that its
// documentation offers: compiled once, code cached, functions looked up once,
// linked to what the guest imports and no more, no interrupt unless the column
// is about it. All serve the same job, bare engines and the sandbox with the
// very same module; every answer is checked, and that calls are isolated
// wherever a column claims it.
//
// Columns run in alternating rounds. Each begins with the garbage of the others
// collected, and goes on for a while before it is measured, so that the garbage
// it leaves itself is part of its price. Times are processor time, of all threads
// and child processes together, which other work on the machine moves little;
// with -wall they are the time that passes. What is shown is the median of the rounds,
// and as a ratio the median of the ratios within each round, so that what slows
// a whole round down (other work on the machine) slows both sides of it. The
// last column is half the width of the middle half of the ratios, as a share of
// the median: of the columns' widths the middle one.
//
// Only Go is needed. What else is not installed (clang, rustc, node, python3)
// is said in the table.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/samyfodil/wazy"
	"github.com/tetratelabs/wazero"
)

func main() {
	log.SetFlags(0)
	short := flag.Bool("short", false, "few rounds and few guests: does it run, not how fast")
	rounds := flag.Int("rounds", 0, "rounds of every column; 0 means 11, or 3 in a short run")
	wall := flag.Bool("wall", false, "measure the time that passes, not the processor's: on an idle machine")
	write := flag.String("write", "", "a Markdown file whose table is replaced")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// Every call of the product has a deadline, and so has every call here.
	ctx, end := context.WithTimeout(ctx, time.Hour)
	defer end()
	p := plan{rounds: 11, slot: 60 * time.Millisecond, wall: *wall}
	if *short {
		p.rounds, p.slot = 3, 10*time.Millisecond
	}
	if *rounds > 0 {
		p.rounds = *rounds
	}
	if err := run(ctx, p, *short, *write); err != nil {
		log.Fatalf("bench: %v", err)
	}
}

func run(ctx context.Context, p plan, short bool, write string) error {
	var out bytes.Buffer
	if err := measure(ctx, p, short, &out); err != nil {
		return err
	}
	if _, err := os.Stdout.Write(out.Bytes()); err != nil {
		return err
	}
	if write == "" {
		return nil
	}
	return replace(write, out.Bytes())
}

func measure(ctx context.Context, p plan, short bool, out *bytes.Buffer) (err error) {
	dir, err := os.MkdirTemp("", "vcphost-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	box, err := newBox(ctx, filepath.Join(dir, "compiled"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close(ctx)) }()
	began := time.Now()
	l := &lab{plan: p, box: box, wazero: wazero.NewCompilationCache(), wazy: wazy.NewCompilationCache(),
		log: func(format string, args ...any) {
			log.Printf("%5.1fs  %s", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
		}}
	rows, err := l.rows(ctx, workshop{dir}, short)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: medians of %d alternating rounds of %v a column and round, %s.\n\n", machine(time.Now()), p.rounds, p.slot, p.clock())
	if err := writeTable(out, rows); err != nil {
		return err
	}
	out.WriteString("\n")
	l.log("guests that do not end")
	list, err := l.beside(ctx)
	if err != nil {
		return err
	}
	return writeGoals(out, append(goals(rows), list...))
}
