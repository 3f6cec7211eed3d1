package nic

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// A maker creates queue pairs on a device of several shards.
type maker struct {
	t   *testing.T
	dev *Device
	pd  *mr.PD
	cq  *CQ
}

const makerShards = 4

func newMaker(t *testing.T, seed uint64) *maker {
	t.Helper()
	d, err := Open(Config{
		Name: "test", Links: []packet.Link{openLink(t, pipe.NewNet(), addrA)},
		Seed: seed, Shards: makerShards, MaxQP: 1 << 16, MaxMR: 1, MaxCQ: 1, MaxSRQ: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	cq, err := d.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	return &maker{t, d, &mr.PD{}, cq}
}

// qp creates a queue pair and returns it with its shard, which every peer can compute from its
// number.
func (m *maker) qp() (q *QP, shard int) {
	m.t.Helper()
	q, err := m.dev.CreateQP(QPInit{Type: qp.RC, PD: m.pd, SendCQ: m.cq, RecvCQ: m.cq,
		Cap: qp.Cap{MaxSendWR: 1, MaxRecvWR: 1}})
	if err != nil {
		m.t.Fatal(err)
	}
	return q, int(q.Num()) % makerShards
}

func (m *maker) shards(n int) (all []int) {
	for range n {
		_, s := m.qp()
		all = append(all, s)
	}
	return all
}

func TestTheShardOfAQueuePairTellsNothingOfTheNextOnes(t *testing.T) {
	const each = 200
	all := newMaker(t, 1).shards(each*makerShards*makerShards + 1)
	var pairs [makerShards][makerShards]int
	for i, s := range all[1:] {
		pairs[all[i]][s]++
	}
	for i := range pairs {
		for j, n := range pairs[i] {
			if n < each*2/3 || n > each*4/3 { // 5 standard deviations
				t.Errorf("shard %d comes %d times after shard %d, want about %d", j, n, i, each)
			}
		}
	}
}

// An attacker with equally many queue pairs in each shard learns nothing about the shard of
// another's queue pair from those that it creates next.
func TestAnAttackerThatEvensOutTheShardsDoesNotFindTheQueuePairOfAnother(t *testing.T) {
	const rounds, evenly = 500, 4
	m := newMaker(t, 1)
	found := 0
	for range rounds {
		var own [makerShards][]*QP
		for made := 0; made < evenly*makerShards; {
			q, s := m.qp()
			if len(own[s]) == evenly {
				q.Close()
				continue
			}
			own[s] = append(own[s], q)
			made++
		}
		victim, at := m.qp()
		var after [makerShards]int
		for range makerShards - 1 {
			q, s := m.qp()
			after[s]++
			own[s] = append(own[s], q)
		}
		if guess := slices.Index(after[:], 0); guess == at {
			found++
		}
		victim.Close()
		for _, qs := range own {
			for _, q := range qs {
				q.Close()
			}
		}
	}
	if most := rounds/makerShards + 50; found > most { // 5 standard deviations
		t.Errorf("the attacker finds the shard in %d of %d rounds, want %d at most", found, rounds, most)
	}
}

func TestASeedDecidesTheShards(t *testing.T) {
	const n = 64
	one, again, other := newMaker(t, 1).shards(n), newMaker(t, 1).shards(n), newMaker(t, 2).shards(n)
	if !slices.Equal(one, again) {
		t.Errorf("shards %v and %v with the same seed", one, again)
	}
	if slices.Equal(one, other) {
		t.Errorf("shards %v with both seeds", one)
	}
	if one, other := newMaker(t, 0).shards(n), newMaker(t, 0).shards(n); slices.Equal(one, other) {
		t.Errorf("shards %v of two devices with crypto/rand", one)
	}
}
