package sandbox

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// BenchmarkInvoke is an isolated call of a small guest, with everything that a
// call of the host brings: a deadline, an actor, arguments.
func BenchmarkInvoke(b *testing.B) {
	for _, pages := range []uint32{1, 4} {
		b.Run(map[uint32]string{1: "1page", 4: "4pages"}[pages], func(b *testing.B) {
			s, err := New(context.Background(), nil)
			if err != nil {
				b.Fatal(err)
			}
			p, err := s.Open(context.Background(), Module{Name: "Test", Binary: wasmbuild.Guest{Pages: pages}.Bytes()})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			deadline, _ := ctx.Deadline()
			id := "user_1"
			inv := &abi.Invocation{
				Plugin: "Test", Command: "Run", Arguments: json.RawMessage(`{"command":"Run","a":2,"b":40}`),
				InvocationID: "inv_01JX0000000000000000000000", Deadline: deadline, Source: abi.FromCLI,
				Actor: &abi.Actor{Type: abi.ActorUser, ID: &id},
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Invoke(ctx, inv); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
