package respond

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// A client that claims the GID of a third host gets no queue pair, so its packets with the
// other's address do not make the device send to that host.
func TestNothingIsSentToAThirdHost(t *testing.T) {
	const third = "192.0.2.3"
	for _, c := range []struct {
		name, gid string
		foreign   []netip.Prefix
		allowed   bool
	}{
		{name: "another host", gid: third},
		{name: "another host that is allowed", gid: third,
			foreign: []netip.Prefix{netip.MustParsePrefix("192.0.2.3/32")}, allowed: true},
		{name: "the device itself", gid: deviceAddr, foreign: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}},
		{name: "everybody", gid: "255.255.255.255", foreign: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}},
	} {
		counted, logged := responding(t, Limits{ForeignGIDs: c.foreign}, both, func(r *rig) {
			// Here the host itself sends with its address.
			l, err := r.pipes.Open(netip.MustParseAddr(third), 9000)
			if err != nil {
				r.Fatal(err)
			}
			forger, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
			if err != nil {
				r.Fatal(err)
			}
			q, read := reader(r.T, forger)
			k := perftest.Key{OutReads: 1, QPN: uint32(q.QPN()), GID: gid(c.gid)}
			conn := r.call("192.0.2.2", deviceAddr)
			answer, err := converse(conn, append(opening(), say{k.Append(nil), perftest.KeyLen})...)
			if (err == nil) != c.allowed {
				r.Errorf("%s: the key is answered: %v", c.name, err)
			}
			if err == nil {
				read(answer)
				synctest.Wait()
			}
			if n := r.sentTo(c.gid); (n > 0) != c.allowed {
				r.Errorf("%s: %d packets are sent to %s", c.name, n, c.gid)
			}
			conn.Close()
			r.ended()
			if err := forger.Close(); err != nil {
				r.Error(err)
			}
		})
		if n := counted["refused_foreign_gid"]; (n == 0) != c.allowed {
			t.Errorf("%s: %d are counted\n%s", c.name, n, logged)
		}
	}
}

// reader creates a queue pair that reads the memory of the queue pair with a given key.
func reader(t *testing.T, dev *verbs.Device) (*verbs.QP, func(key []byte)) {
	t.Helper()
	cq, err := dev.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	pd := dev.AllocPD()
	mr, err := pd.RegMR(make([]byte, 1<<16), verbs.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	q, err := pd.CreateQP(verbs.QPInitAttr{SendCQ: cq, Cap: verbs.QPCap{MaxSendWR: 1, MaxSendSGE: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return q, func(key []byte) {
		var peer perftest.Key
		if err := peer.Decode(key); err != nil {
			t.Fatal(err)
		}
		mine, err := q.Local(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		attr := verbs.DefaultConnAttr()
		attr.PathMTU = 1024
		if err := q.Connect(mine, verbs.ConnInfo{QPN: verbs.QPN(peer.QPN), PSN: verbs.PSN(peer.PSN), GID: peer.GID},
			attr); err != nil {
			t.Fatal(err)
		}
		err = q.PostSend(&verbs.SendWR{Opcode: verbs.WRRead, Flags: verbs.Signaled, RemoteAddr: peer.VAddr,
			RKey: peer.RKey, SGList: []verbs.SGE{mr.SGE(0, mr.Len())}})
		if err != nil {
			t.Fatal(err)
		}
	}
}
