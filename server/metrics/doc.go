// Package metrics counts and times what a server does, for Prometheus.
//
// # Promises
//
// No caller can make new series: names of tools are the registry's, and all
// tools that it does not know are counted as "unknown"; routes are those of the
// table; error codes are the host's own, others are "other". What is measured on
// a call's way costs no allocation.
//
// # Series
//
//	vcphost_calls_total{tool,status,transport,trust}     calls that are over
//	vcphost_call_duration_seconds{tool,transport}        histogram
//	vcphost_calls_running
//	vcphost_call_step_duration_seconds{step}             histogram
//	vcphost_call_step_errors_total{step,code}            steps that ended their call
//	vcphost_http_request_duration_seconds{route,status}  histogram, streams to their end
//	vcphost_http_requests_running
//	vcphost_plugins{state}
//	vcphost_queue_*                                      the bounds of concurrency
//	vcphost_store_*                                      bytes of the store and its disk
//	vcphost_sandbox_*                                    modules and instances
//	vcphost_build_info{version,goversion}
//	go_*, process_*                                      the run-time and the process
package metrics
