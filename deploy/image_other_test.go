//go:build !linux

package deploy

import "testing"

func runImage(t *testing.T, _ string) {
	t.Helper()
	t.Skip("a root directory of its own takes Linux")
}
