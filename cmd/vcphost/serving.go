package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"vcphost/host"
	"vcphost/host/record"
	"vcphost/internal/config"
	"vcphost/internal/kv"
	"vcphost/sandbox"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/limit"
	"vcphost/server/logs"
	"vcphost/server/metrics"
	"vcphost/server/signedurl"
	"vcphost/server/trace"
)

// serving is what the verb serve adds to the application: its settings, and
// what watches it.
type serving struct {
	settings  config.Settings
	staticKey *identity.StaticKey // nil without one
	admission *limit.Limiter
	tracer    *trace.Tracer    // nil without a receiver
	metrics   *metrics.Metrics // after observe
}

// adopt makes the settings those of this process.
func (p *Program) adopt(ctx context.Context, loaded *config.Loaded) error {
	s := &serving{settings: loaded.Settings}
	p.settings.plugins, p.settings.trust = loaded.Plugins, loaded.Trust
	if loaded.Data != "" {
		p.settings.data = loaded.Data
	}
	var secrets []string
	if loaded.Key != "" {
		key, err := identity.Static(loaded.Key)
		if err != nil {
			return fmt.Errorf("$VCPHOST_KEY: %w", err)
		}
		s.staticKey, secrets = key, []string{loaded.Key}
	}
	p.log = p.serverLog(loaded, secrets)
	for _, warning := range loaded.Warnings {
		p.log.Warn(warning)
	}
	bounds := loaded.Limits
	s.admission = limit.New(limit.Options{InFlight: bounds.MaxInFlight, PerKey: bounds.PerKeyConcurrency, Rate: float64(bounds.PerKeyRate)})
	if loaded.OTLPEndpoint != "" {
		tracer, err := trace.New(ctx, trace.Options{
			Endpoint: loaded.OTLPEndpoint, Service: "vcphost", Version: buildVersion(), Logger: p.log, Secrets: secrets,
		})
		if err != nil {
			return fmt.Errorf("--otlp-endpoint: %w", err)
		}
		s.tracer = tracer
	}
	p.serving = s
	return nil
}

// serverLog writes JSON lines, or text where the settings ask for it. Neither
// holds secrets.
func (p *Program) serverLog(loaded *config.Loaded, secrets []string) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(loaded.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	if p.settings.verbose {
		level = slog.LevelDebug
	}
	options := &logs.Options{Level: level, Secrets: secrets, Context: trace.LogAttrs}
	if loaded.LogFormat == "text" {
		return slog.New(logs.Mask(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: level}), options))
	}
	return logs.New(p.Stderr, options)
}

// observe makes what watches the calls of an application.
func (s *serving) observe(app *application) []host.Observer {
	if s == nil {
		return nil
	}
	s.metrics = metrics.New(metrics.Options{
		Version: buildVersion(), Registry: app.registry, Admission: s.admission, Gauges: app.gauges(),
	})
	observers := []host.Observer{s.metrics}
	if s.tracer != nil {
		observers = append(observers, s.tracer)
	}
	return observers
}

// breaker says when the circuit breaker of a plugin opens.
func (s *serving) breaker() host.BreakerOptions {
	if s == nil {
		return host.BreakerOptions{}
	}
	bounds := s.settings.Limits
	if bounds.BreakerFailures == 0 {
		return host.BreakerOptions{Failures: -1}
	}
	return host.BreakerOptions{Failures: bounds.BreakerFailures, Pause: bounds.BreakerPause}
}

// resourcesURL is where resources are found from outside, "" without a base
// URL.
func (s *serving) resourcesURL() string {
	if s == nil || s.settings.BaseURL == "" {
		return ""
	}
	return s.settings.BaseURL + "/v1/resources"
}

// key is the administrator's key of the environment, nil without one.
func (s *serving) key() *identity.StaticKey {
	if s == nil {
		return nil
	}
	return s.staticKey
}

// storeOptions are the settings of the store.
func (p *Program) storeOptions() *kv.Options {
	options := &kv.Options{Logger: p.logger()}
	if p.serving != nil {
		options.MinFreeBytes = p.serving.settings.MinFreeBytes
	}
	return options
}

// recordOptions are the settings of the store of results.
func (p *Program) recordOptions() *record.Options {
	options := &record.Options{}
	if p.serving != nil {
		options.Retention = p.serving.settings.Retention
	}
	return options
}

// complete gives a server its bounds, what watches it, and signed URLs.
func (s *serving) complete(options *server.Options, app *application) error {
	urls, err := signedurl.Open(app.store.db)
	if err != nil {
		return fmt.Errorf("open the key of signed URLs: %w", err)
	}
	bounds := s.settings.Limits
	options.ReadTimeout, options.IdleTimeout = bounds.ReadTimeout, bounds.IdleTimeout
	options.MaxHeaderBytes, options.MaxConnections = bounds.MaxHeaderBytes, bounds.MaxConnections
	o := &options.API
	o.URLs, o.Admission, o.MaxUploadBytes = urls, s.admission, bounds.MaxUploadBytes
	o.Metrics = s.metrics
	o.Observers = []api.Observer{s.metrics}
	if s.tracer != nil {
		// The trace comes first, so that the others are told inside it.
		o.Observers = slices.Insert(o.Observers, 0, api.Observer(s.tracer))
	}
	o.Gauges = app.gauges()
	return nil
}

// gauges are the figures of an application's parts. They are asked for only
// once the application is complete.
func (a *application) gauges() api.Gauges {
	return api.Gauges{
		Store:         func() (kv.Usage, bool, error) { return kv.Measure(a.store.db) },
		Sandbox:       func() sandbox.Figures { return a.sandbox.Figures() },
		FailedPlugins: func() []string { return a.host.FailedPlugins() },
	}
}

// close sends what is left of the traces.
func (s *serving) close(ctx context.Context) error {
	if s == nil || s.tracer == nil {
		return nil
	}
	return errors.Join(s.tracer.Close(ctx))
}
