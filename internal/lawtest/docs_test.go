package lawtest

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"vcphost/abi"
	"vcphost/abi/schema"
	"vcphost/host/registry"
	"vcphost/host/validate"
	"vcphost/internal/rawjson"
)

// The pages in docs are for readers, and these tests hold them to the code: a
// table in them has the rows that the code has, an example passes the host's
// own checks, and a link leads somewhere.

func document(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(repository(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// source parses one file of the repository.
func source(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository(t), filepath.FromSlash(name)), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// constants gives the names and literal values of the constants of a file whose
// name begins with a prefix.
func constants(t *testing.T, name, prefix string) map[string]string {
	t.Helper()
	found := map[string]string{}
	ast.Inspect(source(t, name), func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, identifier := range spec.Names {
			if text, ok := literal(spec.Values[i]); ok && strings.HasPrefix(identifier.Name, prefix) {
				found[identifier.Name] = text
			}
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no constants %s…", name, prefix)
	}
	return found
}

func literal(e ast.Expr) (string, bool) {
	switch v := e.(type) {
	case *ast.UnaryExpr:
		text, ok := literal(v.X)
		return v.Op.String() + text, ok
	case *ast.BasicLit:
		if v.Kind != token.STRING {
			return v.Value, true
		}
		text, err := strconv.Unquote(v.Value)
		return text, err == nil
	}
	return "", false
}

func wantRow(t *testing.T, page, text, row string) {
	t.Helper()
	if !strings.Contains(text, "\n"+row) {
		t.Errorf("%s has no row that begins with %s", page, row)
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func TestDocsHaveEveryErrorCode(t *testing.T) {
	text := document(t, "protocol.md")
	for _, info := range abi.Codes() {
		who := "plugin, host"
		if info.HostOnly {
			who = "host"
		}
		wantRow(t, "protocol.md", text, fmt.Sprintf("| `%s` | %s | %s | %s |", info.Code, info.Category, yesNo(info.Retryable), who))
	}
}

func TestDocsHaveEveryWarning(t *testing.T) {
	text := document(t, "protocol.md")
	for _, code := range constants(t, "abi/payload.go", "Warning") {
		wantRow(t, "protocol.md", text, fmt.Sprintf("| `%s` |", code))
	}
}

// The status table is held against the function that has the rule.
func TestDocsHaveTheStatusTable(t *testing.T) {
	text := document(t, "protocol.md")
	failure := abi.NewError("X.Y", "m")
	allows := func(p abi.Payload) bool { return abi.CheckStatus(abi.PhaseHost, &p) == nil }
	for _, status := range abi.Statuses() {
		var states []string
		task := &abi.Task{ID: "t"}
		for _, state := range abi.TaskStates() {
			p := abi.Payload{Status: status, Data: json.RawMessage("0"), Error: failure, Task: &abi.Task{ID: "t", State: state}}
			without := p
			without.Error = nil
			if allows(p) || allows(without) {
				states = append(states, "`"+string(state)+"`")
				task.State = state
			}
		}
		base := abi.Payload{Status: status, Data: json.RawMessage("0"), Error: failure, Task: task}
		without := func(drop func(*abi.Payload)) abi.Payload {
			p := base
			drop(&p)
			return p
		}
		errorRule, noError := "required", without(func(p *abi.Payload) { p.Error = nil })
		switch {
		case allows(base) && allows(noError):
			errorRule = "optional"
		case allows(noError):
			errorRule, base = "absent", noError
		}
		dataRule, taskRule := "not null", "required"
		if allows(without(func(p *abi.Payload) { p.Data = nil })) {
			dataRule = "any"
		}
		if allows(without(func(p *abi.Payload) { p.Task = nil })) {
			taskRule = "optional"
		}
		wantRow(t, "protocol.md", text, fmt.Sprintf("| `%s` | %s | %s | %s | %s |", status, dataRule, errorRule, taskRule, strings.Join(states, ", ")))
	}
}

func TestDocsHaveEveryEnum(t *testing.T) {
	text := document(t, "protocol.md")
	var words []string
	words = appendWords(words, abi.Intents())
	words = appendWords(words, abi.RenderHints())
	words = appendWords(words, abi.Priorities())
	words = appendWords(words, abi.ResourceKinds())
	words = appendWords(words, abi.ResourceRoles())
	words = appendWords(words, abi.SourceTypes())
	words = appendWords(words, abi.AccessTypes())
	words = appendWords(words, abi.ActorTypes())
	words = appendWords(words, abi.OriginSources())
	words = appendWords(words, abi.Classifications())
	words = append(words, abi.HostExtensionKeys()...)
	for _, forbidden := range abi.ForbiddenMembers() {
		words = append(words, forbidden.Name)
	}
	for _, word := range words {
		if !strings.Contains(text, "`"+word+"`") {
			t.Errorf("protocol.md does not name %q", word)
		}
	}
}

func appendWords[T ~string](words []string, list []T) []string {
	for _, word := range list {
		words = append(words, string(word))
	}
	return words
}

func TestDocsHaveEveryHostFunction(t *testing.T) {
	text := document(t, "guest-abi.md")
	functions := 0
	ast.Inspect(source(t, "sandbox/vcp.go"), func(node ast.Node) bool {
		row, ok := node.(*ast.CompositeLit)
		if !ok || row.Type != nil || len(row.Elts) != 6 {
			return true
		}
		name, isText := literal(row.Elts[0])
		params, isCount := literal(row.Elts[1])
		result, isName := row.Elts[2].(*ast.Ident)
		count, err := strconv.Atoi(params)
		if !isText || !isCount || !isName || err != nil {
			return true
		}
		functions++
		returns := result.Name
		if returns == "nil" {
			returns = "()"
		}
		list := strings.Join(slices.Repeat([]string{"i32"}, count), ", ")
		wantRow(t, "guest-abi.md", text, fmt.Sprintf("| `%s` | `(%s) -> %s` |", name, list, returns))
		return false
	})
	if functions < 15 {
		t.Errorf("found %d host functions; the shape of vcpFunctions has changed, and this test must follow", functions)
	}
}

func TestDocsHaveEveryErrorNumberAndExport(t *testing.T) {
	text := document(t, "guest-abi.md")
	for name, number := range constants(t, "sandbox/hostfunc/errno.go", "E") {
		wantRow(t, "guest-abi.md", text, fmt.Sprintf("| %s | %s |", number, name))
	}
	for _, name := range constants(t, "sandbox/module.go", "export") {
		wantRow(t, "guest-abi.md", text, fmt.Sprintf("| `%s` |", name))
	}
}

func TestDocsHaveEveryManifestMember(t *testing.T) {
	named := map[string]bool{}
	for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(document(t, "manifest.md"), -1) {
		for _, word := range regexp.MustCompile(`[A-Za-z0-9_$]+`).FindAllString(span, -1) {
			named[word] = true
		}
	}
	var document any
	if err := json.Unmarshal(schema.Manifest(), &document); err != nil {
		t.Fatal(err)
	}
	eachProperty(document, func(name string) {
		if !named[name] {
			t.Errorf("manifest.md does not name the member %q", name)
		}
	})
}

// eachProperty visits the names under every "properties" of a schema.
func eachProperty(node any, visit func(name string)) {
	switch v := node.(type) {
	case []any:
		for _, element := range v {
			eachProperty(element, visit)
		}
	case map[string]any:
		for key, value := range v {
			properties, ok := value.(map[string]any)
			if key != "properties" || !ok {
				eachProperty(value, visit)
				continue
			}
			for name, child := range properties {
				visit(name)
				eachProperty(child, visit)
			}
		}
	}
}

// pages lists the Markdown files of docs.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(repository(t), "docs", "*.md"))
	if err != nil || len(list) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	return list
}

func TestDocsExamplesPass(t *testing.T) {
	compiler, err := validate.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```json\n(.*?)^```")
	seen := map[string]int{}
	for _, page := range pages(t) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, match := range block.FindAllSubmatch(raw, -1) {
			name := fmt.Sprintf("%s/%d", filepath.Base(page), i+1)
			t.Run(name, func(t *testing.T) { seen[checkExample(t, compiler, match[1])]++ })
		}
	}
	for _, kind := range []string{"manifest", "payload", "result"} {
		if seen[kind] == 0 {
			t.Errorf("no example is a %s", kind)
		}
	}
}

// checkExample tells what a block is by its members, and holds it to that.
func checkExample(t *testing.T, compiler *validate.Compiler, raw []byte) string {
	t.Helper()
	if err := rawjson.Check(raw, rawjson.Limits{}); err != nil {
		t.Fatalf("the example is no JSON: %v", err)
	}
	has := func(name string) bool {
		_, found := rawjson.At(raw, "/"+name)
		return found
	}
	switch {
	case has("pluginType"):
		checkManifest(t, raw)
		return "manifest"
	case has("protocol") && has("execution"):
		if problems := compiler.Result(raw); problems != nil {
			t.Errorf("the result does not pass: %+v", problems)
		}
		return "result"
	case has("status") && has("data"):
		phase := abi.PhaseSync
		if status, _ := rawjson.At(raw, "/status"); string(status) == `"accepted"` {
			phase = abi.PhaseFirst
		}
		if _, err := validate.Payload(raw, phase, rawjson.Limits{}); err != nil {
			t.Errorf("the payload does not pass: %v", err)
		}
		return "payload"
	}
	return "other"
}

// checkManifest loads the manifest as the host does, with an empty file where it
// names its module.
func checkManifest(t *testing.T, raw []byte) {
	t.Helper()
	folder := fstest.MapFS{registry.ManifestFile: {Data: raw}}
	if module, found := rawjson.At(raw, "/entryPoint/module"); found {
		name, _ := rawjson.Unquote(module)
		folder[name] = &fstest.MapFile{}
	}
	found, err := registry.New([]registry.Source{{Name: "docs", FS: folder, Trusted: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, plugin := range found.Snapshot().Plugins() {
		for _, refusal := range plugin.Refusals {
			t.Errorf("the manifest is refused at %q: %s", refusal.Pointer, refusal.Reason)
		}
		for _, notice := range plugin.Notices {
			t.Errorf("the manifest is odd at %q: %s", notice.Pointer, notice.Message)
		}
	}
}

func TestDocsLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllSubmatch(raw, -1) {
			target, anchor, _ := strings.Cut(string(match[1]), "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), filepath.FromSlash(target))
			}
			linked, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr != nil || err != nil && !info.IsDir() {
				t.Errorf("%s links to %s, which is not there", filepath.Base(page), match[1])
			} else if anchor != "" && !slices.Contains(anchors(linked), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", filepath.Base(page), match[1])
			}
		}
	}
}

// anchors lists the names under which a page's headings can be linked to.
func anchors(page []byte) []string {
	var list []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllSubmatch(page, -1) {
		name := strings.ToLower(string(heading[1]))
		name = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(name, "")
		list = append(list, strings.ReplaceAll(name, " ", "-"))
	}
	return list
}

// The decisions are numbered without gaps, and the files that they cite exist.
func TestDocsDecisionsCiteFiles(t *testing.T) {
	_, decisions, found := strings.Cut(document(t, "protocol.md"), "\n## Decisions\n")
	if !found {
		t.Fatal("protocol.md has no decisions")
	}
	lines := regexp.MustCompile(`(?m)^(\d+)\. .*— (.+)$`).FindAllStringSubmatch(decisions, -1)
	if count := len(regexp.MustCompile(`(?m)^\d+\. `).FindAllString(decisions, -1)); count == 0 || count != len(lines) {
		t.Errorf("%d decisions, %d of which cite code", count, len(lines))
	}
	for i, line := range lines {
		if line[1] != strconv.Itoa(i+1) {
			t.Errorf("decision %s stands at place %d", line[1], i+1)
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line[2], -1) {
			if _, err := os.Stat(filepath.Join(repository(t), filepath.FromSlash(name[1]))); err != nil {
				t.Errorf("decision %s cites %s, which is not there", line[1], name[1])
			}
		}
	}
}
