package resources

import (
	"context"
	"errors"

	"vcphost/abi"
	"vcphost/internal/kv"
)

// ErrOver is the cause of every failure of a session that was published or
// discarded, and of its sinks.
var ErrOver = errors.New("the session is over")

// limitDetails is what a RESOURCE_TOO_LARGE tells: the limit that was hit, what
// it allows, what was needed, and the setting that raises it.
type limitDetails struct {
	Limit   string `json:"limit"`
	Allowed int64  `json:"allowed"`
	Needed  int64  `json:"needed"`
	Setting string `json:"setting,omitempty"`
}

func notFound(id string) *abi.Error {
	id = clip(id)
	return abi.NewError(abi.CodeFileNotFound, "there is no resource %q", id).
		WithDetails(map[string]string{"resourceId": id})
}

func badDraft(pointer, format string, args ...any) *abi.Error {
	return abi.NewError(abi.CodeInvalidToolResult, format, args...).WithTarget(pointer)
}

func overError(what string) *abi.Error {
	return abi.NewError(abi.CodeInternalError, "%s: %v", what, ErrOver).WithCause(ErrOver)
}

// storeError turns a failure of the database into the protocol's words, which
// name no path and no key.
func storeError(what string, err error) *abi.Error {
	var known *abi.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return abi.NewError(abi.CodeToolTimeout, "%s: the deadline has passed", what).WithCause(err)
	case errors.Is(err, context.Canceled):
		return abi.NewError(abi.CodeToolCancelled, "%s: the call was cancelled", what).WithCause(err)
	case errors.Is(err, kv.ErrNoSpace):
		return abi.NewError(abi.CodeDependencyUnavailable, "%s: the disk of the data directory is full", what).WithCause(err)
	case errors.Is(err, kv.ErrBatchTooLarge):
		return abi.NewError(abi.CodeResourceTooLarge, "%s: the descriptors are too large together", what).WithCause(err)
	}
	return abi.NewError(abi.CodeInternalError, "%s: the store failed", what).WithCause(err)
}
