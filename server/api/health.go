package api

import "vcphost/host/registry"

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

// ready names what is degraded. A refused plugin is somebody's fault, and the
// server is still ready; a server that is stopping is not.
func (a *API) ready(r *Request) error {
	report := health{Status: "ok", Degraded: []string{}}
	for _, plugin := range a.opts.Registry.Snapshot().Plugins() {
		if plugin.State == registry.Refused {
			report.Degraded = append(report.Degraded, "plugin "+plugin.Name)
		}
	}
	if a.opts.Lifetime.Err() != nil {
		report.Status = "stopping"
		r.fiber.Set("Retry-After", "5")
		if err := r.Encode(report); err != nil {
			return err
		}
		r.fiber.Status(503)
		return nil
	}
	return r.Encode(report)
}
