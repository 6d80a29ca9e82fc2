package trace

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/server/api"
)

var (
	_ host.Observer = (*Tracer)(nil)
	_ api.Observer  = (*Tracer)(nil)
)

// The headers of W3C Trace Context.
const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
)

// RequestBegins begins the span of a request, in the trace that the caller
// names, and tells the caller which it is.
func (t *Tracer) RequestBegins(ctx context.Context, request api.RequestBegin) context.Context {
	if request.Traceparent != "" {
		ctx = t.context.Extract(ctx, propagation.MapCarrier{traceparent: request.Traceparent, tracestate: request.Tracestate})
	}
	ctx, span := t.tracer.Start(ctx, request.Route, trace.WithSpanKind(trace.SpanKindServer))
	if request.SetHeader != nil {
		carrier := propagation.MapCarrier{}
		t.context.Inject(ctx, carrier)
		request.SetHeader(traceparent, carrier[traceparent])
	}
	if span.IsRecording() {
		if method, path, ok := strings.Cut(request.Route, " "); ok {
			span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", path))
		}
		span.SetAttributes(attribute.String("vcp.request.id", t.masker.Text(request.ID)))
	}
	return ctx
}

// RequestEnds ends the span of a request. A fault of the server is an error; one
// of the client is not.
func (t *Tracer) RequestEnds(ctx context.Context, end api.RequestEnd) {
	span := trace.SpanFromContext(ctx)
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("http.response.status_code", end.Status))
		if end.KeyID != "" {
			span.SetAttributes(attribute.String("vcp.key.id", end.KeyID))
		}
		if end.Status >= 500 {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}

// CallBegins begins the span of a call.
func (t *Tracer) CallBegins(ctx context.Context, _ *abi.Call) context.Context {
	ctx, _ = t.tracer.Start(ctx, "call")
	return ctx
}

// StepEnds makes the span of a step.
func (t *Tracer) StepEnds(ctx context.Context, step host.StepTiming) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	_, span := t.tracer.Start(ctx, string(step.Step), trace.WithTimestamp(step.Start))
	fail(span, step.Code)
	span.End(trace.WithTimestamp(step.End))
}

// CallEnds ends the span of a call.
func (t *Tracer) CallEnds(ctx context.Context, end host.CallEnd) {
	span := trace.SpanFromContext(ctx)
	if span.IsRecording() {
		t.describe(span, end)
	}
	span.End(trace.WithTimestamp(end.End))
}

func (t *Tracer) describe(span trace.Span, end host.CallEnd) {
	name := "call " + end.Tool
	switch {
	case end.Tool == "":
		name = "call unknown"
	case end.Command != "":
		name += "." + end.Command
	}
	span.SetName(name)
	result := end.Result
	for _, a := range []struct{ key, value string }{
		{"vcp.tool", end.Tool}, {"vcp.command", end.Command}, {"vcp.status", string(result.Status)},
		{"vcp.transport", end.Transport}, {"vcp.trust", string(end.Trust)},
		{"vcp.invocation.id", result.Execution.InvocationID}, {"vcp.result.id", result.ID},
	} {
		if a.value != "" {
			span.SetAttributes(attribute.String(a.key, t.masker.Text(a.value)))
		}
	}
	if result.Error != nil {
		fail(span, t.masker.Text(result.Error.Code))
	}
}

func fail(span trace.Span, code string) {
	if code != "" {
		span.SetAttributes(attribute.String("error.type", code))
		span.SetStatus(codes.Error, code)
	}
}
