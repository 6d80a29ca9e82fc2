package api

import (
	"encoding/json"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
	"vcphost/server/identity"
	"vcphost/server/problem"
)

func (a *API) toolRoutes() []Route {
	tool := Parameter{Name: "tool", In: "path", Type: "string", Required: true, Description: "name of the tool"}
	return []Route{
		{
			Method: "GET", Path: "/v1/tools", Scope: identity.ScopeToolsList, OperationID: "listTools",
			Summary: "List the tools that the key may call, with their schemas",
			Doc:     Doc{Responses: map[int]Content{200: {jsonType, "Tools"}}},
			Handle:  a.listTools,
		},
		{
			Method: "GET", Path: "/v1/tools/{tool}", Scope: identity.ScopeToolsList, OperationID: "getTool",
			Summary: "One tool with its schemas",
			Doc:     Doc{Parameters: []Parameter{tool}, Responses: map[int]Content{200: {jsonType, "Tool"}}},
			Handle:  a.getTool,
		},
		{
			Method: "GET", Path: "/v1/plugins", Scope: identity.ScopePluginsRead, OperationID: "listPlugins",
			Summary: "List every plugin with its state, refused ones with the reasons",
			Doc:     Doc{Responses: map[int]Content{200: {jsonType, "Plugins"}}},
			Handle:  a.listPlugins,
		},
	}
}

const jsonType = "application/json"

type toolList struct {
	Tools []toolInfo `json:"tools"`
}

// toolInfo is a tool as callers see it.
type toolInfo struct {
	Name        string        `json:"name"`
	DisplayName string        `json:"displayName"`
	Version     string        `json:"version"`
	Description string        `json:"description"`
	Commands    []commandInfo `json:"commands"`
}

type commandInfo struct {
	Command      string          `json:"command"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	ErrorCodes   []string        `json:"errorCodes"`
	Asynchronous bool            `json:"asynchronous"`
	Idempotent   bool            `json:"idempotent"`
	ReadOnly     bool            `json:"readOnly"`
	Example      string          `json:"example,omitempty"`
}

// describeTool tells of a tool the commands that the caller may call; none
// means that the tool is not for them.
func describeTool(plugin *registry.Plugin, who *identity.Identity) (toolInfo, bool) {
	if plugin.State != registry.Ready {
		return toolInfo{}, false
	}
	m := plugin.Manifest
	info := toolInfo{Name: plugin.Name, DisplayName: m.DisplayName, Version: m.Version, Description: m.Description, Commands: []commandInfo{}}
	for _, command := range m.Commands {
		if !who.Scopes.AllowTool(plugin.Name, command.Identifier) {
			continue
		}
		info.Commands = append(info.Commands, commandInfo{
			Command: command.Identifier, Description: command.Description,
			InputSchema: schemaOrAny(command.InputRaw), OutputSchema: schemaOrAny(command.OutputRaw),
			ErrorCodes:   append([]string{}, command.ErrorCodes...),
			Asynchronous: command.Asynchronous, Idempotent: command.Idempotent, ReadOnly: command.ReadOnly, Example: command.Example,
		})
	}
	return info, len(info.Commands) > 0 || len(m.Commands) == 0 && who.Scopes.AllowTool(plugin.Name, "")
}

func schemaOrAny(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("true")
	}
	return raw
}

func (a *API) listTools(r *Request) error {
	tools := []toolInfo{}
	for _, plugin := range a.opts.Registry.Snapshot().Plugins() {
		if info, ok := describeTool(plugin, r.Identity); ok {
			tools = append(tools, info)
		}
	}
	return r.Encode(toolList{tools})
}

func (a *API) getTool(r *Request) error {
	plugin, ok := a.opts.Registry.Snapshot().Lookup(r.Param("tool"))
	if ok {
		if info, visible := describeTool(plugin, r.Identity); visible {
			return r.Encode(info)
		}
	}
	return problem.NotFound("there is no such tool")
}

type pluginList struct {
	Plugins []pluginInfo `json:"plugins"`
}

// pluginInfo is a plugin as administrators see it.
type pluginInfo struct {
	Name        string             `json:"name"`
	DisplayName string             `json:"displayName"`
	Version     string             `json:"version"`
	PluginType  string             `json:"pluginType"`
	EntryPoint  string             `json:"entryPoint"`
	State       registry.State     `json:"state"`
	Breaker     host.BreakerState  `json:"breaker"`
	Source      string             `json:"source"`
	Folder      string             `json:"folder"`
	Digest      string             `json:"digest"`
	Refusals    []registry.Refusal `json:"refusals"`
	Notices     []registry.Notice  `json:"notices"`
}

func (a *API) listPlugins(r *Request) error {
	list := []pluginInfo{}
	for _, plugin := range a.opts.Registry.Snapshot().Plugins() {
		info := pluginInfo{
			Name: plugin.Name, State: plugin.State, Breaker: a.breaker(plugin.Name), Source: plugin.Source, Folder: plugin.Folder, Digest: plugin.Digest,
			Refusals: append([]registry.Refusal{}, plugin.Refusals...), Notices: append([]registry.Notice{}, plugin.Notices...),
		}
		if m := plugin.Manifest; m != nil {
			info.DisplayName, info.Version, info.PluginType, info.EntryPoint = m.DisplayName, m.Version, string(m.PluginType), m.EntryPoint.Type
		}
		list = append(list, info)
	}
	return r.Encode(pluginList{list})
}

// Encode answers 200 with a value as JSON.
func (r *Request) Encode(v any) error {
	body, err := abi.Encode(v)
	if err != nil {
		return err
	}
	return r.JSON(200, body)
}
