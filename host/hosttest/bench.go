package hosttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/record"
	"vcphost/host/registry"
	"vcphost/host/validate"
	"vcphost/internal/kv"
	"vcphost/resources"
)

// Setup is what a [Bench] is made of.
type Setup struct {
	Sources   []registry.Source
	Kinds     map[string]host.Kind
	Recorder  func(results *record.Store) host.Recorder // nil means the store itself
	Observers []host.Observer
	Dir       string      // of the store; empty means one of the test's own
	Store     *kv.Options // nil means the defaults
}

// Bench is a host over real stores in a directory of the test. The test's
// cleanup closes it.
type Bench struct {
	Host      *host.Host
	Registry  *registry.Registry
	DB        kv.DB
	Resources *resources.Store
	Results   *record.Store
	Owner     abi.Owner // of the calls that Call makes

	compiler *validate.Compiler
}

// NewBench makes a host.
func NewBench(t testing.TB, setup Setup) *Bench {
	t.Helper()
	b := &Bench{Owner: abi.Owner{Tenant: "default", Actor: "tester"}}
	var err error
	must := func(what string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	dir := setup.Dir
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "store")
	}
	b.DB, err = kv.OpenBadger(dir, setup.Store)
	must("open the database")
	t.Cleanup(func() {
		if err := b.DB.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	b.Resources, err = resources.Open(b.DB, nil)
	must("open the resources")
	b.Results, err = record.New(b.DB, nil)
	must("open the results")
	b.compiler, err = validate.NewCompiler()
	must("compile the schemas")
	b.Registry, err = registry.New(setup.Sources, nil)
	must("load the plugins")
	var recorder host.Recorder = b.Results
	if setup.Recorder != nil {
		recorder = setup.Recorder(b.Results)
	}
	b.Host, err = host.New(host.Options{
		Registry: b.Registry, Resources: b.Resources, Recorder: recorder, Kinds: setup.Kinds, Observers: setup.Observers,
	})
	must("make the host")
	t.Cleanup(func() {
		if err := b.Host.Close(context.Background()); err != nil {
			t.Errorf("close the host: %v", err)
		}
	})
	return b
}

// Viewer is the owner of the bench's calls as a reader.
func (b *Bench) Viewer() abi.Viewer { return abi.Viewer{Owner: b.Owner} }

// Call makes a call of the bench's owner from the command line.
func (b *Bench) Call(tool, arguments string) *abi.Call {
	return &abi.Call{
		Tool: tool, Arguments: json.RawMessage(arguments),
		Context: abi.CallContext{Owner: b.Owner, Source: abi.FromCLI},
	}
}

// Execute runs a call and checks what holds for every result: it passes the
// protocol's schema, the owner can read the very same bytes afterwards, and
// nobody else can.
func (b *Bench) Execute(ctx context.Context, t testing.TB, call *abi.Call) *abi.Result {
	t.Helper()
	result := b.Host.Execute(ctx, call)
	if result == nil {
		t.Fatal("Execute returned nothing")
	}
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatalf("write the result: %v", err)
	}
	for _, problem := range b.compiler.Result(raw) {
		t.Errorf("the result breaks the protocol's schema at %q: expected %s, got %s", problem.Pointer, problem.Expected, problem.Got)
	}
	b.checkKept(t, result.ID, raw)
	return result
}

func (b *Bench) checkKept(t testing.TB, id string, want []byte) {
	t.Helper()
	got, err := b.Results.GetRaw(context.Background(), b.Viewer(), id)
	if err != nil {
		t.Errorf("read the result again: %v", err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("the kept result differs:\ngot  %.400s\nwant %.400s", got, want)
	}
	stranger := abi.Viewer{Owner: abi.Owner{Tenant: b.Owner.Tenant, Actor: "stranger"}}
	if _, err := b.Results.GetRaw(context.Background(), stranger, id); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("a stranger reads the result with %v, want %v", err, record.ErrNotFound)
	}
}

// Import stores bytes as a resource of the bench's owner and gives its id.
func (b *Bench) Import(t testing.TB, fileName string, content []byte) string {
	t.Helper()
	resource, err := b.Resources.Import(context.Background(), b.Owner, abi.ResourceDraft{FileName: fileName}, bytes.NewReader(content), 0)
	if err != nil {
		t.Fatalf("import %s: %v", fileName, err)
	}
	return resource.ID
}

// Bytes reads a whole resource as the bench's owner.
func (b *Bench) Bytes(t testing.TB, id string) []byte {
	t.Helper()
	r, err := b.Resources.OpenReader(context.Background(), b.Viewer(), id)
	if err != nil {
		t.Fatalf("open the resource %s: %v", id, err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Errorf("close the resource %s: %v", id, err)
		}
	}()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read the resource %s: %v", id, err)
	}
	return content
}
