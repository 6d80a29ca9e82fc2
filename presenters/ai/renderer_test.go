package ai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/presenters"
	"vcphost/presenters/ai"
)

func image(id string, role abi.ResourceRole, mime string) abi.Resource {
	return abi.Resource{ID: id, Kind: abi.KindImage, Role: role, MIMEType: mime, FileName: id + ".bin", SizeBytes: 10}
}

func TestRendererIsChosenByMeaning(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*abi.Result)
		want   string // a line that only the wanted renderer writes
		absent string
	}{
		{"preferred image", func(r *abi.Result) {
			r.Presentation = &abi.Presentation{PreferredView: "image-result", PrimaryResourceID: "res_a"}
		}, "Image: res_a.bin", ""},
		{"no wish, primary image", func(r *abi.Result) {
			r.Presentation = &abi.Presentation{PrimaryResourceID: "res_a"}
		}, "Image: res_a.bin", ""},
		{"file view of an image", func(r *abi.Result) {
			r.Presentation = &abi.Presentation{PreferredView: "file-result", PrimaryResourceID: "res_a"}
		}, "Image: res_a.bin", ""},
		{"first output where none is named", func(r *abi.Result) {
			r.Presentation = &abi.Presentation{PreferredView: "image-result"}
		}, "Image: res_b.bin", ""},
		{"other view", func(r *abi.Result) {
			r.Presentation = &abi.Presentation{PreferredView: "kanban-board", PrimaryResourceID: "res_a"}
		}, "Data:", "Image:"},
		{"image view without resources", func(r *abi.Result) {
			r.Resources, r.Presentation = nil, &abi.Presentation{PreferredView: "image-result"}
		}, "Data:", "Image:"},
		{"failed", func(r *abi.Result) {
			r.Status, r.Error = abi.StatusError, abi.NewError("X.Y", "no")
			r.Presentation = &abi.Presentation{PreferredView: "image-result", PrimaryResourceID: "res_a"}
		}, "Diagnostic data:", "Image:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result := success(`{"x":1}`)
			result.Resources = []abi.Resource{image("res_a", abi.RolePreview, "image/png"), image("res_b", abi.RoleOutput, "image/png")}
			tt.change(result)
			text := "\n" + ai.Present(view(t, result), ai.Budget{}).Text
			if !strings.Contains(text, "\n"+tt.want) {
				t.Errorf("no line %q in\n%s", tt.want, text)
			}
			if tt.absent != "" && strings.Contains(text, "\n"+tt.absent) {
				t.Errorf("a line %q in\n%s", tt.absent, text)
			}
		})
	}
}

func TestMediaFollowTheModel(t *testing.T) {
	result := success(`null`)
	audio := abi.Resource{ID: "res_sound", Kind: abi.KindAudio, Role: abi.RoleOutput, MIMEType: "audio/wav", FileName: "s.wav"}
	result.Resources = []abi.Resource{
		image("res_out", abi.RoleOutput, "image/png"), image("res_svg", abi.RoleOutput, "image/svg+xml"), audio,
		image("res_in", abi.RoleInput, "image/png"), image("res_late", abi.RoleIntermediate, "image/png"),
	}
	for _, tt := range []struct {
		name   string
		budget ai.Budget
		want   string
	}{
		{"text only", ai.Budget{MaxResources: 9}, ""},
		{"vision", ai.Budget{MaxResources: 9, Vision: true}, "image res_out"},
		{"audio", ai.Budget{MaxResources: 9, Audio: true}, "audio res_sound"},
		{"both", ai.Budget{MaxResources: 9, Vision: true, Audio: true}, "image res_out audio res_sound"},
		{"no resources wanted", ai.Budget{MaxResources: -1, Vision: true}, ""},
		{"beyond the limit", ai.Budget{MaxResources: 1, Vision: true, Audio: true}, "image res_out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := ai.Present(view(t, result), tt.budget)
			var got []string
			for _, part := range p.Content[1:] {
				got = append(got, string(part.Type), part.ResourceID)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
			if len(p.Omitted.Resources) != max(0, 5-max(tt.budget.MaxResources, 0)) {
				t.Errorf("omitted: %+v", p.Omitted.Resources)
			}
		})
	}
}

func TestAdviceNamesOnlyWhatIsListed(t *testing.T) {
	result := success(`{"x":1}`)
	result.Resources = []abi.Resource{image("res_a", abi.RoleOutput, "image/png")}
	for _, tt := range []struct {
		name   string
		advice abi.AIAdvice
		want   []string
		absent []string
	}{
		{"shown", abi.AIAdvice{Intent: abi.IntentDisplayResource, Message: "Show it.", ResourceIDs: []string{"res_a"}, RenderHint: abi.RenderImage},
			[]string{"intent: display_resource; resources: res_a.bin (res_a); form: image", "message: Show it."}, nil},
		{"hidden", abi.AIAdvice{Intent: abi.IntentDisplayResource, Message: "Show it.", ResourceIDs: []string{"res_a", "res_secret"}},
			[]string{"> intent: relay\n"}, []string{"res_secret", "Show it."}},
		{"display of nothing", abi.AIAdvice{Intent: abi.IntentDisplayResource, RenderHint: abi.RenderImage}, []string{"> intent: relay\n"}, []string{"form:"}},
		{"none", abi.AIAdvice{Intent: abi.IntentNone}, nil, []string{"advice"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result.AIAdvice = &tt.advice
			text := ai.Present(view(t, result), ai.Budget{}).Text + "\n"
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			for _, absent := range tt.absent {
				if strings.Contains(text, absent) {
					t.Errorf("%q in\n%s", absent, text)
				}
			}
		})
	}
}

func TestRegisteredRendererComesFirst(t *testing.T) {
	registry := ai.NewRegistry()
	registry.Register(ai.Renderer{
		Name:  "dice",
		Match: func(r *abi.Result, _ json.RawMessage) bool { return r.Presentation.PreferredView == "dice" },
		Render: func(p *ai.Page) {
			p.Line("Dice: " + p.Text("<b>"+string(p.Data()[:1])))
			p.Value("Rolls", "rolls")
			p.Value("Absent", "no", "such")
		},
	})
	result := success(`{"rolls":[3,4,"a/b"],"a/b":1}`)
	result.Presentation = &abi.Presentation{PreferredView: "dice"}
	p := registry.Present(view(t, result), ai.Budget{})
	if want := "**Tool.Command**: success\n\nDice: &lt;b>{\nRolls: 3, 4, a/b"; p.Text != want {
		t.Errorf("got %q, want %q", p.Text, want)
	}
}

func ExamplePresent() {
	owner := abi.Owner{Tenant: "default", Actor: "ada"}
	result := &abi.Result{
		ID: "tr_01JZX5T0C4Q0K7ZG4V4W9B2M3N", Status: abi.StatusSuccess,
		Tool: abi.Tool{Name: "Dice", Command: "Roll"},
		Data: json.RawMessage(`{"rolls":[{"die":"d6","value":4},{"die":"d20","value":17}],"sum":21}`),
	}
	view, err := presenters.NewView(result, owner, presenters.Viewer{
		Viewer: abi.Viewer{Owner: owner}, Consumer: presenters.ConsumerAI,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ai.Present(view, ai.Budget{MaxCharacters: 2000}).Text)
	// Output:
	// **Dice.Roll**: success
	//
	// Data:
	// - rolls:
	//
	//   | die | value |
	//   | --- | --- |
	//   | d6 | 4 |
	//   | d20 | 17 |
	// - sum: 21
}
