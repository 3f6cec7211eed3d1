package nic

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

func TestDatagramsAndSharedReceivesOfAUserAreInItsShard(t *testing.T) {
	const shards, users = 4, 64
	d, err := Open(Config{
		Name: "test", Links: []packet.Link{openLink(t, pipe.NewNet(), addrA)},
		Seed: 1, Shards: shards, MaxQP: 1 << 10, MaxMR: 1, MaxCQ: 1, MaxSRQ: users + 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	pd := &mr.PD{}
	cq, err := d.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	create := func(init QPInit) bth.QPN {
		t.Helper()
		init.PD, init.SendCQ, init.RecvCQ = pd, cq, cq
		q, err := d.CreateQP(init)
		if err != nil {
			t.Fatal(err)
		}
		return q.Num()
	}
	var seen [shards]int
	for i := range users + 1 {
		var c *User
		if i > 0 {
			c = d.NewUser()
		}
		srq, err := d.CreateSRQ(c, pd, qp.SRQAttr{MaxWR: 1})
		if err != nil {
			t.Fatal(err)
		}
		first := create(QPInit{Type: qp.UD, User: c}) % shards
		if i == 0 && first != 0 {
			t.Errorf("a datagram queue pair of no user is in shard %d, want 0", first)
		}
		for _, init := range []QPInit{
			{Type: qp.UD, User: c}, {Type: qp.RC, SRQ: srq, User: c}, {Type: qp.UD, SRQ: srq, User: c},
		} {
			if s := create(init) % shards; s != first {
				t.Errorf("user %d: type %v, shared receives %v: shard %d, the first is in %d",
					i, init.Type, init.SRQ != nil, s, first)
			}
		}
		seen[first]++
	}
	for s, n := range seen {
		if n < users/shards/2 {
			t.Errorf("shard %d has %d of %d users", s, n, users)
		}
	}
}
