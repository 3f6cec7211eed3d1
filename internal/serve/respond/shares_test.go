package respond

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// One host gets half of the memory, with any number of sessions; others get a share, and the
// total is never exceeded.
func TestMemoryIsShared(t *testing.T) {
	s := &shares{total: 100, hosts: map[netip.Addr]uint64{}}
	host := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }
	fill := func(i int) (n uint64) {
		for s.acquire(host(i), 1) == nil {
			n++
		}
		return n
	}
	for i, want := range []uint64{50, 25, 16, 9} {
		if got := fill(i); got != want {
			t.Errorf("host %d gets %d, want %d", i, got, want)
		}
	}
	if s.inUse() != 100 {
		t.Errorf("%d are in use", s.inUse())
	}
	s.release(host(0), 50)
	if got := fill(3); got != 7 { // its share is a third of 50 now, and it has 9
		t.Errorf("beside two others host 3 gets %d more, want 7", got)
	}
	for i := range 4 {
		s.release(host(i), s.hosts[host(i)])
	}
	if len(s.hosts) != 0 || s.inUse() != 0 {
		t.Errorf("%v, %d in use", s.hosts, s.inUse())
	}
}

// A host that opens all its sessions, and writes to the memory of each, leaves memory for those
// of another.
func TestOneHostDoesNotTakeAllMemory(t *testing.T) {
	const sessions, each = 16, 1 << 16
	for _, c := range []struct {
		name string
		each uint64 // bytes that the host writes in each session
		want int    // number of its sessions that remain
	}{{"it only connects", 0, sessions}, {"it writes a byte", 1, sessions / 2},
		{"it writes everywhere", each, sessions / 2}} {
		counted, logged := responding(t, Limits{Memory: each, TotalMemory: sessions * each}, both, func(r *rig) {
			greedy, other := newWriter(r, "192.0.2.2"), newWriter(r, "192.0.2.9")
			stay := 0
			for range sessions {
				if greedy.session(c.each) == nil {
					stay++
				}
			}
			if stay != c.want {
				r.Errorf("%s: %d of its sessions stay, want %d", c.name, stay, c.want)
			}
			for i := range sessions / 4 {
				if err := other.session(each); err != nil {
					r.Errorf("%s: session %d of another host: %v", c.name, i, err)
				}
			}
			greedy.close()
			other.close()
			r.ended()
		})
		if n := counted["refused_no_memory"]; n != uint64(sessions-c.want) {
			t.Errorf("%s: %d sessions are counted that had no memory\n%s", c.name, n, logged)
		}
	}
}

// writer is a host whose clients write.
type writer struct {
	*rig
	addr  string
	dev   *verbs.Device
	calls []net.Conn
}

func newWriter(r *rig, addr string) *writer {
	r.Helper()
	l, err := r.pipes.Open(netip.MustParseAddr(addr), 9000)
	if err != nil {
		r.Fatal(err)
	}
	dev, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
	if err != nil {
		r.Fatal(err)
	}
	return &writer{rig: r, addr: addr, dev: dev}
}

func (w *writer) close() {
	for _, c := range w.calls {
		c.Close()
	}
	if err := w.dev.Close(); err != nil {
		w.Error(err)
	}
}

// session starts a session and writes n bytes to its memory.
func (w *writer) session(n uint64) error {
	w.Helper()
	conn := w.call(w.addr, deviceAddr)
	w.calls = append(w.calls, conn)
	cq, err := w.dev.CreateCQ(1)
	if err != nil {
		w.Fatal(err)
	}
	pd := w.dev.AllocPD()
	q, err := pd.CreateQP(verbs.QPInitAttr{SendCQ: cq, Cap: verbs.QPCap{MaxSendWR: 1, MaxSendSGE: 1}})
	if err != nil {
		w.Fatal(err)
	}
	k := perftest.Key{OutReads: 1, QPN: uint32(q.QPN()), GID: gid(w.addr)}
	answer, err := converse(conn, append(opening(), say{k.Append(nil), perftest.KeyLen})...)
	if err != nil || n == 0 {
		return err
	}
	var peer perftest.Key
	if err := peer.Decode(answer); err != nil {
		w.Fatal(err)
	}
	mr, err := pd.RegMR(make([]byte, n), 0)
	if err != nil {
		w.Fatal(err)
	}
	mine, err := q.Local(0, 0)
	if err != nil {
		w.Fatal(err)
	}
	attr := verbs.DefaultConnAttr()
	attr.PathMTU = 1024
	if err := q.Connect(mine, verbs.ConnInfo{QPN: verbs.QPN(peer.QPN), PSN: verbs.PSN(peer.PSN), GID: peer.GID},
		attr); err != nil {
		w.Fatal(err)
	}
	err = q.PostSend(&verbs.SendWR{Opcode: verbs.WRWrite, Flags: verbs.Signaled, RemoteAddr: peer.VAddr,
		RKey: peer.RKey, SGList: []verbs.SGE{mr.SGE(0, int(n))}})
	if err != nil {
		w.Fatal(err)
	}
	var wc [1]verbs.WC
	if _, err := cq.Wait(w.Context(), wc[:]); err != nil {
		w.Fatal(err)
	}
	if wc[0].Status != verbs.WCSuccess {
		return fmt.Errorf("%v", wc[0].Status)
	}
	return nil
}
