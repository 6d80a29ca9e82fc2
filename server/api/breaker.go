package api

import (
	"vcphost/host"
	"vcphost/server/identity"
	"vcphost/server/problem"
)

// Breakers know the circuit breakers of the plugins; *host.Host does.
type Breakers interface {
	// Breaker tells of the one of a plugin, by its name.
	Breaker(plugin string) host.BreakerStatus
	// ResetBreaker closes it.
	ResetBreaker(plugin string)
}

func (a *API) breakerRoutes() []Route {
	if a.breakers() == nil {
		return nil
	}
	return []Route{{
		Method: "POST", Path: "/v1/plugins/{name}/reset", Scope: identity.ScopePluginsAdmin, OperationID: "resetPlugin",
		Summary: "Close the circuit breaker of a plugin, so that it is called again at once",
		Doc: Doc{
			Parameters: []Parameter{{Name: "name", In: "path", Type: "string", Required: true, Description: "name of the plugin"}},
			Responses:  map[int]Content{200: {jsonType, "Breaker"}},
		},
		Handle: a.resetPlugin,
	}}
}

// breakers is nil where what runs the calls has none.
func (a *API) breakers() Breakers {
	known, _ := a.opts.Host.(Breakers)
	return known
}

// breaker is the state of a plugin's circuit breaker.
func (a *API) breaker(plugin string) host.BreakerState {
	if known := a.breakers(); known != nil {
		return known.Breaker(plugin).State
	}
	return host.BreakerClosed
}

// breakerStates tells of the circuit breakers of all plugins, where they have
// some.
func (a *API) breakerStates() []host.BreakerStatus {
	known, list := a.breakers(), []host.BreakerStatus{}
	if known == nil {
		return list
	}
	for _, plugin := range a.opts.Registry.Snapshot().Plugins() {
		list = append(list, known.Breaker(plugin.Name))
	}
	return list
}

func (a *API) resetPlugin(r *Request) error {
	plugin, ok := a.opts.Registry.Snapshot().Lookup(r.Param("name"))
	if !ok {
		return problem.NotFound("there is no such plugin")
	}
	a.breakers().ResetBreaker(plugin.Name)
	return r.Encode(a.breakers().Breaker(plugin.Name))
}
