package sandbox

import (
	"context"
	"strings"
	"sync"
	"testing"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// The same module, and others, opened, called and closed side by side: what one
// closes the others still have.
func TestModulesComeAndGoSideBySide(t *testing.T) {
	rounds := 20
	if stress() {
		rounds = 500
	}
	for _, cached := range []bool{false, true} {
		t.Run(map[bool]string{false: "compiled anew", true: "from the disk"}[cached], func(t *testing.T) {
			options := &Options{}
			if cached {
				options.CacheDir = t.TempDir()
			}
			s := box(t, options)
			binaries := [][]byte{keepsState().Bytes(), echoes().Bytes()}
			ctx := context.Background()
			var all sync.WaitGroup
			for worker := range 8 {
				all.Go(func() {
					for range rounds {
						p, err := s.Open(ctx, Module{Name: "Test", Binary: binaries[worker%2]})
						if err != nil {
							t.Error(err)
							return
						}
						for range 2 {
							if _, err := p.Invoke(ctx, &abi.Invocation{}); err != nil {
								t.Error(err)
							}
						}
						if err := p.Close(ctx); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if figures := s.Figures(); figures.OpenModules != 0 || figures.RunningInstances != 0 || figures.Failures != 0 {
				t.Errorf("the figures are %+v", figures)
			}
		})
	}
}

// TestNoticesSayWhyCallsStartAnew: an author finds out without reading results.
func TestNoticesSayWhyCallsStartAnew(t *testing.T) {
	s := newSandbox(t)
	if notices := open(t, s, wasmbuild.Guest{}, Limits{}).Notices(); notices != nil {
		t.Errorf("a guest that is put back gives %v", notices)
	}
	mutable := wasmbuild.Guest{Extra: func(m *wasmbuild.Module) { m.GlobalOf(wasmbuild.FuncRef, wasmbuild.RefNull()) }}
	notices := open(t, s, mutable, Limits{}).Notices()
	if len(notices) != 1 || !strings.Contains(notices[0], "funcref") {
		t.Errorf("a mutable global of a reference gives %v", notices)
	}
}
