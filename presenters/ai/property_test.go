package ai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"vcphost/abi"
	"vcphost/internal/rawjson"
	"vcphost/presenters"
	"vcphost/presenters/ai"
	"vcphost/presenters/presentertest"
)

func view(t testing.TB, result *abi.Result) *presenters.View {
	t.Helper()
	owner := presentertest.Owner()
	v, err := presenters.NewView(result, owner, presenters.Viewer{Viewer: abi.Viewer{Owner: owner}, Consumer: presenters.ConsumerAI})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func success(data string) *abi.Result {
	return &abi.Result{
		ID: "tr_01JZX5T0C4Q0K7ZG4V4W9B2M3N", Status: abi.StatusSuccess,
		Tool: abi.Tool{Name: "Tool", Command: "Command"}, Data: json.RawMessage(data),
	}
}

// checkHonest holds a projection of data against what every projection promises.
func checkHonest(t *testing.T, result *abi.Result, budget ai.Budget, p *ai.Projection) {
	t.Helper()
	limit := budget.MaxCharacters
	if n := utf8.RuneCountInString(p.Text); n > limit {
		t.Errorf("budget %d: the text has %d characters", limit, n)
	}
	if !utf8.ValidString(p.Text) {
		t.Errorf("budget %d: the text is not UTF-8", limit)
	}
	if !strings.HasPrefix(p.Text, "**"+result.Tool.Name) {
		t.Errorf("budget %d: the text does not begin with the status: %.80q", limit, p.Text)
	}
	for _, f := range p.Omitted.Fields {
		pointer, inData := strings.CutPrefix(f.Pointer, "/data")
		if !inData {
			continue
		}
		value, ok := rawjson.At(result.Data, pointer)
		if !ok {
			t.Errorf("budget %d: omitted %s does not exist", limit, f.Pointer)
			continue
		}
		if want := measure(value); f.OriginalCount != want || f.ShownCount >= want || f.ShownCount < 0 {
			t.Errorf("budget %d: omitted %+v; want an original count of %d, and less shown", limit, f, want)
		}
	}
	checkShownOnly(t, result, p)
	if cut := len(p.Omitted.Fields)+len(p.Omitted.Resources) > 0; cut && !strings.Contains(p.Text, "showing") && !strings.Contains(p.Text, "Shortened.") {
		t.Errorf("budget %d: the text was cut and does not say so: %q", limit, p.Text)
	}
}

// checkShownOnly: nothing is listed twice, and no cut is listed that lies in an
// element which is not shown itself.
func checkShownOnly(t *testing.T, result *abi.Result, p *ai.Projection) {
	t.Helper()
	shown := map[string]int{}
	for _, f := range p.Omitted.Fields {
		if _, twice := shown[f.Pointer]; twice {
			t.Errorf("%s is listed twice", f.Pointer)
		}
		shown[f.Pointer] = f.ShownCount
	}
	for pointer := range shown {
		for outer := pointer; outer != ""; {
			cut := strings.LastIndexByte(outer, '/')
			token := outer[cut+1:]
			outer = outer[:cut]
			count, listed := shown[outer]
			value, _ := rawjson.At(result.Data, strings.TrimPrefix(outer, "/data"))
			if index, err := strconv.Atoi(token); listed && err == nil && rawjson.KindOf(value) == rawjson.Array && index >= count {
				t.Errorf("%s is listed, but of %s only %d are shown", pointer, outer, count)
			}
		}
	}
}

func measure(value []byte) int {
	switch rawjson.KindOf(value) {
	case rawjson.Array, rawjson.Object:
		return rawjson.Len(value)
	case rawjson.String:
		s, _ := rawjson.Unquote(value)
		return utf8.RuneCountInString(s)
	}
	return 1
}

// TestEverythingIsShownOrListed makes documents of which each leaf is unique,
// and looks for each of them in the text or below a pointer that is listed.
func TestEverythingIsShownOrListed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		maker := &maker{random: random, leaves: map[string]string{}}
		data := maker.value("/data", 0)
		result := success(data)
		budget := ai.Budget{MaxCharacters: 200 + random.IntN(3000), MaxDepth: 1 + random.IntN(6)}
		p := ai.Present(view(t, result), budget)
		checkHonest(t, result, budget, p)
		for marker, pointer := range maker.leaves {
			if !strings.Contains(p.Text, marker) && !covered(p.Omitted.Fields, pointer) {
				t.Fatalf("budget %+v: %s (%s) is neither shown nor listed\ndata: %.2000s\ntext:\n%.2000s\nomitted: %+v",
					budget, pointer, marker, data, p.Text, p.Omitted.Fields)
			}
		}
	}
}

// TestWhatFitsIsNotCut: a budget with room to spare omits nothing.
func TestWhatFitsIsNotCut(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		maker := &maker{random: random, leaves: map[string]string{}}
		data := maker.value("/data", 0)
		budget := ai.Budget{MaxCharacters: 8*len(data) + 2000, MaxDepth: 20}
		if p := ai.Present(view(t, success(data)), budget); len(p.Omitted.Fields) > 0 {
			t.Fatalf("%d characters allowed, %d used, and yet omitted: %+v\ndata: %s",
				budget.MaxCharacters, utf8.RuneCountInString(p.Text), p.Omitted.Fields[:1], data[:min(len(data), 2000)])
		}
	}
}

func covered(fields []ai.OmittedField, pointer string) bool {
	for _, f := range fields {
		if pointer == f.Pointer || strings.HasPrefix(pointer, f.Pointer+"/") {
			return true
		}
	}
	return false
}

// maker makes random documents and keeps where each unique leaf is.
type maker struct {
	random *rand.Rand
	leaves map[string]string // marker to pointer
}

func (m *maker) value(pointer string, depth int) string {
	if len(m.leaves) > 300 {
		return m.leaf(pointer, 9)
	}
	switch kind := m.random.IntN(10); {
	case kind < 3 && depth < 6:
		return m.container(pointer, depth, '[', ']')
	case kind < 6 && depth < 6:
		return m.container(pointer, depth, '{', '}')
	}
	return m.leaf(pointer, m.random.IntN(20))
}

func (m *maker) leaf(pointer string, kind int) string {
	marker := fmt.Sprintf("%d", 1000000+len(m.leaves))
	m.leaves[marker] = pointer
	switch kind {
	case 0:
		return `"` + strings.Repeat("long text 长 ", m.random.IntN(60)) + `\n` + marker + `"`
	case 1:
		return `"` + strings.Repeat("a|b <i> ", m.random.IntN(8)) + marker + `"`
	case 2:
		return `"x` + marker + `\n\n` + "```" + `\nfunc main() {\n}"`
	case 3, 4, 5:
		return `"w` + marker + `"`
	}
	return marker
}

func (m *maker) container(pointer string, depth int, open, end byte) string {
	count := m.random.IntN(8)
	if m.random.IntN(8) == 0 {
		count = m.random.IntN(120)
	}
	flat := m.random.IntN(3) == 0
	var out strings.Builder
	out.WriteByte(open)
	for i := range count {
		if i > 0 {
			out.WriteByte(',')
		}
		token := fmt.Sprint(i)
		if open == '{' {
			token = fmt.Sprintf("k%d", i)
			fmt.Fprintf(&out, "%q:", token)
		}
		at := pointer + "/" + token
		switch {
		case flat && open == '[' && depth < 6:
			fmt.Fprintf(&out, `{"a":%s,"b":%s}`, m.leaf(at+"/a", 9), m.leaf(at+"/b", 3))
		case flat:
			out.WriteString(m.leaf(at, 9))
		default:
			out.WriteString(m.value(at, depth+1))
		}
	}
	out.WriteByte(end)
	return out.String()
}

func FuzzPresent(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[]`, `"text"`, `[1,2,3]`, `{"rows":[{"a":1,"b":"x|y"},{"a":2,"b":null}]}`, `[[[[[[[[[[1]]]]]]]]]]`,
		`"\ud83d\ude00\u0000\u202e<script>"`, `{"a":{"$resource":"res_1"},"":"","k\n":[null,true,-0.0e5]}`,
		`"# x\n` + "```" + `\n<b>\n` + "```" + `\n"`, `{"code":"a\nb","html":"<b>"}`,
	} {
		f.Add([]byte(seed), uint16(200), uint8(8))
		f.Add([]byte(seed), uint16(5000), uint8(2))
	}
	f.Fuzz(func(t *testing.T, data []byte, characters uint16, depth uint8) {
		if rawjson.Check(data, rawjson.Limits{}) != nil {
			t.Skip()
		}
		result := success(string(data))
		budget := ai.Budget{MaxCharacters: max(int(characters), 200), MaxDepth: int(depth)}
		presentertest.Unchanged(t, result, func() {
			checkHonest(t, result, budget, ai.Present(view(t, result), budget))
		})
		small := ai.Budget{MaxCharacters: 1 + int(characters)%200}
		if p := ai.Present(view(t, result), small); utf8.RuneCountInString(p.Text) > small.MaxCharacters {
			t.Errorf("budget %d is exceeded: %q", small.MaxCharacters, p.Text)
		}
	})
}

// megabytes are results of 5 MB in the shapes that could be slow.
func megabytes() map[string]string {
	const size = 5 << 20
	repeat := func(open, item, end string) string {
		return open + strings.Repeat(item+",", size/(len(item)+1)) + item + end
	}
	var wide strings.Builder
	wide.WriteByte('{')
	for i := 0; wide.Len() < size; i++ {
		fmt.Fprintf(&wide, `"member%d":"value %d",`, i, i)
	}
	wide.WriteString(`"last":0}`)
	return map[string]string{
		"table":    `{"rows":` + repeat("[", `{"day":"2026-01-01","close":101.25,"volume":123456}`, "]") + `,"total":1}`,
		"numbers":  repeat("[", "3.14159", "]"),
		"list":     repeat("[", `{"id":7,"tags":["a","b"],"body":{"text":"some words","n":[1,2,{"x":3}]}}`, "]"),
		"string":   `{"text":"` + strings.Repeat(`line of text\n`, size/14) + `"}`,
		"escapes":  `"` + strings.Repeat(`\u0041`, size/6) + `"`,
		"oneLine":  `{"html":"` + strings.Repeat("<b>x</b> ", size/9) + `","n":1}`,
		"wide":     wide.String(),
		"fewLarge": `{"a":` + repeat("[", `"word"`, "]")[:size/14*7-1] + `],"b":` + repeat("[", `{"x":1}`, "]")[:size/16*8] + `]}`,
		"deep":     strings.Repeat(`{"a":`, 60) + repeat("[", `1`, "]") + strings.Repeat("}", 60),
	}
}

func BenchmarkPresent5MB(b *testing.B) {
	for name, data := range megabytes() {
		b.Run(name, func(b *testing.B) {
			v := view(b, success(data))
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				ai.Present(v, ai.Budget{})
			}
		})
	}
}

// TestLargeResultsAllocateLittle holds the memory of a projection against the
// promise that only what is shown is read into text.
func TestLargeResultsAllocateLittle(t *testing.T) {
	const most = 4 << 20
	for name, data := range megabytes() {
		t.Run(name, func(t *testing.T) {
			v := view(t, success(data))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text := ai.Present(v, ai.Budget{}).Text
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("%d bytes are allocated, at most %d are wanted", got, most)
			}
			if n := utf8.RuneCountInString(text); n < ai.DefaultMaxCharacters*3/4 && name != "deep" {
				t.Errorf("only %d of %d characters are used", n, ai.DefaultMaxCharacters)
			}
		})
	}
}

func TestPresentIsSafeForConcurrentUse(t *testing.T) {
	v := view(t, presentertest.Full())
	want := ai.Present(v, ai.Budget{}).Text
	done := make(chan string)
	for range 8 {
		go func() { done <- ai.Present(v, ai.Budget{}).Text }()
	}
	for range 8 {
		if got := <-done; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestProjectionJSON(t *testing.T) {
	raw, err := json.Marshal(ai.Present(view(t, success("1")), ai.Budget{}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"text":"**Tool.Command**: success\n\nData: 1","content":[{"type":"text","text":"**Tool.Command**: success\n\nData: 1"}],"omitted":{"fields":[],"resources":[]}}`
	if !bytes.Equal(raw, []byte(want)) {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}
