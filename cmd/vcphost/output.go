package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"vcphost/abi"
	"vcphost/presenters"
	"vcphost/presenters/ai"
	"vcphost/presenters/human"
)

// printResult presents a result of the local owner on standard output.
func (p *Program) printResult(result *abi.Result, view string, maxCharacters int) error {
	owner := localOwner()
	consumer := presenters.ConsumerHuman
	if view == "ai" {
		consumer = presenters.ConsumerAI
	}
	seen, err := presenters.NewView(result, owner, presenters.Viewer{Viewer: localViewer(), Consumer: consumer})
	if err != nil {
		return err
	}
	var text []byte
	if view == "ai" {
		text = []byte(ai.Present(seen, ai.Budget{MaxCharacters: maxCharacters}).Text)
	} else if text, err = human.PresentIndent(seen, "  "); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	if len(text) == 0 || text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	if _, err := p.Stdout.Write(text); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// outDir is the directory that --out names, nil where it names none. It is
// opened before the call, so that a directory that cannot be used costs no call.
type outDir struct {
	name string
	root *os.Root
}

func openOut(dir string) (*outDir, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return &outDir{dir, root}, nil
}

func (d *outDir) close() {
	if d != nil {
		_ = d.root.Close() // only a descriptor: each file was closed by itself
	}
}

// writeResources writes what a call produced into a directory, under the file
// names of the descriptors. It replaces files that are there, and never writes
// outside the directory.
func (a *application) writeResources(ctx context.Context, result *abi.Result, out *outDir, report io.Writer) error {
	if out == nil {
		return nil
	}
	taken := map[string]bool{}
	for _, resource := range result.Resources {
		if resource.Role == abi.RoleInput {
			continue
		}
		name := freeName(resource.FileName, taken)
		if err := a.writeResource(ctx, out.root, resource.ID, name); err != nil {
			return fmt.Errorf("--out: write %s: %w", name, err)
		}
		fmt.Fprintf(report, "wrote %s (%s, %d bytes)\n", filepath.Join(out.name, name), resource.MIMEType, resource.SizeBytes)
	}
	return nil
}

// freeName gives a name that no other resource of the result has, in any case:
// chart.png, chart-2.png, …
func freeName(name string, taken map[string]bool) string {
	extension := filepath.Ext(name)
	stem := strings.TrimSuffix(name, extension)
	for i := 2; taken[strings.ToLower(name)]; i++ {
		name = fmt.Sprintf("%s-%d%s", stem, i, extension)
	}
	taken[strings.ToLower(name)] = true
	return name
}

func (a *application) writeResource(ctx context.Context, root *os.Root, id, name string) (err error) {
	partial := name + ".partial"
	file, err := root.Create(partial)
	if err != nil {
		return err
	}
	if err := errors.Join(a.store.copyResource(ctx, file, id), file.Close()); err != nil {
		return errors.Join(err, root.Remove(partial))
	}
	return root.Rename(partial, name)
}

// copyResource streams the bytes of a resource.
func (s *store) copyResource(ctx context.Context, to io.Writer, id string) error {
	reader, err := s.resources.OpenReader(ctx, localViewer(), id)
	if err != nil {
		return err
	}
	defer reader.Close()
	_, err = io.Copy(to, reader)
	return err
}
