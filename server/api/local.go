package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"

	"vcphost/abi"
	"vcphost/host/registry"
	"vcphost/server/identity"
	"vcphost/server/local"
	"vcphost/server/problem"
)

// LocalRoutes lists the endpoints that only trusted connections have: what the
// command line needs beyond the API for programs. They are no part of the API's
// description.
func (a *API) LocalRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/v1/local/process", Scope: identity.ScopeAdmin, Local: true, OperationID: "localProcess",
			Summary: "What the process that serves was started with",
			Handle:  a.localProcess,
		},
		{
			Method: "GET", Path: "/v1/local/plugins", Scope: identity.ScopeAdmin, Local: true, OperationID: "localPlugins",
			Summary: "Every plugin, loaded for it, with its manifest",
			Handle:  a.localPlugins,
		},
		{
			Method: "POST", Path: "/v1/local/call", Scope: identity.ScopeAdmin, Local: true, Limited: true, OperationID: "localCall",
			Summary: "Call a tool as the command line does",
			Handle:  a.localCall,
		},
	}
}

// localProcess tells what the process was started with.
func (a *API) localProcess(r *Request) error {
	process := a.opts.Process
	process.MaxUploadBytes = a.opts.MaxUploadBytes
	return r.Encode(process)
}

func (a *API) localPlugins(r *Request) error {
	ctx, stop := r.untilClientLeaves()
	defer stop()
	plugins := a.opts.Registry.Snapshot().Plugins()
	list := make([]local.Plugin, len(plugins))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0)) // compiling is bounded by processors
	for i, plugin := range plugins {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			list[i] = describePlugin(plugin)
			if len(plugin.Refusals) == 0 && a.opts.Prepare != nil {
				notices, err := a.opts.Prepare(ctx, plugin)
				noteLoading(&list[i], err)
				for _, message := range notices {
					list[i].Notices = append(list[i].Notices, registry.Notice{File: plugin.Manifest.EntryPoint.Module, Message: message})
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return problem.Unavailable(0, "the plugins were not all loaded: %s", err)
	}
	return r.Encode(local.Plugins{Plugins: list})
}

// describePlugin tells of a plugin what can be known without loading it.
func describePlugin(plugin *registry.Plugin) local.Plugin {
	told := local.Plugin{
		Name: plugin.Name, State: string(plugin.State), Source: plugin.Source, Folder: plugin.Folder, Digest: plugin.Digest,
		Commands: []string{}, Refusals: append([]registry.Refusal{}, plugin.Refusals...),
		Notices: append([]registry.Notice{}, plugin.Notices...), Manifest: json.RawMessage("null"),
	}
	if m := plugin.Manifest; m != nil {
		told.DisplayName, told.Version, told.Type, told.EntryPoint = m.DisplayName, m.Version, string(m.PluginType), m.EntryPoint.Type
		told.Manifest = m.Raw
		for _, command := range m.Commands {
			told.Commands = append(told.Commands, command.Identifier)
		}
	}
	if len(plugin.Refusals) > 0 {
		told.Reason = strings.TrimSpace(plugin.Refusals[0].Pointer + " " + plugin.Refusals[0].Reason)
	}
	return told
}

// noteLoading notes what came of loading a plugin.
func noteLoading(p *local.Plugin, err error) {
	var failure *abi.Error
	if errors.As(err, &failure) {
		p.Reason = failure.Message
		if p.State == string(registry.Ready) {
			p.State = stateOf(failure)
		}
	} else if err != nil {
		p.State, p.Reason = string(registry.Refused), err.Error()
	}
}

// stateOf is the state that a plugin has whose transport could not be opened.
func stateOf(failure *abi.Error) string {
	var details struct{ Reason string }
	if json.Unmarshal(failure.Details, &details) == nil && details.Reason != "" {
		return details.Reason
	}
	return string(registry.Refused)
}

// decodeLocal reads what the program's own command line sent.
func decodeLocal(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return problem.InvalidJSON("%s", err)
	}
	return nil
}
