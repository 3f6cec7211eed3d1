package nic

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// pieces is memory accessed by offset that accepts several pieces per call.
type pieces struct {
	b    []byte
	more atomic.Bool // a call had several pieces
}

func (m *pieces) Size() uint64                       { return uint64(len(m.b)) }
func (m *pieces) ReadAt(p []byte, off uint64) error  { copy(p, m.b[off:]); return nil }
func (m *pieces) WriteAt(p []byte, off uint64) error { copy(m.b[off:], p); return nil }
func (m *pieces) WritePieces(p []mr.Piece) (stored int, err error) {
	if len(p) > 1 {
		m.more.Store(true)
	}
	for i := range p {
		_ = m.WriteAt(p[i].Data, p[i].Off)
	}
	return len(p), nil
}

// Messages of several queue pairs arrive interleaved, some packets twice, late or not at all;
// data held back for one is not lost or mixed up with that of another.
func TestMessagesThatAreStoredInPiecesArriveWhole(t *testing.T) {
	t.Run("long", func(t *testing.T) { arriveWhole(t, 40_000, 1) })
	t.Run("short", func(t *testing.T) { arriveWhole(t, 1000, 8) })
}

// arriveWhole makes each of several queue pairs WRITE, READ and SEND size bytes, in the given
// number of messages.
func arriveWhole(t *testing.T, size, messages int) {
	const qps, rounds = 4, 5
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		var ends [2]*end
		var far [2]*pieces
		var regions [2]*mr.Region
		for i := range ends {
			addr := []netip.Addr{addrA, addrB}[i]
			link := fault.New(openLink(t, n, addr), fault.Config{
				Seed: uint64(i + 1), Drop: 0.01, Reorder: 0.02, Duplicate: 0.02,
			})
			ends[i] = newEnd(t, uint64(i+1), link, qps*size)
			far[i] = &pieces{b: make([]byte, 2*qps*size)}
			r, err := ends[i].dev.Register(ends[i].pd, far[i], 0, far[i].Size(), mr.LocalWrite|mr.RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			regions[i] = r
		}
		a, b := ends[0], ends[1]
		defer closeAll(t, a, b)
		var from, to []*QP
		for range qps {
			q, p := a.newQP(), b.newQP()
			a.connect(q, addrB, p.Num(), b.psn, usualRetry)
			b.connect(p, addrA, q.Num(), a.psn, usualRetry)
			from, to = append(from, q), append(to, p)
		}
		random := rand.New(rand.NewPCG(1, 2))
		// The memory does not change, because a repeated READ reads it again after its first
		// response was received.
		for i := range b.buf {
			b.buf[i] = byte(random.Uint32())
		}
		for round := range rounds {
			for i := range a.buf {
				a.buf[i] = byte(random.Uint32())
			}
			clear(far[0].b)
			for i, q := range from {
				var sends []*qp.SendWR
				for part := range messages {
					n := size / messages
					at := i*size + part*n
					receive := &qp.RecvWR{SGList: []qp.SGE{{Addr: uint64(qps*size + at), Length: uint32(n),
						LKey: regions[1].LKey()}}}
					if _, err := to[i].PostRecv([]*qp.RecvWR{receive}); err != nil {
						t.Fatal(err)
					}
					write := &qp.SendWR{
						Opcode: qp.WRWrite, Flags: qp.Signaled, SGList: a.sge(at, n),
						RemoteAddr: uint64(at), RKey: regions[1].RKey(),
					}
					read := a.read(b, 0, at, n)
					read.SGList = []qp.SGE{{Addr: uint64(at), Length: uint32(n), LKey: regions[0].LKey()}}
					send := &qp.SendWR{Opcode: qp.WRSend, Flags: qp.Signaled, SGList: a.sge(at, n)}
					sends = append(sends, write, read, send)
				}
				if _, err := q.PostSend(sends); err != nil {
					t.Fatal(err)
				}
			}
			a.succeed(3 * qps * messages)
			b.succeed(qps * messages)
			for _, c := range []struct {
				what      string
				got, want []byte
			}{
				{"WRITEs", far[1].b[:qps*size], a.buf},
				{"SENDs", far[1].b[qps*size:], a.buf},
				{"READs", far[0].b[:qps*size], b.buf},
			} {
				if !bytes.Equal(c.got, c.want) {
					t.Fatalf("round %d: the %s brought other bytes", round, c.what)
				}
			}
		}
		for i, m := range far {
			if !m.more.Load() {
				t.Errorf("end %d: no call had more than one piece", i)
			}
		}
	})
}
