package registry

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"vcphost/internal/rawjson"
)

// readCompatibility holds the ranges of a manifest against this machine.
func (r *reader) readCompatibility(ctx context.Context, v value) {
	if !v.is(rawjson.Object) {
		return
	}
	v.unknown(false, "vcpVersion", "nodeVersion", "pythonVersion")
	c := &r.manifest.Compatibility
	vcp := v.member("vcpVersion")
	c.VCPVersion = vcp.text()
	meet(vcp, c.VCPVersion, "vcphost speaks VCP", func() (string, error) { return r.vcpVersion, nil })
	machine := []struct {
		key, runtime string
		field        *string
	}{
		{"nodeVersion", "node", &c.NodeVersion},
		{"pythonVersion", "python", &c.PythonVersion},
	}
	for _, m := range machine {
		at := v.member(m.key)
		*m.field = at.text()
		if *m.field != "" && r.manifest.Sandboxed() {
			at.notice(at.pointer, "is not checked: the plugin runs as WebAssembly, not on this machine's %s", m.runtime)
			continue
		}
		meet(at, *m.field, "this machine has "+m.runtime, func() (string, error) { return r.runtimeVersion(ctx, m.runtime) })
	}
}

// meet refuses a range that the version is not in; an empty range asks nothing.
func meet(at value, wanted, subject string, version func() (string, error)) {
	if wanted == "" {
		return
	}
	ranges, err := parseRange(wanted)
	if err != nil {
		at.refuse("%s is no version range: %v", quoted(wanted), err)
		return
	}
	got, err := version()
	if err != nil {
		at.refuse("asks for %s, but this cannot be met: %v", quoted(wanted), err)
		return
	}
	parsed, _, err := parseVersion(got)
	if err != nil {
		at.refuse("asks for %s, but the version here cannot be read: %v", quoted(wanted), err)
		return
	}
	if !ranges.contains(parsed) {
		at.refuse("asks for %s; %s %s", quoted(wanted), subject, clip(got))
	}
}

// version is major, minor, patch; what follows them is not compared.
type version [3]uint64

func (v version) compare(w version) int {
	for i := range v {
		switch {
		case v[i] < w[i]:
			return -1
		case v[i] > w[i]:
			return 1
		}
	}
	return 0
}

// interval holds the versions from low, included, to high, excluded, or those
// outside of it.
type interval struct {
	low, high version
	outside   bool
}

// versionRange is a list of alternatives, each of which is met where all its
// intervals are.
type versionRange [][]interval

func (r versionRange) contains(v version) bool {
	for _, all := range r {
		met := true
		for _, i := range all {
			inside := v.compare(i.low) >= 0 && v.compare(i.high) < 0
			met = met && inside != i.outside
		}
		if met {
			return true
		}
	}
	return false
}

// parseRange reads ranges as npm and pip write them: comparisons joined by
// blanks or commas, alternatives by "||", the operators = == != > >= < <= ^ ~
// ~=, and "x" or "*" for any part.
func parseRange(text string) (versionRange, error) {
	var ranges versionRange
	for alternative := range strings.SplitSeq(text, "||") {
		fields := strings.FieldsFunc(alternative, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' })
		var all []interval
		for i := 0; i < len(fields); i++ {
			operator, rest := splitOperator(fields[i])
			if rest == "" && operator != "" && i+1 < len(fields) {
				i++
				rest = fields[i]
			}
			bounds, err := parseComparison(operator, rest)
			if err != nil {
				return nil, err
			}
			all = append(all, bounds)
		}
		if len(all) == 0 {
			return nil, errors.New("an alternative is empty")
		}
		ranges = append(ranges, all)
	}
	return ranges, nil
}

func splitOperator(field string) (operator, rest string) {
	rest = strings.TrimLeft(field, "=<>!^~")
	return field[:len(field)-len(rest)], rest
}

func parseComparison(operator, text string) (interval, error) {
	v, parts, err := parseVersion(text)
	if err != nil {
		return interval{}, err
	}
	top := version{^uint64(0), ^uint64(0), ^uint64(0)}
	next := v.bump(parts - 1)
	if parts == 0 {
		next = top
	}
	switch operator {
	case "", "=", "==":
		return interval{low: v, high: next}, nil
	case "!=":
		return interval{low: v, high: next, outside: true}, nil
	case ">=":
		return interval{low: v, high: top}, nil
	case ">":
		return interval{low: next, high: top}, nil
	case "<":
		return interval{high: v}, nil
	case "<=":
		return interval{high: next}, nil
	case "~":
		return interval{low: v, high: v.bump(min(max(parts-1, 0), 1))}, nil
	case "~=":
		return interval{low: v, high: v.bump(max(parts-2, 0))}, nil
	case "^":
		return interval{low: v, high: v.bump(v.firstNonZero(parts))}, nil
	}
	return interval{}, fmt.Errorf("unknown operator %q", operator)
}

// firstNonZero is the part that "^" holds fast.
func (v version) firstNonZero(parts int) int {
	for i := range max(parts, 1) {
		if v[i] != 0 {
			return i
		}
	}
	return max(parts-1, 0)
}

// bump is the first version above all that share v's parts up to i.
func (v version) bump(i int) version {
	if i < 0 {
		return v
	}
	v[i]++
	for j := i + 1; j < len(v); j++ {
		v[j] = 0
	}
	return v
}

// parseVersion reads up to three numbers and tells how many there were; "x" and
// "*" end them.
func parseVersion(text string) (v version, parts int, err error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "v")
	if n := strings.IndexAny(text, "-+"); n > 0 {
		text = text[:n]
	}
	if text == "" {
		return v, 0, errors.New("a version is missing")
	}
	for part := range strings.SplitSeq(text, ".") {
		if part == "x" || part == "X" || part == "*" {
			return v, parts, nil
		}
		if parts == len(v) {
			return v, parts, nil
		}
		if v[parts], err = strconv.ParseUint(part, 10, 32); err != nil {
			return v, parts, fmt.Errorf("%s is no version", quoted(text))
		}
		parts++
	}
	return v, parts, nil
}

// probeRuntime asks the programs of this machine for their version.
func probeRuntime(ctx context.Context, runtime string) (string, error) {
	programs := []string{runtime}
	if runtime == "python" {
		programs = []string{"python3", "python"}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		command := exec.CommandContext(ctx, program, "--version")
		command.WaitDelay = time.Second
		out, err := command.Output()
		if err != nil {
			return "", fmt.Errorf("%s --version failed", program)
		}
		return strings.TrimPrefix(strings.TrimSpace(string(out)), "Python "), nil
	}
	return "", fmt.Errorf("there is no %s on this machine", runtime)
}

// once keeps the answers of probe, so that a load asks once for each runtime.
func once(probe func(context.Context, string) (string, error)) func(context.Context, string) (string, error) {
	type answer struct {
		version string
		err     error
	}
	known := make(map[string]answer)
	return func(ctx context.Context, runtime string) (string, error) {
		a, ok := known[runtime]
		if !ok {
			a.version, a.err = probe(ctx, runtime)
			known[runtime] = a
		}
		return a.version, a.err
	}
}
