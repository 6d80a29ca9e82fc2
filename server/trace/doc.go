// Package trace sends what a server does as OpenTelemetry traces, over OTLP with
// HTTP: one span a request, in it one a call, in it one a step of its pipeline.
//
// # Promises
//
// A server that has no tracer pays nothing. With one, spans are sent in batches
// from a goroutine of its own; where they cannot be sent they are dropped, which
// is logged once, and no request waits for it.
//
// A trace goes on where the caller's traceparent (W3C Trace Context) says, whose
// sampling is heeded, and the answer's traceparent names the request's span. No
// argument, data or secret becomes an attribute.
//
// # Spans
//
//	POST /v1/human/tool   http.request.method, http.route, http.response.status_code,
//	                      vcp.request.id, vcp.key.id
//	call Tiny.Run         vcp.tool, vcp.command, vcp.status, vcp.transport, vcp.trust,
//	                      vcp.invocation.id, vcp.result.id, error.type
//	resolve … keep        error.type
package trace
