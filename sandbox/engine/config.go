package engine

import (
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// runtimeConfig is how every runtime of this package compiles: that of the host
// and that of the process that compiles for it, since the engine finds compiled
// modules again by what they were compiled with.
//
// The engine's own interrupt stays off, and debug information is not read: it is
// input of the guest's that nothing here uses.
func runtimeConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCloseOnContextDone(false).
		WithDebugInfoEnabled(false)
}
