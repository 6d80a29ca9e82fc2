package api

import (
	"maps"
	"slices"

	"vcphost/host/registry"
)

func (a *API) healthRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/healthz", Public: true, OperationID: "healthz",
			Summary: "Does the process answer",
			Doc:     Doc{Responses: map[int]Content{200: {jsonType, "Health"}}},
			Handle:  func(r *Request) error { return r.Encode(health{Status: "ok", Degraded: []string{}}) },
		},
		{
			Method: "GET", Path: "/readyz", Public: true, OperationID: "readyz",
			Summary: "Can the server take calls; parts that are degraded are named",
			Doc:     Doc{Responses: map[int]Content{200: {jsonType, "Health"}, 503: {jsonType, "Health"}}},
			Handle:  a.ready,
		},
	}
}

// health is the answer of the health routes.
type health struct {
	Status   string   `json:"status"`
	Degraded []string `json:"degraded"`
}

// ready names what is degraded. A plugin that cannot run is somebody's fault, and
// the server is still ready; a server that is stopping, or whose store takes no
// more, is not.
func (a *API) ready(r *Request) error {
	report, status := health{Status: "ok", Degraded: a.degradedPlugins()}, 200
	if usage, ok := a.storeUsage(); ok && usage.Short() {
		report.Degraded = append(report.Degraded, "store: not enough free disk space")
		report.Status, status = "unavailable", 503
	}
	if a.opts.Lifetime.Err() != nil {
		report.Status, status = "stopping", 503
	}
	if err := r.Encode(report); err != nil {
		return err
	}
	if status != 200 {
		r.fiber.Set("Retry-After", "5")
		r.fiber.Status(status)
	}
	return nil
}

// degradedPlugins names the plugins that were refused and those that could not
// be opened, sorted.
func (a *API) degradedPlugins() []string {
	names := map[string]bool{}
	for _, plugin := range a.opts.Registry.Snapshot().Plugins() {
		if plugin.State == registry.Refused {
			names["plugin "+plugin.Name] = true
		}
	}
	if read := a.opts.Gauges.FailedPlugins; read != nil {
		for _, name := range read() {
			names["plugin "+name] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(names))...)
}
