package abi

import "strings"

// Category groups error codes by who can do something about them (§6.2).
type Category string

// The categories of §6.2.
const (
	CategoryDomain        Category = "domain"
	CategoryValidation    Category = "validation"
	CategoryApproval      Category = "approval"
	CategoryAuthorization Category = "authorization"
	CategoryTransport     Category = "transport"
	CategoryProtocol      Category = "protocol"
	CategoryDependency    Category = "dependency"
	CategoryRuntime       Category = "runtime"
	CategoryCancelled     Category = "cancelled"
	CategoryTimeout       Category = "timeout"
)

// Categories lists every valid category in the order of §6.2.
func Categories() []Category {
	return []Category{
		CategoryDomain, CategoryValidation, CategoryApproval, CategoryAuthorization, CategoryTransport,
		CategoryProtocol, CategoryDependency, CategoryRuntime, CategoryCancelled, CategoryTimeout,
	}
}

// The standard codes of §6.3.
const (
	CodeInvalidArgument        = "INVALID_ARGUMENT"
	CodeMissingArgument        = "MISSING_ARGUMENT"
	CodeUnknownCommand         = "UNKNOWN_COMMAND"
	CodeToolNotFound           = "TOOL_NOT_FOUND"
	CodeToolDisabled           = "TOOL_DISABLED"
	CodeApprovalRejected       = "APPROVAL_REJECTED"
	CodeApprovalTimeout        = "APPROVAL_TIMEOUT"
	CodeUnauthorized           = "UNAUTHORIZED"
	CodeForbidden              = "FORBIDDEN"
	CodeDependencyUnavailable  = "DEPENDENCY_UNAVAILABLE"
	CodeUpstreamError          = "UPSTREAM_ERROR"
	CodeFileNotFound           = "FILE_NOT_FOUND"
	CodeResourceTooLarge       = "RESOURCE_TOO_LARGE"
	CodeUnsupportedMediaType   = "UNSUPPORTED_MEDIA_TYPE"
	CodeToolTimeout            = "TOOL_TIMEOUT"
	CodeToolCancelled          = "TOOL_CANCELLED"
	CodeTransportFailure       = "TRANSPORT_FAILURE"
	CodeInvalidToolResult      = "INVALID_TOOL_RESULT"
	CodeDistributedNodeOffline = "DISTRIBUTED_NODE_OFFLINE"
	CodeInternalError          = "INTERNAL_ERROR"
)

// Codes beyond §6.3: what a sandboxed guest can run into, and what stands for
// an error that a plugin did not name.
const (
	CodeSandboxTrap          = "SANDBOX.TRAP"
	CodeSandboxStackOverflow = "SANDBOX.STACK_OVERFLOW"
	CodeSandboxExit          = "SANDBOX.EXIT"
	CodeSandboxMemoryLimit   = "SANDBOX.MEMORY_LIMIT"
	CodeSandboxFuelExhausted = "SANDBOX.FUEL_EXHAUSTED"
	CodePluginError          = "PLUGIN.ERROR"
	CodeExtismError          = "EXTISM.ERROR"
)

// CodeInfo is what the table knows of a code.
type CodeInfo struct {
	Code      string   `json:"code"`
	Category  Category `json:"category"`
	Retryable bool     `json:"retryable"`
	HostOnly  bool     `json:"hostOnly"` // a plugin that uses it is rewritten to PLUGIN.<CODE>
}

// Codes is the table of every code that the host itself knows, in the order of
// §6.3 and then the host's own.
func Codes() []CodeInfo {
	return []CodeInfo{
		{CodeInvalidArgument, CategoryValidation, false, false},
		{CodeMissingArgument, CategoryValidation, false, false},
		{CodeUnknownCommand, CategoryValidation, false, false},
		{CodeToolNotFound, CategoryValidation, false, true},
		{CodeToolDisabled, CategoryAuthorization, false, true},
		{CodeApprovalRejected, CategoryApproval, false, true},
		{CodeApprovalTimeout, CategoryApproval, true, true},
		{CodeUnauthorized, CategoryAuthorization, false, true},
		{CodeForbidden, CategoryAuthorization, false, true},
		{CodeDependencyUnavailable, CategoryDependency, true, false},
		{CodeUpstreamError, CategoryDependency, true, false},
		{CodeFileNotFound, CategoryDependency, false, false},
		{CodeResourceTooLarge, CategoryValidation, false, false},
		{CodeUnsupportedMediaType, CategoryValidation, false, false},
		{CodeToolTimeout, CategoryTimeout, true, true},
		{CodeToolCancelled, CategoryCancelled, false, true},
		{CodeTransportFailure, CategoryTransport, true, true},
		{CodeInvalidToolResult, CategoryProtocol, false, true},
		{CodeDistributedNodeOffline, CategoryTransport, true, true},
		{CodeInternalError, CategoryRuntime, false, true},
		{CodeSandboxTrap, CategoryRuntime, false, true},
		{CodeSandboxStackOverflow, CategoryRuntime, false, true},
		{CodeSandboxExit, CategoryRuntime, false, true},
		{CodeSandboxMemoryLimit, CategoryRuntime, false, true},
		{CodeSandboxFuelExhausted, CategoryRuntime, false, true},
		{CodePluginError, CategoryDomain, false, false},
		{CodeExtismError, CategoryDomain, false, false},
	}
}

// LookupCode gives the table's row of a code. A code that is not in the table is
// a plugin's own: category domain, not retryable. It must then be namespaced
// (§6.3); one without a namespace, or below SANDBOX, is the protocol's to name
// and so counts as host-only.
func LookupCode(code string) CodeInfo {
	for _, info := range Codes() {
		if info.Code == code {
			return info
		}
	}
	namespace, _, namespaced := strings.Cut(code, ".")
	return CodeInfo{Code: code, Category: CategoryDomain, HostOnly: !namespaced || namespace == "SANDBOX"}
}

// HostOnly reports whether only the host may use the category.
func (c Category) HostOnly() bool {
	switch c {
	case CategoryApproval, CategoryAuthorization, CategoryTransport, CategoryProtocol,
		CategoryRuntime, CategoryCancelled, CategoryTimeout:
		return true
	}
	return false
}
