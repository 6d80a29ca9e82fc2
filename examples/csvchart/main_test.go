package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"

	guest "vcphost/abi/guest/go"
)

// run calls Plot on a file.
func run(t *testing.T, csv string, args map[string]any, fake *guest.Fake) *guest.Recording {
	t.Helper()
	if fake == nil {
		fake = &guest.Fake{}
	}
	fake.Inputs = map[string]guest.Input{"res_in": {Content: []byte(csv)}}
	all := map[string]any{"command": "Plot", "data": guest.Ref("res_in")}
	for name, value := range args {
		all[name] = value
	}
	r, err := plugin.Run("Plot", all, fake)
	if err != nil {
		t.Fatalf("run Plot: %v", err)
	}
	return r
}

// success calls Plot on a file that it must like, and checks the picture.
func success(t *testing.T, csv string, args map[string]any) (summary, image.Image) {
	t.Helper()
	r := run(t, csv, args, nil)
	if r.Status != "success" {
		t.Fatalf("got %s, want success", r.Payload)
	}
	var out summary
	if err := json.Unmarshal(r.Data, &out); err != nil {
		t.Fatalf("decode data: %v", err)
	}
	if len(r.Resources) != 1 || r.Resources[0].ID != out.Chart.ID || r.Resources[0].MIMEType != "image/png" {
		t.Fatalf("got resources %+v, want the chart alone", r.Resources)
	}
	img, err := png.Decode(bytes.NewReader(r.Resources[0].Content))
	if err != nil {
		t.Fatalf("decode chart: %v", err)
	}
	return out, img
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestPlotPrices(t *testing.T) {
	out, img := success(t, readFile(t, "prices.csv"), map[string]any{"column": "close"})
	if out.Rows != 2500 || len(out.Statistics) != 5 {
		t.Errorf("got %d rows, %d columns of numbers, want 2500 and 5", out.Rows, len(out.Statistics))
	}
	p := out.Plotted
	if p.Column != "close" || p.Axis != "date" || p.From == nil || *p.From != "2016-01-04" || *p.To != "2025-08-01" {
		t.Errorf("got %+v", p)
	}
	for _, s := range out.Statistics {
		if s.Count+s.Missing != out.Rows || s.Missing == 0 || !(s.Min < s.Median && s.Median < s.Max) {
			t.Errorf("got %+v", s)
		}
	}
	if got, want := img.Bounds(), image.Rect(0, 0, 960, 480); got != want {
		t.Errorf("got picture %v, want %v", got, want)
	}
	if share := ink(img); share < 0.005 || share > 0.5 {
		t.Errorf("got %.4f of the picture in the color of the line", share)
	}
}

// TestVariantsAreTheSameData holds that a byte order mark and CRLF change
// neither the numbers nor the picture.
func TestVariantsAreTheSameData(t *testing.T) {
	plain := readFile(t, "prices.csv")
	want, wantImg := success(t, plain, nil)
	crlf := strings.ReplaceAll(plain, "\n", "\r\n")
	for name, text := range map[string]string{
		"mark": "\ufeff" + plain, "crlf": crlf, "both": "\ufeff" + crlf, "no last newline": strings.TrimSuffix(plain, "\n"),
	} {
		got, gotImg := success(t, text, nil)
		if fmt.Sprint(got.Statistics) != fmt.Sprint(want.Statistics) && !sameStatistics(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got.Statistics, want.Statistics)
		}
		if !bytes.Equal(pixels(gotImg), pixels(wantImg)) {
			t.Errorf("%s: the picture differs", name)
		}
	}
}

func TestStatistics(t *testing.T) {
	out, _ := success(t, "n,name,x\n1,a,2.5\n2,b,\n3,\"c, \"\"d\"\"\",-1.5\n4,e,N/A\n", map[string]any{"column": "X"})
	raw, err := json.Marshal(out.Statistics)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"column":"n","count":4,"missing":0,"min":1,"max":4,"mean":2.5,"median":2.5,"stddev":1.29},` +
		`{"column":"x","count":2,"missing":2,"min":-1.5,"max":2.5,"mean":0.5,"median":0.5,"stddev":2.828}]`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	if out.Plotted.Column != "x" || out.Plotted.Axis != "row" || out.Plotted.From != nil {
		t.Errorf("got %+v", out.Plotted)
	}
}

// TestDrawsWhateverIsNumeric runs the shapes on which scales and lines break.
func TestDrawsWhateverIsNumeric(t *testing.T) {
	tests := []struct{ name, csv string }{
		{"one row", "x\n7\n"},
		{"one zero", "x\n0\n"},
		{"constant", "x\n5\n5\n5\n"},
		{"gaps all over", "x\n1\n\"\"\n2\n\"\"\n\"\"\n3\n"},
		{"one date", "day,x\n2024-02-29,1\n"},
		{"same date", "day,x\n2024-02-29,1\n2024-02-29,2\n"},
		{"dates backwards", "day,x\n2024-03-01,1\n2024-02-01,2\n"},
		{"date missing", "day,x\n2024-03-01,1\n,5\n2024-03-02,2\n"},
		{"value only where the date is missing", "day,x\n2024-03-01,\n,5\n2024-03-02,\n"},
		{"first column empty", "day,x\n,1\n,5\n"},
		{"seconds", "at,x\n2024-03-01T10:00:00Z,1\n2024-03-01T10:00:07Z,2\n"},
		{"centuries", "day,x\n0001-01-01,1\n9999-12-31,2\n"},
		{"half dates", "day,x\n2024-03-01,1\nsoon,2\n"},
		{"huge and tiny", "x\n1e150\n-1e150\n1e-150\n"},
		{"tiny", "x\n1e-300\n2e-300\n"},
		{"nearly equal", "x\n1000000000.0000001\n1000000000.0000002\n"},
		{"names", ",x,x,\n1,2,3,4\n"},
		{"wide", strings.Repeat("x,", 999) + "y\n" + strings.Repeat("1,", 999) + "2\n"},
	}
	for _, tt := range tests {
		for _, kind := range []string{kindLine, kindBar} {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				success(t, tt.csv, map[string]any{"kind": kind})
			})
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name, csv    string
		args         map[string]any
		fake         guest.Fake
		code, target string
		details      string
	}{
		{name: "empty", csv: "", code: "CSV.EMPTY", target: "data"},
		{name: "only a mark", csv: "\ufeff", code: "CSV.EMPTY", target: "data"},
		{name: "only a header", csv: "a,b\n", code: "CSV.EMPTY", target: "data", details: `{"columns":["a","b"]}`},
		{name: "bare quote", csv: "a,b\n1,2\n3,4\"5\n", code: "CSV.MALFORMED", target: "data", details: `"column":4,"line":3,`},
		{name: "quote not closed", csv: "a,b\n1,\"2\n", code: "CSV.MALFORMED", target: "data", details: `"line":`},
		{name: "ragged row", csv: "a,b\n1,2\n3\n", code: "CSV.MALFORMED", target: "data", details: `"column":1,"line":3,`},
		{name: "utf-16", csv: "\xff\xfea\x00", code: "CSV.MALFORMED", target: "data"},
		{name: "not text", csv: "\x89PNG\r\n\x1a\n\x00\x00", code: "CSV.MALFORMED", target: "data"},
		{name: "row without end", csv: "a,b\n1,2\n3,\"" + strings.Repeat("x,\n", 1<<20), code: "CSV.MALFORMED", target: "data", details: `"column":1,"line":3,`},
		{name: "too many columns", csv: strings.Repeat("a,", 2000) + "\n", code: "CSV.TOO_LARGE", target: "data"},
		{name: "too many numbers", csv: strings.Repeat("1,", 900) + "1\n" + strings.Repeat(strings.Repeat("1,", 900)+"1\n", 1700), code: "CSV.TOO_LARGE", target: "data"},
		{name: "no numbers", csv: "a,b\nx,y\n", code: "CSV.NO_NUMBERS", target: "data"},
		{name: "infinite", csv: "a\nInf\n", code: "CSV.NO_NUMBERS", target: "data"},
		{name: "too large a number", csv: "a\n1e151\n", code: "CSV.NO_NUMBERS", target: "data"},
		{name: "no such column", csv: "a,b\n1,2\n", args: map[string]any{"column": "c"}, code: "INVALID_ARGUMENT", target: "column", details: `{"columns":["a","b"]}`},
		{name: "column of text", csv: "a,b\n1,x\n", args: map[string]any{"column": "b"}, code: "INVALID_ARGUMENT", target: "column", details: `{"line":2,"numericColumns":["a"]}`},
		{name: "kind", csv: "a\n1\n", args: map[string]any{"kind": "pie"}, code: "INVALID_ARGUMENT", target: "kind"},
		{name: "size", csv: "a\n1\n", args: map[string]any{"size": map[string]int{"width": 20000}}, code: "INVALID_ARGUMENT", target: "size"},
		{name: "unknown resource", csv: "a\n1\n", args: map[string]any{"data": guest.Ref("res_other")}, code: "PLUGIN.ERROR"},
		{name: "resource refused", csv: "a\n1\n", fake: guest.Fake{Fail: map[string]guest.Errno{"resource_write": guest.ErrLimit}}, code: "PLUGIN.ERROR"},
		{name: "cancelled", csv: "a\n1\n", fake: guest.Fake{Cancelled: func() bool { return true }}, code: "PLUGIN.ERROR"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, tt.csv, tt.args, &tt.fake)
			if r.Status != "error" || !errors.Is(r.Error, &guest.Error{Code: tt.code}) || r.Error.Target != tt.target {
				t.Fatalf("got %s, want code %s, target %q", r.Payload, tt.code, tt.target)
			}
			details, err := json.Marshal(r.Error.Details)
			if err != nil || !strings.Contains(string(details), tt.details) {
				t.Errorf("got details %s, want %s", details, tt.details)
			}
			if len(r.Resources) != 0 {
				t.Errorf("got %d resources, want none", len(r.Resources))
			}
		})
	}
}

// TestCancelIsNoticedInTheMiddle cancels while rows are read.
func TestCancelIsNoticedInTheMiddle(t *testing.T) {
	asked := 0
	fake := &guest.Fake{Cancelled: func() bool { asked++; return asked == 3 }}
	r := run(t, "a\n"+strings.Repeat("1\n", 10*reportEvery), nil, fake)
	if r.Status != "error" || asked != 3 {
		t.Errorf("got status %s after %d questions, want an error after 3", r.Status, asked)
	}
}

func TestManyRowsAreDrawnTogether(t *testing.T) {
	var csv strings.Builder
	csv.WriteString("x\n")
	for i := range 100_000 {
		fmt.Fprintf(&csv, "%d\n", i%1000)
	}
	out, _ := success(t, csv.String(), nil)
	if out.Plotted.RowsPerPoint < 2 || out.Plotted.Values != 100_000 {
		t.Errorf("got %+v", out.Plotted)
	}
}

func TestReduceKeepsTheExtremes(t *testing.T) {
	points := make([]point, 10_000)
	for i := range points {
		points[i] = point{x: float64(i), y: 0}
	}
	points[1234].y, points[8765].y = 9, -9
	p := &picture{kind: kindLine, size: size{Width: 200}}
	p.reduce(points)
	if len(p.points) > 800 || !slices.Contains(p.points, points[1234]) || !slices.Contains(p.points, points[8765]) {
		t.Errorf("got %d points", len(p.points))
	}
}

func TestTheme(t *testing.T) {
	tests := []struct {
		name, theme string
		dark        bool
		warnings    int
	}{
		{"none", "", false, 0}, {"light", "light", false, 0}, {"dark", "dark", true, 0}, {"unknown", "sepia", false, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, "a\n1\n2\n", nil, &guest.Fake{Config: map[string]string{"CHART_THEME": tt.theme}})
			img, err := png.Decode(bytes.NewReader(r.Resources[0].Content))
			if err != nil {
				t.Fatal(err)
			}
			red, _, _, _ := img.At(1, 1).RGBA()
			if (red < 0x8000) != tt.dark || len(r.Warnings) != tt.warnings {
				t.Errorf("got red %#x and %d warnings", red, len(r.Warnings))
			}
		})
	}
}

func TestTitleWithoutGlyphsIsOmitted(t *testing.T) {
	r := run(t, "a\n1\n2\n", map[string]any{"title": "价格"}, nil)
	if r.Status != "success" || len(r.Warnings) != 1 || r.Warnings[0].Code != "CHART.TITLE_OMITTED" {
		t.Errorf("got %s", r.Payload)
	}
}

func TestFileName(t *testing.T) {
	for in, want := range map[string]string{
		"close": "close.png", "../a/b": "___a_b.png", "a\x00": "a_.png", strings.Repeat("价", 200): strings.Repeat("价", 33) + ".png",
	} {
		if got := fileName(in); got != want {
			t.Errorf("fileName(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestNumberTicks(t *testing.T) {
	tests := []struct {
		low, high float64
		n         int
		want      string
	}{
		{0, 10, 5, "0 2 4 6 8 10"},
		{27.3, 112, 7, "40 60 80 100"},
		{0, 1.4e6, 7, "0.0M 0.2M 0.4M 0.6M 0.8M 1.0M 1.2M 1.4M"},
		{-0.003, 0.004, 4, "-0.002 0.000 0.002 0.004"},
		{4.5, 5.5, 1, "4 5 6"},
	}
	for _, tt := range tests {
		var labels []string
		for _, tick := range numberTicks(tt.low, tt.high, tt.n) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("numberTicks(%g, %g, %d): got %s, want %s", tt.low, tt.high, tt.n, got, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "\ufeffdate,x\r\n2024-01-01,\r\n", "a\n\"1\n", "x\n1e150\n-1e150\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := run(t, text, nil, nil)
		if r.Status == "error" && r.Error.Code == "PLUGIN.ERROR" {
			t.Errorf("%q: got %s, want a code of its own", text, r.Payload)
		}
	})
}

// ink is the share of pixels in the light theme's color of the line.
func ink(img image.Image) float64 {
	n, bounds := 0, img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if r, _, b, _ := img.At(x, y).RGBA(); r < 0x6000 && b > 0xd000 {
				n++
			}
		}
	}
	return float64(n) / float64(bounds.Dx()*bounds.Dy())
}

func pixels(img image.Image) []byte {
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		return nil
	}
	return buf.Bytes()
}

func sameStatistics(a, b summary) bool {
	left, _ := json.Marshal(a.Statistics)
	right, _ := json.Marshal(b.Statistics)
	return bytes.Equal(left, right)
}
