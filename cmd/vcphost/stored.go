package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func (p *Program) resourceCommand() *cobra.Command {
	top := group("resource", "Read stored resources")
	var out string
	get := &cobra.Command{
		Use:   "get ID",
		Short: "Write the bytes of a resource to standard output or a file",
		Example: `  vcphost resource get res_01J… -o chart.png
  vcphost resource get res_01J… | sha256sum`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.withStore(func(s *store) error { return p.getResource(command.Context(), s, args[0], out) })
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
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			flags := callFlags{view: view, maxCharacters: maxCharacters}
			if err := flags.check(); err != nil {
				return err
			}
			return p.withStore(func(s *store) error {
				result, err := s.results.Get(command.Context(), localViewer(), args[0])
				if err != nil {
					return err
				}
				return p.printResult(result, view, maxCharacters)
			})
		},
	}
	get.Flags().StringVar(&view, "view", "canonical", "canonical or ai")
	get.Flags().IntVar(&maxCharacters, "max-characters", 0, "budget of the ai view in code points (default 30000)")
	top.AddCommand(get)
	return top
}

func (p *Program) withStore(do func(*store) error) (err error) {
	s, err := p.openStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return do(s)
}

func (p *Program) getResource(ctx context.Context, s *store, id, out string) error {
	if out == "" {
		buffered := bufio.NewWriter(p.Stdout)
		if err := errors.Join(s.copyResource(ctx, buffered, id), buffered.Flush()); err != nil {
			return fmt.Errorf("resource %s: %w", id, err)
		}
		return nil
	}
	if _, err := s.resources.Describe(ctx, localViewer(), id); err != nil {
		return fmt.Errorf("resource %s: %w", id, err)
	}
	file, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("resource %s: %w", id, err)
	}
	if err := errors.Join(s.copyResource(ctx, file, id), file.Close()); err != nil {
		return fmt.Errorf("resource %s: %w", id, err)
	}
	return nil
}
