package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"vcphost/abi"
	"vcphost/server/problem"
)

func (p *Program) resourceCommand() *cobra.Command {
	top := group("resource", "Read stored resources")
	var out string
	get := &cobra.Command{
		Use:   "get ID",
		Short: "Write the bytes of a resource to standard output or a file",
		Example: `  vcphost resource get res_01J… -o chart.png
  vcphost resource get res_01J… | sha256sum`,
		Args: between(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.withStore(command.Context(), "resource get", func(s *session) error {
				return p.getResource(command.Context(), s, args[0], out)
			})
		},
	}
	get.Flags().StringVarP(&out, "output", "o", "", "file to write; an existing one is replaced")
	top.AddCommand(get)
	return top
}

func (p *Program) resultCommand() *cobra.Command {
	top := group("result", "Read stored results")
	var view string
	var maxCharacters int
	get := &cobra.Command{
		Use:     "get ID",
		Short:   "Print a stored result",
		Example: `  vcphost result get tr_01J… --view ai`,
		Args:    between(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			flags := callFlags{view: view, maxCharacters: maxCharacters}
			if err := flags.check(); err != nil {
				return err
			}
			return p.withStore(command.Context(), "result get", func(s *session) error {
				return p.getResult(command.Context(), s, args[0], flags)
			})
		},
	}
	get.Flags().StringVar(&view, "view", "canonical", "canonical or ai")
	get.Flags().IntVar(&maxCharacters, "max-characters", 0, "budget of the ai view in code points (default 30000)")
	top.AddCommand(get)
	return top
}

// withStore does something with what is stored.
func (p *Program) withStore(ctx context.Context, verb string, do func(*session) error) (err error) {
	s, err := p.connect(ctx, verb, needStore)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	return do(s)
}

func (p *Program) getResult(ctx context.Context, s *session, id string, flags callFlags) error {
	if flags.view == "ai" {
		text, err := s.ResultText(ctx, id, flags.maxCharacters)
		if err != nil {
			return resultFailure(id, err)
		}
		return p.printText(text)
	}
	raw, err := s.Result(ctx, id)
	if err != nil {
		return resultFailure(id, err)
	}
	return p.printResult(raw)
}

func resultFailure(id string, err error) error {
	if notFound(err) {
		return fmt.Errorf("read result %s: no such result", id)
	}
	return fmt.Errorf("read result %s: %w", id, err)
}

func resourceFailure(id string, err error) error {
	if notFound(err) {
		return fmt.Errorf("resource %s: %s: there is no resource %q", id, abi.CodeFileNotFound, id)
	}
	return fmt.Errorf("resource %s: %w", id, err)
}

// notFound reports whether the server has nothing of that id.
func notFound(err error) bool {
	var told *problem.Problem
	return errors.As(err, &told) && told.Status == http.StatusNotFound
}

func (p *Program) getResource(ctx context.Context, s *session, id, out string) error {
	if out == "" {
		buffered := bufio.NewWriter(p.Stdout)
		if err := errors.Join(s.copyResource(ctx, buffered, id), buffered.Flush()); err != nil {
			return resourceFailure(id, err)
		}
		return nil
	}
	from, err := s.Resource(ctx, id)
	if err != nil {
		return resourceFailure(id, err)
	}
	defer from.Close()
	file, err := os.Create(out)
	if err != nil {
		return resourceFailure(id, err)
	}
	_, err = io.Copy(file, from)
	if err := errors.Join(err, file.Close()); err != nil {
		return resourceFailure(id, err)
	}
	return nil
}
