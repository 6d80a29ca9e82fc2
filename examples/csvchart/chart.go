package main

import (
	"cmp"
	"image"
	"math"
	"slices"
	"time"

	"github.com/go-analyze/charts/chartdraw"
	"github.com/go-analyze/charts/chartdraw/drawing"
)

const (
	kindLine = "line"
	kindBar  = "bar"

	barPixels = 16 // the least width of a bar with the space beside it

	// strokePoints is how much of a line is drawn at once: the rasterizer keeps
	// each pixel that a stroke crosses, 32 MB for a jagged line of 4000 points.
	strokePoints = 64
)

// picture is a chart before it is drawn.
type picture struct {
	column       *column
	dates        *dateAxis // nil: rows are counted
	axis         string
	kind, title  string
	size         size
	theme        colors
	points       []point // sorted by x; y is NaN where the line breaks
	rowsPerPoint int
}

// point is one place of the chart: seconds since 1970 or number of the row, and
// the value.
type point struct{ x, y float64 }

func newPicture(t *table, c *column, args plotArgs) *picture {
	p := &picture{
		column: c, dates: t.dates, axis: "row", kind: args.Kind, title: cmp.Or(args.Title, c.name), size: args.Size,
	}
	if t.dates != nil && t.dates.layout == "" {
		p.dates = nil // a first column without any cell
	}
	if p.dates != nil {
		p.axis = t.columns[0].name
	}
	points := make([]point, 0, t.rows)
	for i := range c.values.n {
		at := point{x: float64(i + 1), y: c.values.at(i)}
		if p.dates != nil {
			at.x = p.dates.seconds.at(i)
		}
		if !math.IsNaN(at.x) {
			points = append(points, at)
		}
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	p.reduce(points)
	return p
}

// reduce leaves no more points than can be seen. A line keeps the lowest and
// the highest of those that fall together, in their order; a bar is their mean.
func (p *picture) reduce(points []point) {
	target := 4 * p.size.Width
	if p.kind == kindBar {
		target = p.size.Width / barPixels
	}
	group := (len(points) + target - 1) / target
	if group <= 1 {
		p.points, p.rowsPerPoint = points, 1
		return
	}
	p.rowsPerPoint = group
	if p.kind == kindLine {
		group *= 2 // for each pair that is left
	}
	for chunk := range slices.Chunk(points, group) {
		if p.kind == kindBar {
			p.points = append(p.points, meanPoint(chunk))
		} else {
			p.points = append(p.points, extremes(chunk)...)
		}
	}
}

func meanPoint(points []point) point {
	var sum float64
	n := 0
	for _, at := range points {
		if !math.IsNaN(at.y) {
			n++
			sum += at.y
		}
	}
	middle := points[0].x + (points[len(points)-1].x-points[0].x)/2
	return point{x: middle, y: sum / float64(n)} // NaN for none
}

func extremes(points []point) []point {
	low, high := -1, -1
	for i, at := range points {
		if math.IsNaN(at.y) {
			continue
		}
		if low < 0 || at.y < points[low].y {
			low = i
		}
		if high < 0 || at.y > points[high].y {
			high = i
		}
	}
	if low < 0 {
		return points[:1]
	}
	return []point{points[min(low, high)], points[max(low, high)]}
}

func (p *picture) describe() plotted {
	out := plotted{
		Column: p.column.name, Kind: p.kind, Axis: p.axis,
		Values: p.column.values.n - p.column.missing, RowsPerPoint: p.rowsPerPoint,
	}
	if p.dates == nil {
		return out
	}
	first, last := math.Inf(1), math.Inf(-1)
	for i := range p.dates.seconds.n {
		if x := p.dates.seconds.at(i); !math.IsNaN(x) {
			first, last = min(first, x), max(last, x)
		}
	}
	layout := time.RFC3339
	if len(p.dates.layout) <= len(time.DateOnly) {
		layout = time.DateOnly
	}
	from, to := date(first).Format(layout), date(last).Format(layout)
	out.From, out.To = &from, &to
	return out
}

func date(seconds float64) time.Time { return time.Unix(int64(seconds), 0).UTC() }

// titleReadable reports whether the font has a glyph for each letter.
func (p *picture) titleReadable() bool {
	font := chartdraw.GetDefaultFont()
	for _, r := range p.title {
		if font.Index(r) == 0 {
			return false
		}
	}
	return true
}

func (p *picture) draw() (image.Image, error) {
	xs, ys := p.axes()
	chart := chartdraw.Chart{
		Width: p.size.Width, Height: p.size.Height, ColorPalette: p.theme,
		Title: p.title, TitleStyle: chartdraw.Style{FontStyle: chartdraw.FontStyle{FontSize: 14}},
		Background: chartdraw.Style{Padding: chartdraw.Box{Top: 44, Left: 12, Right: 24, Bottom: 12, IsSet: true}},
		XAxis: chartdraw.XAxis{
			Range: xs, GridMajorStyle: p.theme.gridStyle(), GridMinorStyle: p.theme.gridStyle(),
		},
		// The library's secondary axis is the one on the left; the other one is
		// hidden, and still has to have a range.
		YAxis: chartdraw.YAxis{Style: chartdraw.Hidden(), Range: ys},
		YAxisSecondary: chartdraw.YAxis{
			Range: ys, GridMajorStyle: p.theme.gridStyle(), GridMinorStyle: p.theme.gridStyle(),
		},
		Series: []chartdraw.Series{series{picture: p}},
	}
	var collected chartdraw.ImageWriter
	if err := chart.Render(chartdraw.PNG, &collected); err != nil {
		return nil, err
	}
	return collected.Image()
}

// axes gives the ranges of the chart; neither is ever empty.
func (p *picture) axes() (x, y *scale) {
	left, right := p.points[0].x, p.points[len(p.points)-1].x
	low, high := math.Inf(1), math.Inf(-1)
	for _, at := range p.points {
		if !math.IsNaN(at.y) {
			low, high = min(low, at.y), max(high, at.y)
		}
	}
	if low > high { // every number stands in a row without a date
		low, high = 0, 0
	}
	if p.kind == kindBar {
		low, high = min(low, 0), max(high, 0)
		half := (right - left) / float64(max(len(p.points)-1, 1)) / 2
		left, right = left-half, right+half
	}
	if right <= left {
		half := 0.5
		if p.dates != nil {
			half = (12 * time.Hour).Seconds()
		}
		left, right = left-half, right+half
	}
	if high <= low {
		half := cmp.Or(math.Abs(low)/10, 1)
		low, high = low-half, high+half
	}
	room := max(p.size.Width/80, 2) // pixels that a label takes
	if p.dates != nil {
		x = newScale(left, right, dateTicks(left, right, room))
	} else {
		x = newScale(left, right, numberTicks(left, right, room))
	}
	ticks := numberTicks(low, high, max(p.size.Height/60, 2))
	first, last := ticks[0].Value, ticks[len(ticks)-1].Value
	return x, newScale(min(low, first), max(high, last), ticks)
}

// series draws the points; it breaks the line where a value is missing, which
// the library's own series does not.
type series struct{ picture *picture }

func (s series) GetName() string               { return s.picture.column.name }
func (s series) GetYAxis() chartdraw.YAxisType { return chartdraw.YAxisSecondary }
func (s series) GetStyle() chartdraw.Style     { return chartdraw.Style{} }
func (s series) Validate() error               { return nil }
func (s series) Render(r chartdraw.Renderer, box chartdraw.Box, xs, ys chartdraw.Range, _ chartdraw.Style) {
	ink := s.picture.theme.line
	r.ResetStyle()
	r.SetStrokeColor(ink)
	r.SetFillColor(ink)
	r.SetStrokeWidth(1.5)
	at := func(p point) (int, int) { return box.Left + xs.Translate(p.x), box.Bottom - ys.Translate(p.y) }
	if s.picture.kind == kindBar {
		s.bars(r, box, ys, at)
		return
	}
	isGap := func(p point) bool { return math.IsNaN(p.y) }
	for points := s.picture.points; len(points) > 0; {
		if isGap(points[0]) {
			points = points[1:]
			continue
		}
		end := slices.IndexFunc(points, isGap)
		if end < 0 {
			end = len(points)
		}
		stretch(r, points[:end], at)
		points = points[end:]
	}
}

// stretch draws a line without gaps; a single point is a dot.
func stretch(r chartdraw.Renderer, points []point, at func(point) (int, int)) {
	x, y := at(points[0])
	if len(points) == 1 {
		r.Circle(1.5, x, y)
		r.Fill()
		return
	}
	for len(points) > 1 {
		n := min(len(points), strokePoints)
		r.MoveTo(at(points[0]))
		for _, p := range points[1:n] {
			r.LineTo(at(p))
		}
		r.Stroke()
		points = points[n-1:]
	}
}

func (s series) bars(r chartdraw.Renderer, box chartdraw.Box, ys chartdraw.Range, at func(point) (int, int)) {
	width := max((box.Right-box.Left)/len(s.picture.points)*3/4, 1)
	zero := box.Bottom - ys.Translate(0)
	for _, p := range s.picture.points {
		if math.IsNaN(p.y) {
			continue
		}
		x, y := at(p)
		left := x - width/2
		r.MoveTo(left, zero)
		r.LineTo(left+width, zero)
		r.LineTo(left+width, y)
		r.LineTo(left, y)
		r.Close()
		r.Fill()
	}
}

// colors is a theme, as the library asks for one.
type colors struct{ paper, text, axis, grid, line drawing.Color }

func light() colors {
	return colors{
		paper: drawing.ColorFromHex("ffffff"), text: drawing.ColorFromHex("24292f"), axis: drawing.ColorFromHex("8c959f"),
		grid: drawing.ColorFromHex("e4e7eb"), line: drawing.ColorFromHex("1f6feb"),
	}
}

func dark() colors {
	return colors{
		paper: drawing.ColorFromHex("0d1117"), text: drawing.ColorFromHex("d0d7de"), axis: drawing.ColorFromHex("6e7681"),
		grid: drawing.ColorFromHex("21262d"), line: drawing.ColorFromHex("58a6ff"),
	}
}

func (c colors) gridStyle() chartdraw.Style {
	return chartdraw.Style{StrokeColor: c.grid, StrokeWidth: 1}
}

func (c colors) BackgroundColor() drawing.Color       { return c.paper }
func (c colors) BackgroundStrokeColor() drawing.Color { return c.paper }
func (c colors) CanvasColor() drawing.Color           { return c.paper }
func (c colors) CanvasStrokeColor() drawing.Color     { return c.paper }
func (c colors) AxisStrokeColor() drawing.Color       { return c.axis }
func (c colors) TextColor() drawing.Color             { return c.text }
func (c colors) GetSeriesColor(int) drawing.Color     { return c.line }
