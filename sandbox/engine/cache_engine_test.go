package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// The engine shows a module that it is still reading from the disk to whoever
// asks for the same one, and calling that broke the process down.
func TestOneModuleIsCompiledForManyAtOnce(t *testing.T) {
	ctx := context.Background()
	for range 20 {
		e := New(ctx, open(t, t.TempDir(), nil))
		binary := answers(7, 50)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				code, err := e.Compile(ctx, binary)
				if err != nil {
					t.Error(err)
					return
				}
				instance, err := code.Instantiate(ctx, nil, func() int64 { return 0 })
				if err != nil {
					t.Error(err)
					return
				}
				err = instance.Function("answer").Call(ctx, make([]uint64, 1))
				if err = errors.Join(err, instance.Close(ctx), code.Close(ctx)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if left := files(t, e.cache.own); len(left) != 1 {
			t.Errorf("%v are loadable when nobody loads", left)
		}
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}
