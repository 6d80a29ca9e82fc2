// Command report runs the benchmarks of the server and prints what they measured
// as one table: ratios first, each beside what is wanted of it.
//
//	go run ./server/bench/report
//
// Each benchmark runs in a process of its own, so that what one leaves in memory
// is not measured by the next. With -runs N each runs N times, and the table has
// the medians. A figure that misses what is wanted does not change the exit
// status; a benchmark that fails does. It needs the Go toolchain and may be
// started anywhere inside the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

// measured is the package whose benchmarks are run.
const measured = "vcphost/server/bench"

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 1, "how often each benchmark runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := report(ctx, os.Stdout, os.Stderr, *runs); err != nil {
		log.Fatalf("report: %v", err)
	}
}

// report measures and prints; what fails is told after what did not.
func report(ctx context.Context, out, progress io.Writer, runs int) (err error) {
	dir, err := os.MkdirTemp("", "vcphost-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "bench.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, measured)
	build.Stderr = progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the benchmarks: %w", err)
	}
	found := figures{}
	var failed []error
	for _, bench := range benchmarks() {
		for range max(runs, 1) {
			fmt.Fprintln(progress, "running", bench.name)
			if err := bench.run(ctx, binary, found); err != nil {
				failed = append(failed, err)
				break
			}
		}
	}
	return errors.Join(append(failed, print(out, found))...)
}

// run adds what one run of a benchmark measured.
func (b benchmark) run(ctx context.Context, binary string, found figures) error {
	command := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", "^Benchmark"+b.name+"$", "-test.benchtime", b.time)
	command.Dir = filepath.Dir(binary)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", b.name, err, output)
	}
	if found.read(output) == 0 {
		return fmt.Errorf("%s measured nothing:\n%s", b.name, output)
	}
	return nil
}
