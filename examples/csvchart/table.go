package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	guest "vcphost/abi/guest/go"
)

const (
	// maxValues is how many numbers are kept: 12 MB, and a copy of one column
	// to find its median, in a memory of 64 MiB.
	maxValues = 1_500_000
	// maxRowBytes bounds one row, which the reader holds whole.
	maxRowBytes = 1 << 20
	maxColumns  = 1000
	// maxMagnitude keeps sums of squares finite; what is larger is no number.
	maxMagnitude = 1e150

	reportEvery = 4096 // rows between two reports, which also ask for cancellation
)

// table is what is kept of a file.
type table struct {
	columns []*column
	rows    int
	kept    int       // numbers in memory
	dates   *dateAxis // of the first column; nil if that holds no dates
}

// column is one column: its numbers until its first cell of text, if any.
type column struct {
	name     string
	values   floats // NaN for a missing cell
	missing  int
	decimals int // the most digits after the point; -1 once there was an exponent
	textLine int // line of the first cell that is neither number nor missing; 0 = none
}

func (c *column) numeric() bool { return c.textLine == 0 && c.values.n > c.missing }

// dateAxis holds a date as seconds since 1970 for each row; NaN for missing.
type dateAxis struct {
	layout  string
	seconds floats
}

// floats is a list that grows without copying, so that it leaves no garbage of
// its own size behind.
type floats struct {
	chunks [][]float64
	n      int
}

const floatsChunk = 4096

func (f *floats) add(x float64) {
	if f.n%floatsChunk == 0 {
		f.chunks = append(f.chunks, make([]float64, 0, floatsChunk))
	}
	last := len(f.chunks) - 1
	f.chunks[last] = append(f.chunks[last], x)
	f.n++
}

func (f *floats) at(i int) float64 { return f.chunks[i/floatsChunk][i%floatsChunk] }

var errRowTooLong = errors.New("the row is too long")

// rowGuard refuses to read on when one row has taken too much, so that a stray
// quote cannot pull the whole file into memory.
type rowGuard struct {
	r              io.Reader
	read, rowStart int64
}

func (g *rowGuard) Read(p []byte) (int, error) {
	if g.read-g.rowStart > maxRowBytes {
		return 0, errRowTooLong
	}
	n, err := g.r.Read(p)
	g.read += int64(n)
	return n, err
}

// read reads a file. It calls report now and then with the offset that it has
// reached, and ends with the error of report.
func read(r io.Reader, report func(offset int64) error) (*table, error) {
	guard := &rowGuard{r: r}
	buffered := bufio.NewReaderSize(guard, 64<<10)
	if err := skipMark(buffered); err != nil {
		return nil, err
	}
	rows := csv.NewReader(buffered)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, guest.Errorf("CSV.EMPTY", "the file is empty").WithTarget("data")
	}
	if err != nil {
		return nil, malformed(err, 1)
	}
	t := &table{}
	if t.columns, err = namedColumns(header); err != nil {
		return nil, err
	}
	t.dates = &dateAxis{}
	for next := 2; ; {
		record, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, malformed(err, next)
		}
		line, _ := rows.FieldPos(0)
		if err := t.add(record, line); err != nil {
			return nil, err
		}
		last, _ := rows.FieldPos(len(record) - 1)
		next = last + strings.Count(record[len(record)-1], "\n") + 1
		guard.rowStart = rows.InputOffset()
		if t.rows%reportEvery == 0 {
			if err := report(guard.rowStart); err != nil {
				return nil, err
			}
		}
	}
	if t.rows == 0 {
		return nil, guest.Errorf("CSV.EMPTY", "the file has a header and no rows").
			WithTarget("data").WithDetails(map[string]any{"columns": t.names()})
	}
	return t, nil
}

// skipMark skips a byte order mark, and refuses the marks of UTF-16.
func skipMark(r *bufio.Reader) error {
	head, err := r.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the file: %w", err)
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return badCSV(1, 1, "the file is UTF-16, not UTF-8")
	}
	if bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, err = r.Discard(len(head))
		return err
	}
	return nil
}

// namedColumns gives every column a name of its own.
func namedColumns(header []string) ([]*column, error) {
	if len(header) > maxColumns {
		return nil, guest.Errorf("CSV.TOO_LARGE", "the file has %d columns", len(header)).
			WithTarget("data").WithDetails(map[string]int{"columns": len(header), "limit": maxColumns})
	}
	taken := map[string]bool{}
	columns := make([]*column, len(header))
	for i, name := range header {
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			return nil, badCSV(1, i+1, "the header is not UTF-8 text")
		}
		name = strings.TrimSpace(strings.Clone(name)) // the record is reused
		if name == "" {
			name = "column " + strconv.Itoa(i+1)
		}
		base := name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s (%d)", base, n)
		}
		taken[name] = true
		columns[i] = &column{name: name}
	}
	return columns, nil
}

func (t *table) add(record []string, line int) error {
	t.rows++
	if t.dates != nil && !t.dates.add(record[0]) {
		t.kept -= t.dates.seconds.n
		t.dates = nil
	} else if t.dates != nil {
		t.kept++
	}
	for i, cell := range record {
		col := t.columns[i]
		if col.textLine != 0 {
			continue
		}
		if !col.add(cell) {
			t.kept -= col.values.n
			col.values, col.textLine = floats{}, line
			continue
		}
		t.kept++
	}
	if t.kept > maxValues {
		return guest.Errorf("CSV.TOO_LARGE", "the file has more numbers than can be kept").
			WithTarget("data").WithDetails(map[string]int{"limit": maxValues, "line": line})
	}
	return nil
}

// add takes a cell; false where it is text.
func (c *column) add(cell string) bool {
	cell = strings.TrimSpace(cell)
	if isMissing(cell) {
		c.missing++
		c.values.add(math.NaN())
		return true
	}
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.Abs(x) > maxMagnitude { // infinities too
		return false
	}
	c.values.add(x)
	switch point := strings.IndexByte(cell, '.'); {
	case strings.ContainsAny(cell, "eExXpP"):
		c.decimals = -1
	case point >= 0 && c.decimals >= 0:
		c.decimals = max(c.decimals, len(cell)-point-1)
	}
	return true
}

func isMissing(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "-", "na", "n/a", "nan", "null", "none":
		return true
	}
	return false
}

// add takes a cell; false where it is neither missing nor a date in the layout
// of those before it.
func (d *dateAxis) add(cell string) bool {
	cell = strings.TrimSpace(cell)
	if isMissing(cell) {
		d.seconds.add(math.NaN())
		return true
	}
	layouts := []string{d.layout}
	if d.layout == "" {
		layouts = []string{time.DateOnly, time.RFC3339, time.DateTime, "2006-01-02 15:04", "2006/01/02", "01/02/2006", "02.01.2006", "2006-01"}
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, cell); err == nil {
			d.layout = layout
			d.seconds.add(float64(at.Unix()))
			return true
		}
	}
	return false
}

func (t *table) names() []string {
	names := make([]string, len(t.columns))
	for i, col := range t.columns {
		names[i] = col.name
	}
	return names
}

// choose finds the column to draw: the one of that name, else alike but for
// case; the first one with numbers where no name is given.
func (t *table) choose(name string) (*column, error) {
	var found *column
	numeric := []string{}
	for _, col := range t.columns {
		if col.numeric() {
			numeric = append(numeric, col.name)
		}
		switch {
		case name == "" && found == nil && col.numeric(), name != "" && col.name == name:
			found = col
		case name != "" && found == nil && strings.EqualFold(col.name, name):
			found = col
		}
	}
	if found == nil && name == "" {
		return nil, guest.Errorf("CSV.NO_NUMBERS", "no column holds only numbers").
			WithTarget("data").WithDetails(map[string]any{"columns": t.names()})
	}
	if found == nil {
		return nil, guest.Errorf("INVALID_ARGUMENT", "the file has no column %q", name).
			WithTarget("column").WithDetails(map[string]any{"columns": t.names()})
	}
	if !found.numeric() {
		facts := map[string]any{"numericColumns": numeric}
		if found.textLine != 0 {
			facts["line"] = found.textLine
		}
		return nil, guest.Errorf("INVALID_ARGUMENT", "the column %q does not hold only numbers", found.name).
			WithTarget("column").WithDetails(facts)
	}
	return found, nil
}

func badCSV(line, col int, reason string) *guest.Error {
	return guest.Errorf("CSV.MALFORMED", "line %d, column %d: %s", line, col, reason).
		WithTarget("data").WithDetails(map[string]any{"line": line, "column": col, "reason": reason})
}

// malformed places an error of the reader; line is where the row begins.
func malformed(err error, line int) error {
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, csv.ErrFieldCount):
		return badCSV(syntax.Line, syntax.Column, "the row has another number of cells than the header")
	case errors.As(err, &syntax):
		return badCSV(syntax.Line, syntax.Column, syntax.Err.Error())
	case errors.Is(err, errRowTooLong):
		return badCSV(line, 1, fmt.Sprintf("the row is longer than %d bytes; is a quote not closed?", maxRowBytes))
	}
	return fmt.Errorf("read the file: %w", err)
}
