// Command fuzzall runs every fuzz target of the module for a short time each,
// so that a new target needs no line in any build file:
//
//	go run ./internal/fuzzall -time 5s
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
	"strings"
)

func main() {
	log.SetFlags(0)
	each := flag.String("time", "5s", "how long each target runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *each); err != nil {
		log.Fatalf("fuzz: %v", err)
	}
}

func run(ctx context.Context, each string) error {
	folders, err := lines(ctx, "list", "./...")
	if err != nil {
		return err
	}
	count := 0
	for _, folder := range folders {
		targets, err := lines(ctx, "test", "-list", "^Fuzz", folder)
		if err != nil {
			return err
		}
		for _, target := range targets {
			if !strings.HasPrefix(target, "Fuzz") {
				continue
			}
			count++
			fmt.Printf("== %s %s\n", folder, target)
			if err := fuzz(ctx, folder, target, each); err != nil {
				return fmt.Errorf("%s of %s: %w", target, folder, err)
			}
		}
	}
	if count == 0 {
		return errors.New("no fuzz target was found")
	}
	fmt.Printf("%d fuzz targets ran %s each\n", count, each)
	return nil
}

// fuzz runs one target, and once more if the tool failed and the target did not:
// it sometimes takes the end of its own time, when that comes while an input
// runs, for a failure, and then there is no failing input.
func fuzz(ctx context.Context, folder, target, each string) error {
	for again := false; ; again = true {
		var said strings.Builder
		command := goTool(ctx, "test", "-run", "^$", "-fuzz", "^"+target+"$", "-fuzztime", each, folder)
		command.Stdout = io.MultiWriter(os.Stdout, &said)
		err := command.Run()
		ofTheTool := strings.Contains(said.String(), "context deadline exceeded") && !strings.Contains(said.String(), "Failing input")
		if err == nil || again || !ofTheTool {
			return err
		}
	}
}

func goTool(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command
}

func lines(ctx context.Context, args ...string) ([]string, error) {
	command := goTool(ctx, args...)
	command.Stdout = nil
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.Fields(string(out)), nil
}
