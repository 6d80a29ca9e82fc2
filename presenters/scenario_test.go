package presenters_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"vcphost/abi"
	"vcphost/presenters"
	"vcphost/presenters/ai"
	"vcphost/presenters/human"
	"vcphost/presenters/presentertest"
)

var update = flag.Bool("update", false, "rewrite the views in testdata from what the presenters give now")

// TestScenarios holds one result beside the views that its consumers get. A
// file of testdata has result.json (members that are left out are those of
// base) and may have budget.json; the views human.json, ai.md and ai.json
// (content and omitted, without the text) are compared, or written by -update.
// The comment at the top of a file says what it guards.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for name, got := range views(t, archive) {
				compare(t, archive, name, got)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// base is what a scenario need not say.
func base() *abi.Result {
	at := time.Date(2026, 7, 11, 15, 30, 0, 0, time.FixedZone("", 8*3600))
	return &abi.Result{
		Protocol: abi.Protocol{Name: abi.ProtocolName, Version: abi.ProtocolVersion},
		ID:       "tr_01JZX5T0C4Q0K7ZG4V4W9B2M3N",
		Execution: abi.Execution{
			InvocationID: "ti_01JZX5T0C4Q0K7ZG4V4W9B2M3P", RequestID: "req_01JZX5T0C4Q0K7ZG4V4W9B2M3Q",
			StartedAt: abi.Timestamp(at), FinishedAt: abi.Timestamp(at.Add(23 * time.Millisecond)),
			DurationMs: 23, TimeoutMs: 60000, Attempt: 1,
		},
		Origin: abi.Origin{Source: abi.FromCLI, ServerID: "local"},
		Policy: abi.Policy{Classification: abi.ClassificationInternal},
	}
}

func views(t *testing.T, archive *txtar.Archive) map[string][]byte {
	t.Helper()
	result, budget := base(), ai.Budget{}
	for _, f := range archive.Files {
		var err error
		switch f.Name {
		case "result.json":
			err = json.Unmarshal(f.Data, result)
		case "budget.json":
			err = json.Unmarshal(f.Data, &budget)
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
	}
	out := map[string][]byte{}
	presentertest.Unchanged(t, result, func() {
		out["human.json"] = humanView(t, result)
		projection := ai.Present(newView(t, result, presenters.ConsumerAI), budget)
		out["ai.md"] = []byte(projection.Text)
		out["ai.json"] = rest(t, projection)
		if n := utf8.RuneCountInString(projection.Text); budget.MaxCharacters > 0 && n > budget.MaxCharacters {
			t.Errorf("the text has %d characters, %d are allowed", n, budget.MaxCharacters)
		}
	})
	return out
}

func humanView(t *testing.T, result *abi.Result) []byte {
	t.Helper()
	raw, err := human.PresentIndent(newView(t, result, presenters.ConsumerHuman), "  ")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// rest is a projection without the text, which has a file of its own.
func rest(t *testing.T, p *ai.Projection) []byte {
	t.Helper()
	if len(p.Content) == 0 || p.Content[0] != (ai.Part{Type: ai.PartText, Text: p.Text}) {
		t.Errorf("the first part is not the text: %+v", p.Content)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(struct {
		Media   []ai.Part  `json:"media,omitempty"`
		Omitted ai.Omitted `json:"omitted"`
	}{p.Content[1:], p.Omitted})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func newView(t testing.TB, result *abi.Result, consumer presenters.Consumer) *presenters.View {
	t.Helper()
	owner := presentertest.Owner()
	view, err := presenters.NewView(result, owner, presenters.Viewer{Viewer: abi.Viewer{Owner: owner}, Consumer: consumer})
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func compare(t *testing.T, archive *txtar.Archive, name string, got []byte) {
	t.Helper()
	got = append(bytes.TrimRight(got, "\n"), '\n')
	for i, f := range archive.Files {
		if f.Name != name {
			continue
		}
		if *update {
			archive.Files[i].Data = got
		} else if !bytes.Equal(f.Data, got) {
			t.Errorf("%s differs; got:\n%s\nwant:\n%s", name, got, f.Data)
		}
		return
	}
	if !*update {
		t.Errorf("%s is missing; run with -update", name)
		return
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: got})
}
