package nic

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// splitmix and unmix are the finalizer of SplitMix64 and its inverse.
func splitmix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func unmix(z uint64) uint64 {
	z ^= z>>31 ^ z>>62
	z *= 0x319642b2d24d8ec3
	z ^= z>>27 ^ z>>54
	z *= 0x96de1b173f119089
	return z ^ z>>30 ^ z>>60
}

// A guess is what a peer would compute for a device that derives everything by SplitMix64 from
// one seed.
type guess struct {
	keys [4]uint32
	qpns [4]bth.QPN // of the first shard
}

// guesses assumes that the GUID is the first output after the seed. Two of its bits are fixed, so
// there are four candidates; the key seed is the second output, that of the first shard the
// third.
func guesses(guid uint64) (all []guess) {
	golden := uint64(0x9e3779b97f4a7c15)
	for bits := range uint64(4) {
		state := unmix(guid&^(3<<56) | bits<<56)
		var g guess
		seed, rounds := splitmix(state+golden), [4]uint64{}
		for i := range rounds {
			seed += golden
			rounds[i] = splitmix(seed)
		}
		variant := uint32(uint8(splitmix(seed + golden)))
		for i := range g.keys {
			left, right := uint32(0), uint32(i)
			for _, k := range rounds {
				left, right = right, left^uint32(splitmix(k^uint64(right)))&0xfff
			}
			g.keys[i] = (left<<12|right)<<8 | variant
		}
		start := splitmix(state+golden+golden) % uint64(lastQPN-firstQPN+1)
		for i := range g.qpns {
			g.qpns[i] = firstQPN + bth.QPN(start) + bth.QPN(i)
		}
		all = append(all, g)
	}
	return all
}

func TestTheInverseOfSplitMixIsOne(t *testing.T) {
	for _, v := range []uint64{0, 1, 1 << 63, 0x0123456789abcdef, 1<<64 - 1} {
		if got := unmix(splitmix(v)); got != v {
			t.Errorf("%#x comes back as %#x", v, got)
		}
	}
}

// Every peer knows the GUID. It must not be able to compute keys or queue pair numbers from it.
func TestTheGUIDTellsNeitherKeysNorQueuePairNumbers(t *testing.T) {
	for name, seed := range map[string]uint64{"of crypto/rand": 0, "with a seed": 7} {
		t.Run(name, func(t *testing.T) {
			d, err := Open(Config{
				Name: "test", Links: []packet.Link{openLink(t, pipe.NewNet(), addrA)},
				Seed: seed, MaxQP: 16, MaxMR: 16, MaxCQ: 16, MaxSRQ: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			cq, err := d.CreateCQ(16)
			if err != nil {
				t.Fatal(err)
			}
			pd, got := &mr.PD{}, guess{}
			for i := range got.keys {
				r, err := d.Register(pd, mr.Bytes(make([]byte, 8)), 0, 8, mr.LocalWrite)
				if err != nil {
					t.Fatal(err)
				}
				q, err := d.CreateQP(QPInit{Type: qp.RC, PD: pd, SendCQ: cq, RecvCQ: cq,
					Cap: qp.Cap{MaxSendWR: 1, MaxRecvWR: 1}})
				if err != nil {
					t.Fatal(err)
				}
				got.keys[i], got.qpns[i] = r.RKey(), q.Num()
			}
			for _, g := range guesses(d.GUID()) {
				if g.keys == got.keys {
					t.Errorf("keys %#08x follow from GUID %#016x", got.keys, d.GUID())
				}
				if g.qpns == got.qpns {
					t.Errorf("queue pair numbers %#06x follow from GUID %#016x", got.qpns, d.GUID())
				}
			}
		})
	}
}
