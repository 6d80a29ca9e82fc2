package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"vcphost/abi"
	"vcphost/chat/vcptext"
	"vcphost/host/registry"
	"vcphost/server/problem"
)

// maxBlocks bounds the calls that one text can ask for.
const maxBlocks = 64

// humanText runs the VCP blocks of a text, in order. Text is a syntax for calls
// only: the answer is the canonical result, or a list of them where the text
// asks for more than one call.
func (a *API) humanText(r *Request) error {
	body, err := r.Body()
	if err != nil {
		return err
	}
	blocks, err := vcptext.Parse(string(body))
	if err != nil {
		return badText(err)
	}
	if len(blocks) > maxBlocks {
		return problem.PayloadTooLarge("the text has %d blocks, and at most %d are taken", len(blocks), maxBlocks)
	}
	options := callOptions{view: viewCanonical}
	if err := options.query(r); err != nil {
		return err
	}
	var calls [][]callBody // one list a block: a chain stops at its first error
	for _, block := range blocks {
		chain, err := a.textCalls(block, options)
		if err != nil {
			return badText(err)
		}
		for _, call := range chain {
			if err := a.mayCall(r, call); err != nil {
				return err
			}
		}
		calls = append(calls, chain)
	}
	if len(calls) == 1 && len(calls[0]) == 1 {
		return a.answerCall(r, calls[0][0])
	}
	return a.answerChains(r, calls)
}

func badText(err error) error {
	var syntax *vcptext.SyntaxError
	if errors.As(err, &syntax) {
		return problem.BadRequest("%s", syntax).With("line", syntax.Line).With("column", syntax.Column).With("offset", syntax.Offset)
	}
	return problem.BadRequest("%s", err)
}

// textCalls gives the calls of a block, its keys matched and its values typed
// by the tool's schema.
func (a *API) textCalls(block vcptext.Block, options callOptions) ([]callBody, error) {
	var schema vcptext.Schema
	tool, named := block.Tool, ""
	plugin, command, ok := a.opts.Registry.Snapshot().Resolve(block.Tool)
	if ok && plugin.Manifest != nil && plugin.Manifest.Strict() {
		schema, named = textSchema{plugin, command}, command
		if named != "" {
			tool = plugin.Name
		}
	}
	list, err := vcptext.Calls(block, schema)
	if err != nil {
		return nil, fmt.Errorf("the block in line %d: %w", block.Line, err)
	}
	calls := make([]callBody, 0, len(list))
	for _, call := range list {
		name := tool
		if named != "" {
			name += "." + named
		}
		calls = append(calls, callBody{tool: name, arguments: call.Arguments, options: options, maid: block.Control.Maid})
	}
	return calls, nil
}

// answerChains runs the calls of several blocks and answers with the list of
// their results.
func (a *API) answerChains(r *Request, chains [][]callBody) error {
	remoteIP := r.remoteIP()
	if r.wantsEvents() {
		return a.stream(r, func(ctx context.Context, f *feed) ending {
			body, err := a.runChains(ctx, r, chains, func(ctx context.Context, block int, call callBody) *abi.Result {
				invocation := r.invocationFrom(call, remoteIP)
				return a.execute(ctx, invocation, f.of(invocation, &block))
			})
			return func(w *bufio.Writer) error {
				if err != nil {
					return err
				}
				return writeEvent(w, "result", body)
			}
		})
	}
	ctx, stop := r.untilClientLeaves()
	defer stop()
	body, err := a.runChains(ctx, r, chains, func(ctx context.Context, _ int, call callBody) *abi.Result {
		return a.execute(ctx, r.invocationFrom(call, remoteIP), nil)
	})
	if err != nil {
		return err
	}
	return r.JSON(200, body)
}

// runChains runs the chain of each block, in order, and gives the list of the
// results as they are presented. Once the client has left or the request is
// interrupted, no further call begins. It uses nothing of Fiber's.
func (a *API) runChains(ctx context.Context, r *Request, chains [][]callBody, one func(context.Context, int, callBody) *abi.Result) ([]byte, error) {
	ctx, end := a.running.begin(ctx, r.Identity.Owner, r.ID, "")
	defer end()
	out := []byte{'['}
	for block, chain := range chains {
		if ctx.Err() != nil {
			break
		}
		for _, call := range chain {
			result := one(ctx, block, call)
			_, body, err := present(result, r.Identity, call.options)
			if err != nil {
				return nil, err
			}
			out = append(separate(out), body...)
			if !result.Status.OK() || ctx.Err() != nil {
				break // the rest of a chain builds on what failed
			}
		}
	}
	return append(out, ']'), nil
}

// textSchema lets the parser of text blocks ask a plugin what its commands
// take.
type textSchema struct {
	plugin *registry.Plugin
	named  string // the COMMAND of "TOOL.COMMAND", "" without
}

// InputNames lists the parameters of a command.
func (s textSchema) InputNames(command string) []string {
	return s.plugin.InputNames(s.or(command))
}

func (s textSchema) or(command string) string {
	if command == "" {
		return s.named
	}
	return command
}

// InputTypes lists the types that a parameter may have.
func (s textSchema) InputTypes(command, name string) []string {
	return s.plugin.InputType(s.or(command), name).Types
}
