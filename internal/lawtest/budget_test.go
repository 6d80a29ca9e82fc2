package lawtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Hard limits of code that is not a test.
const (
	maxFileLines     = 500
	maxFunctionLines = 60
	maxParameters    = 5 // the context included
	maxMethods       = 5 // of an interface
)

// exceptions are the places that break a limit for a reason.
var exceptions = map[string]string{
	"internal/kv.DB": "it is the whole contract of the store, and both stores implement all of it",
}

// checkedFile is one source file of the module, parsed.
type checkedFile struct {
	name string // relative to the repository
	pkg  string // folder, relative to the repository
	file *ast.File
	set  *token.FileSet
}

func sources(t *testing.T) []checkedFile {
	t.Helper()
	root := repository(t)
	var list []checkedFile
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			set := token.NewFileSet()
			path := filepath.Join(p.Dir, name)
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, checkedFile{filepath.ToSlash(relative), filepath.ToSlash(filepath.Dir(relative)), file, set})
		}
	}
	return list
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func TestBudgets(t *testing.T) {
	for _, source := range sources(t) {
		if lines := source.set.File(source.file.Pos()).LineCount(); lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", source.name, lines, maxFileLines)
		}
		ast.Inspect(source.file, func(node ast.Node) bool {
			checkNode(t, source, node)
			return true
		})
	}
}

func checkNode(t *testing.T, source checkedFile, node ast.Node) {
	t.Helper()
	switch n := node.(type) {
	case *ast.FuncDecl:
		where := source.set.Position(n.Pos())
		if n.Body != nil {
			if lines := source.set.Position(n.Body.End()).Line - source.set.Position(n.Body.Pos()).Line; lines > maxFunctionLines {
				t.Errorf("%s:%d: %s has %d lines, more than %d", source.name, where.Line, n.Name, lines, maxFunctionLines)
			}
		}
		if count := n.Type.Params.NumFields(); count > maxParameters {
			t.Errorf("%s:%d: %s has %d parameters, more than %d", source.name, where.Line, n.Name, count, maxParameters)
		}
	case *ast.TypeSpec:
		methods, ok := n.Type.(*ast.InterfaceType)
		if ok && methods.Methods.NumFields() > maxMethods && exceptions[source.pkg+"."+n.Name.Name] == "" {
			t.Errorf("%s: the interface %s has %d methods, more than %d", source.name, n.Name, methods.Methods.NumFields(), maxMethods)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, source := range sources(t) {
		for _, declaration := range source.file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && receiverExported(d) && d.Doc == nil {
					t.Errorf("%s: %s is exported and has no comment", source.name, d.Name)
				}
			case *ast.GenDecl:
				for _, name := range undocumented(d) {
					t.Errorf("%s: %s is exported and has no comment", source.name, name)
				}
			}
		}
	}
}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	receiver := d.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}

// undocumented lists the exported names of a declaration that neither it nor
// their own line documents.
func undocumented(d *ast.GenDecl) []string {
	if d.Doc != nil {
		return nil
	}
	var names []string
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && s.Comment == nil {
				names = append(names, s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc == nil && s.Comment == nil {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

var unfinished = regexp.MustCompile(`(?i)\b(todo|fixme|xxx|for now|not yet implemented)\b`)

func TestNothingIsLeftForLater(t *testing.T) {
	for _, source := range sources(t) {
		for _, group := range source.file.Comments {
			if found := unfinished.FindString(group.Text()); found != "" {
				t.Errorf("%s:%d: the comment says %q: finish it, or name it in ROUGH_EDGES.md", source.name,
					source.set.Position(group.Pos()).Line, strings.TrimSpace(found))
			}
		}
	}
}
