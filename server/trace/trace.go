package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"vcphost/server/logs"
)

// Options are settings of a tracer. Endpoint is required.
type Options struct {
	// Endpoint is the base URL of an OTLP receiver, such as
	// "http://collector:4318"; spans go to /v1/traces below it.
	Endpoint string
	// Headers are sent with every batch, such as a key for the receiver.
	Headers map[string]string
	// Ratio is the share of the traces begun here that are sent, above 0 to 1;
	// zero is all. A trace that a caller began is sent if the caller's is.
	Ratio float64
	// Timeout bounds the sending of a batch; default 10 s.
	Timeout time.Duration
	// Service is the name of this server among others; default "vcphost".
	Service string
	Version string
	Logger  *slog.Logger // nil discards
	Secrets []string     // texts that must not be sent, see package logs
}

const defaultTimeout = 10 * time.Second

// Tracer makes spans and sends them. It observes a host and an API. It is safe
// for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	context  propagation.TraceContext
	masker   *logs.Masker
}

// New makes a tracer. It does not connect: a receiver that is not there yet is
// no error. Close it to send what is left.
func New(ctx context.Context, opts Options) (*Tracer, error) {
	target, err := tracesURL(opts.Endpoint)
	if err != nil {
		return nil, err
	}
	if opts.Ratio < 0 || opts.Ratio > 1 {
		return nil, fmt.Errorf("trace: the ratio %v is not between 0 and 1", opts.Ratio)
	}
	opts = opts.complete()
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(target),
		otlptracehttp.WithHeaders(opts.Headers), otlptracehttp.WithTimeout(opts.Timeout))
	if err != nil {
		return nil, fmt.Errorf("trace to %s: %w", target, err)
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", opts.Service)}
	if opts.Version != "" {
		attributes = append(attributes, attribute.String("service.version", opts.Version))
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(&reporting{SpanExporter: exporter, logger: opts.Logger}, sdk.WithExportTimeout(opts.Timeout)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(opts.Ratio))),
		sdk.WithResource(resource.NewSchemaless(attributes...)),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("vcphost/server/trace"), masker: logs.NewMasker(opts.Secrets...)}, nil
}

func (o Options) complete() Options {
	if o.Ratio == 0 {
		o.Ratio = 1
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Service == "" {
		o.Service = "vcphost"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// tracesURL is where spans go. Its error does not repeat the URL, which may hold
// a password.
func tracesURL(endpoint string) (string, error) {
	target, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", errors.New("trace: the endpoint is no URL")
	case target.Scheme != "http" && target.Scheme != "https", target.Host == "":
		return "", errors.New("trace: the endpoint must be an http or https URL with a host")
	case target.User != nil:
		return "", errors.New("trace: the endpoint must have no user in it; credentials go into headers")
	}
	return target.JoinPath("v1", "traces").String(), nil
}

// Close sends what is left, as long as ctx allows, and ends the tracer. It is
// idempotent.
func (t *Tracer) Close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// LogAttrs gives the ids of the trace and the span of a context for the log; nil
// outside of a trace.
func LogAttrs(ctx context.Context) []slog.Attr {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("traceId", span.TraceID().String()), slog.String("spanId", span.SpanID().String())}
}

// reporting is an exporter whose failures go to the log of the server, each row
// of them once, and no further.
type reporting struct {
	sdk.SpanExporter
	logger  *slog.Logger
	failing atomic.Bool
}

// ExportSpans sends spans or drops them.
func (r *reporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !r.failing.Swap(true):
		r.logger.Warn("traces cannot be sent and are dropped", "error", err)
	case err == nil && r.failing.Swap(false):
		r.logger.Info("traces are sent again")
	}
	return nil
}
