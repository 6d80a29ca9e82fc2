// Command csvchart is the example plugin CsvChart: it reads a CSV file that the
// call was given, measures each column of numbers, and draws one of them as a
// PNG picture.
//
// The file is comma-separated UTF-8 with a header (RFC 4180, with or without a
// byte order mark, lines ending in LF or CRLF). It is read in one pass and
// never held whole: what stays in memory are the numbers, eight bytes each.
package main

import (
	"fmt"
	"image/png"
	"runtime"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	guest "vcphost/abi/guest/go"
)

var plugin = guest.Export(guest.Handle("Plot", plot))

func main() {} // a reactor: its command is called, it does not run

// plotArgs are the arguments of Plot; the manifest says what each means.
type plotArgs struct {
	Data   guest.Reference `json:"data"`
	Column string          `json:"column"` // empty: the first column of numbers
	Kind   string          `json:"kind"`   // line or bar; empty: line
	Title  string          `json:"title"`  // empty: the column's name
	Size   size            `json:"size"`
}

// size is that of the picture in pixels; a zero is the default.
type size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

const (
	defaultWidth, defaultHeight = 960, 480
	minPixels, maxPixels        = 200, 2000
)

// summary is the data of Plot.
type summary struct {
	Rows       int             `json:"rows"`
	Statistics []statistics    `json:"statistics"`
	Plotted    plotted         `json:"plotted"`
	Chart      guest.Reference `json:"chart"`
}

// plotted says what the picture shows.
type plotted struct {
	Column       string  `json:"column"`
	Kind         string  `json:"kind"`
	Axis         string  `json:"axis"` // name of the column of dates, or "row"
	From         *string `json:"from"` // first and last date; null for rows
	To           *string `json:"to"`
	Values       int     `json:"values"` // cells that hold a number
	RowsPerPoint int     `json:"rowsPerPoint"`
}

func plot(c *guest.Call, args plotArgs) (*summary, error) {
	if runtime.GOARCH == "wasm" {
		debug.SetMemoryLimit(40 << 20) // collect early rather than outgrow the sandbox
	}
	if err := args.complete(); err != nil {
		return nil, err
	}
	c.Progress("read", 0, "reading the file")
	t, err := readInput(c, args.Data)
	if err != nil {
		return nil, err
	}
	chosen, err := t.choose(args.Column)
	if err != nil {
		return nil, err
	}
	c.Progress("measure", 0.75, "measuring the columns")
	out := &summary{Rows: t.rows, Statistics: []statistics{}}
	for _, col := range t.columns {
		if c.Cancelled() {
			return nil, fmt.Errorf("measure: %w", guest.ErrCanceled)
		}
		if col.numeric() {
			out.Statistics = append(out.Statistics, measure(col))
		}
	}
	c.Progress("draw", 0.85, "drawing "+chosen.name)
	pic := newPicture(t, chosen, args)
	pic.theme = theme(c)
	if out.Chart, err = drawInto(c, pic); err != nil {
		return nil, err
	}
	out.Plotted = pic.describe()
	present(c, out)
	return out, nil
}

func (a *plotArgs) complete() error {
	switch a.Kind {
	case "":
		a.Kind = kindLine
	case kindLine, kindBar:
	default:
		return guest.Errorf("INVALID_ARGUMENT", "there is no chart of the kind %q", a.Kind).
			WithTarget("kind").WithDetails(map[string]any{"allowed": []string{kindLine, kindBar}})
	}
	if a.Size.Width == 0 {
		a.Size.Width = defaultWidth
	}
	if a.Size.Height == 0 {
		a.Size.Height = defaultHeight
	}
	for _, pixels := range []int{a.Size.Width, a.Size.Height} {
		if pixels < minPixels || pixels > maxPixels {
			return guest.Errorf("INVALID_ARGUMENT", "a side of the picture cannot be %d pixels", pixels).
				WithTarget("size").WithDetails(map[string]int{"minimum": minPixels, "maximum": maxPixels})
		}
	}
	return nil
}

func readInput(c *guest.Call, ref guest.Reference) (*table, error) {
	in, err := c.Open(ref)
	if err != nil {
		return nil, err
	}
	defer in.Close() // a second refusal would add nothing
	total, err := in.Size()
	if err != nil {
		return nil, err
	}
	return read(in, func(offset int64) error {
		if c.Cancelled() {
			return fmt.Errorf("read the file: %w", guest.ErrCanceled)
		}
		c.Progress("read", 0.7*float64(offset)/float64(max(total, 1)), "reading the file")
		return nil
	})
}

// theme is the configured one; an unknown name is the light one with a warning.
func theme(c *guest.Call) colors {
	name, ok := c.Config("CHART_THEME")
	switch {
	case !ok || name == "light" || name == "":
		return light()
	case name == "dark":
		return dark()
	}
	c.Warn("CONFIG.UNKNOWN_THEME", "CHART_THEME is neither light nor dark; the chart is light", "CHART_THEME", nil)
	return light()
}

// drawInto draws the picture and streams it out as the resource "chart".
func drawInto(c *guest.Call, pic *picture) (guest.Reference, error) {
	if !pic.titleReadable() {
		c.Warn("CHART.TITLE_OMITTED", "the chart's font does not have every letter of the title", "title", nil)
		pic.title = ""
	}
	img, err := pic.draw()
	if err != nil {
		return guest.Reference{}, fmt.Errorf("draw the chart: %w", err)
	}
	if c.Cancelled() {
		return guest.Reference{}, fmt.Errorf("draw the chart: %w", guest.ErrCanceled)
	}
	c.Progress("write", 0.95, "writing the picture")
	w, err := c.CreateResource(guest.Draft{
		ID: "chart", Kind: "image", Role: "output", MIMEType: "image/png", FileName: fileName(pic.column.name),
	})
	if err != nil {
		return guest.Reference{}, err
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed} // a third of the time, a fifth more bytes
	if err := encoder.Encode(w, img); err != nil {
		return guest.Reference{}, fmt.Errorf("encode the chart: %w", err)
	}
	return w.Ref(), w.Close()
}

// fileName makes a name that every file system takes.
func fileName(column string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|.`, r) {
			return '_'
		}
		return r
	}, column)
	for len(clean) > 100 {
		_, last := utf8.DecodeLastRuneInString(clean)
		clean = clean[:len(clean)-last]
	}
	return clean + ".png"
}

func present(c *guest.Call, out *summary) {
	p := out.Plotted
	text := fmt.Sprintf("%s over %d rows", p.Column, out.Rows)
	if p.From != nil && p.To != nil {
		text += fmt.Sprintf(", %s to %s", *p.From, *p.To)
	}
	c.Summary(text)
	c.Title(p.Column)
	c.View("image-result")
	c.Primary(out.Chart.ID)
	c.Advise(guest.Advice{
		Intent: "display_resource", ResourceIDs: []string{out.Chart.ID}, RenderHint: "image",
		Message: "Show the chart, and name what stands out in the statistics of the column that it shows.",
	})
}
