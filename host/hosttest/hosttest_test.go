package hosttest_test

import (
	"testing"

	"vcphost/host/hosttest"
)

func TestTheFakePassesTheSuite(t *testing.T) { hosttest.Run(t, hosttest.FakeHarness()) }
