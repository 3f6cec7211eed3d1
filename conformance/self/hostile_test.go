package self

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/conformance/cmsg"
)

// hostile returns hooks that change, drop and repeat one of n packets from the endpoint: the
// scripts then get beyond the handshake.
func hostile(rng *rand.Rand, n int) func(*world) hooks {
	return out(func(w *world, f *frame) {
		if f.err != nil || rng.IntN(n) > 0 {
			return
		}
		switch rng.IntN(8) {
		case 0:
			f.Opcode = bth.Opcode(rng.Uint32N(0x20))
		case 1:
			f.PSN = f.PSN.Add(rng.Uint32N(1 << 24))
		case 2:
			f.RETH.DMALen = lengths[rng.IntN(len(lengths))]
		case 3:
			f.AETH = bth.AETH{Syndrome: bth.Syndrome(rng.Uint32()), MSN: rng.Uint32N(1 << 24)}
		case 4:
			f.Payload = make([]byte, min(lengths[rng.IntN(len(lengths))], bth.MaxPayload))
		case 5:
			f.data = f.data[:rng.IntN(len(f.data))]
		case 6:
			f.drop()
		case 7:
			for range rng.IntN(100) {
				w.toTester(f.clone())
			}
		}
		if f.DestQP == bth.GSI && len(f.Payload) == cmsg.Len {
			f.Payload[24+rng.IntN(cmsg.Len-24)] ^= byte(rng.Uint32()) // of a message of the connection manager
		}
	})
}

var lengths = [...]uint32{0, 1, 7, 8, 64, 1000, 1024, 1025, 4096, 1 << 20, 1<<20 + 1, 1 << 31, 1<<32 - 1}

// A device that answers with other packets than expected must not make a script panic or run on.
func FuzzHostileDevice(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed, uint8(2+5*seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		var wg sync.WaitGroup
		slots := make(chan struct{}, 16)
		for i, c := range cases.All() {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				w, err := newWorld(hostile(rand.New(rand.NewPCG(seed, uint64(i))), 1+int(n)))
				if err != nil {
					t.Error(err)
					return
				}
				defer w.close()
				r := conformance.Runner{Device: endpoint{w}, Link: &link{w: w, local: testerAddr},
					Timeout: 20 * time.Millisecond, Silence: time.Millisecond, Limit: 200 * time.Millisecond}
				if len(r.Run(t.Context(), []*conformance.Case{c})) != 1 {
					t.Errorf("%s has no result", c.ID)
				}
			})
		}
		wg.Wait()
	})
}
