package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"vcphost/sandbox"
)

// builder makes the two modules of a guest: for binding vcp and, where there is
// an equal one, for Extism.
type builder func(ctx context.Context) (vcp, extism []byte, err error)

func core(at layout, op operation) builder {
	return func(context.Context) ([]byte, []byte, error) {
		return coreGuest(at, op), extismGuest(at, op), nil
	}
}

// pair makes both modules with one toolchain.
func pair(build func(ctx context.Context, flags ...string) ([]byte, error), flag string) builder {
	return func(ctx context.Context) ([]byte, []byte, error) {
		vcp, err := build(ctx)
		if err != nil {
			return nil, nil, err
		}
		extism, err := build(ctx, flag)
		return vcp, extism, err
	}
}

func (w workshop) goGuest(folder string) builder {
	return func(ctx context.Context) ([]byte, []byte, error) {
		dir := filepath.Join("guests", folder)
		vcp, err := w.golang(ctx, dir, "")
		if err != nil {
			return nil, nil, err
		}
		extism, err := w.golang(ctx, dir, "extism")
		return vcp, extism, err
	}
}

// The names of guests that the wanted figures are about.
const (
	nameOnePage   = "core module, 1 page"
	nameFourPages = "core module, 4 pages (C-sized)"
	nameGoJSON    = "Go with JSON"
	nameChart     = "csvchart, its file of 108 KiB"
	nameTight     = "tight loop, 10 M turns"
	nameFat       = "fat loop, 1,000 turns of 100 KB"
	nameRecursion = "recursion, fib(27)"
)

// entry is a guest that is to be built.
type entry struct {
	guest guest
	build builder
	long  bool // left out of a short run
}

// classes are the guests that do a small job in every language, and csvchart.
func (w workshop) classes() ([]entry, error) {
	file, err := os.ReadFile(filepath.Join(examples, "csvchart", "prices.csv"))
	if err != nil {
		return nil, fmt.Errorf("read the example's file: %w", err)
	}
	sample, err := os.ReadFile(filepath.Join(examples, "csvchart", "sample.csv"))
	if err != nil {
		return nil, fmt.Errorf("read the example's sample: %w", err)
	}
	adds := func(name string, prepare ...sandbox.Prepare) guest {
		return guest{name: name, invocation: adding(1200, 34), prepare: prepare, sum: 1234, counted: true, processes: true}
	}
	warm := sandbox.Prepare{Command: "Add", Arguments: json.RawMessage(`{"a":1,"b":2}`)}
	plot := sandbox.Prepare{ // the manifest's
		Command: "Plot", Arguments: json.RawMessage(`{"data":{"$resource":"file:sample.csv"},"column":"close"}`),
		Files: map[string][]byte{"sample.csv": sample},
	}
	chart := func(ctx context.Context) ([]byte, []byte, error) {
		vcp, err := w.golang(ctx, filepath.Join(examples, "csvchart"), "")
		return vcp, nil, err
	}
	return []entry{
		{guest: adds(nameOnePage), build: core(onePage(), sum)},
		{guest: adds(nameFourPages), build: core(fourPages(), sum)},
		{guest: adds("C (clang)"), build: pair(w.c, "-DEXTISM")},
		{guest: adds("Rust, its standard library"), build: pair(w.rust, "--cfg=extism"), long: true},
		{guest: adds("Go without JSON", warm), build: w.goGuest("goplain"), long: true},
		{guest: adds(nameGoJSON, warm), build: w.goGuest("gojson")},
		{guest: guest{name: nameChart, invocation: plotting(file), prepare: []sandbox.Prepare{plot}}, build: chart, long: true},
	}, nil
}

// examples is the folder of the example plugins, seen from this one.
const examples = "../../examples"

// loops are the guests whose own code is what takes the time.
func loops() []entry {
	const turns, fat, depth, b = 10_000_000, 1_000, 27, 7
	return []entry{
		{guest: guest{name: nameTight, invocation: adding(turns, b), sum: turnsInGo(turns, b, 1), counted: true}, build: core(onePage(), tightLoop)},
		{guest: guest{name: nameFat, invocation: adding(fat, b), sum: turnsInGo(fat, b, fatSteps), counted: true}, build: core(onePage(), fatLoop)},
		{guest: guest{name: nameRecursion, invocation: adding(depth, b), sum: recursionInGo(depth, b), counted: true}, build: core(onePage(), recursion)},
	}
}

// make builds the guests of a list; what is not installed is told in the guest.
func (w workshop) make(ctx context.Context, list []entry, short bool) ([]*guest, error) {
	var made []*guest
	for _, e := range list {
		if short && e.long {
			continue
		}
		g := e.guest
		g.dir = w.dir
		var err error
		g.vcp, g.extism, err = e.build(ctx)
		switch {
		case errors.Is(err, errMissing):
			g.missing = err.Error()
		case err != nil:
			return nil, fmt.Errorf("build the guest %q: %w", g.name, err)
		}
		made = append(made, &g)
	}
	return made, nil
}

// held gives a guest whose calls open an input before they add.
func held(g *guest) *guest {
	h := *g
	inv := *g.invocation
	h.invocation = &inv
	if g.name == nameFourPages {
		h.vcp = coreGuest(fourPages(), gatedSum, importOpen)
	}
	inv.Command = "Hold"
	return &h
}
