package nic

import (
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A cappedLink reports another MTU than the link below.
type cappedLink struct {
	packet.Link
	mtu atomic.Int32
}

func (l *cappedLink) Caps() packet.Caps {
	c := l.Link.Caps()
	c.MTU = int(l.mtu.Load())
	return c
}

// numbered returns the i-th of many addresses.
func numbered(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}) }

// newFullEnd fills the GID table with addresses, all of which are absent except the first.
func newFullEnd(t *testing.T) *end {
	t.Helper()
	n := pipe.NewNet()
	e := newEnd(t, 1, openLink(t, n, numbered(0)), 64)
	for i := 1; i < maxGIDs; i++ {
		if got := e.addLink(openLink(t, n, numbered(i))); got != i {
			t.Fatalf("address %d is GID %d", i, got)
		}
	}
	return e
}

func (e *end) add(addr netip.Addr) (int, error) {
	l := openLink(e.t, pipe.NewNet(), addr)
	index, err := e.dev.AddLink(l)
	if err != nil {
		l.Close()
	}
	return index, err
}

func TestATableThatIsFullTakesWhatWentFirst(t *testing.T) {
	e := newFullEnd(t)
	defer closeAll(t, e)
	if _, err := e.add(addrA); err == nil || !strings.Contains(err.Error(), "no room for 192.0.2.1") {
		t.Errorf("address %d was taken: %v", maxGIDs+1, err)
	}
	for _, i := range []int{20, 10, 30} {
		e.removeLink(i)
	}
	e.add(numbered(20)) // and is present again
	e.removeLink(20)
	for _, want := range []int{10, 30, 20} {
		if got, err := e.add(numbered(1000 + want)); err != nil || got != want {
			t.Errorf("GID %d, %v, want the index of what went first, %d", got, err, want)
		}
	}
	if _, err := e.add(numbered(10)); err == nil {
		t.Error("an address whose index was reused came back, and there is no room")
	}
	if n := e.dev.GIDTableLen(); n != maxGIDs {
		t.Errorf("the table is %d long, want %d", n, maxGIDs)
	}
}

func TestAnIndexInUseIsNotReused(t *testing.T) {
	rtr := func(e *end, q *QP, index int) {
		t.Helper()
		for _, step := range []qp.Attr{
			{State: qp.INIT, Port: 1},
			{State: qp.RTR, PathMTU: 1024, AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrB), SGIDIndex: uint8(index)}},
		} {
			needs, _, _ := qp.Requirements(qp.RC, step.State-1, step.State)
			if err := q.Modify(&step, needs|qp.AttrState); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		use  func(e *end, index int) (letGo func())
	}{
		{"by a queue pair that is closed", func(e *end, index int) func() {
			rtr(e, e.qp, index)
			return e.qp.Close
		}},
		{"by a queue pair that is reset", func(e *end, index int) func() {
			rtr(e, e.qp, index)
			return func() {
				if err := e.qp.Modify(&qp.Attr{State: qp.RESET}, qp.AttrState); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"by an address handle", func(e *end, index int) func() {
			ah := e.ah(uint8(index), addrB)
			return func() { runtime.KeepAlive(ah) }
		}},
		{"by an address handle from before it went and came back", func(e *end, index int) func() {
			ah := e.ah(uint8(index), addrB)
			e.removeLink(index)
			runtime.GC()
			e.add(numbered(index))
			other := e.ah(uint8(index), addrB)
			runtime.KeepAlive(other)
			return func() { runtime.KeepAlive(ah) }
		}},
		{"by a datagram that is complete", func(e *end, index int) func() {
			q := e.newDatagramQP(testQKey)
			wr := e.datagram(1, e.ah(uint8(index), addrB), 17, 0, 10)
			if _, err := q.PostSend([]*qp.SendWR{wr}); err != nil {
				t.Fatal(err)
			}
			e.succeed(1)
			return func() { runtime.KeepAlive(wr) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newFullEnd(t)
			defer closeAll(t, e)
			letGo := c.use(e, 7)
			e.removeLink(7)
			for range 3 {
				runtime.GC()
				if i, err := e.add(addrA); err == nil {
					t.Fatalf("index %d was reused", i)
				}
			}
			letGo()
			// The collector determines when there is no handle any more.
			for {
				runtime.GC()
				i, err := e.add(addrA)
				if err == nil {
					if i != 7 {
						t.Errorf("GID %d, want 7", i)
					}
					break
				}
			}
		})
	}
}

func TestAnAddressVectorMustNameWhatIsThere(t *testing.T) {
	e := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 64)
	defer closeAll(t, e)
	e.removeLink(0)
	if err := e.qp.Modify(&qp.Attr{State: qp.INIT, Port: 1},
		qp.AttrState|qp.AttrPKeyIndex|qp.AttrPort|qp.AttrAccess); err != nil {
		t.Fatal(err)
	}
	needs, _, _ := qp.Requirements(qp.RC, qp.INIT, qp.RTR)
	err := e.qp.Modify(&qp.Attr{State: qp.RTR, PathMTU: 1024, AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrB)}},
		needs|qp.AttrState)
	if err == nil || !strings.Contains(err.Error(), "GID 0 (192.0.2.1) is away") || e.qp.State() != qp.INIT {
		t.Errorf("Modify = %v, state %v", err, e.qp.State())
	}
	var grh transport.GRH
	f := received4(addrB, addrA, nil)
	grh.Set(&f)
	if av, err := e.dev.ReplyVector(&grh); err == nil {
		t.Errorf("a way back from an address that is away: %+v", av)
	}
}

// A connected queue pair keeps its path MTU, however the link's MTU changes, and can be modified.
func TestMTUOfALinkCounts(t *testing.T) {
	l := &cappedLink{Link: openLink(t, pipe.NewNet(), addrA)}
	l.mtu.Store(4200)
	e := newEnd(t, 1, l, 64)
	defer closeAll(t, e)
	mtuIs := func(netdev int32, want qp.MTU) {
		t.Helper()
		l.mtu.Store(netdev)
		if err := e.dev.UpdateLink(0); err != nil {
			t.Fatal(err)
		}
		if g := e.dev.GIDs()[0]; g.MTU != want || g.Caps.MTU != int(netdev) {
			t.Errorf("the MTU of GID 0 is %d of %d, want %d of %d", g.MTU, g.Caps.MTU, want, netdev)
		}
	}
	mtuIs(4200, 4096)
	noEvent(t, e.dev)
	e.connect(e.qp, addrB, 17, 0, usualRetry)
	ah := e.ah(0, addrB)
	mtuIs(1000, 512)
	mustEvent(t, e.dev, gidChange)
	noEvent(t, e.dev)
	if a, _ := e.qp.Query(); a.PathMTU != 1024 {
		t.Errorf("the path MTU is %d, was 1024", a.PathMTU)
	}
	if err := e.qp.Modify(&qp.Attr{State: qp.SQD}, qp.AttrState); err != nil {
		t.Errorf("a queue pair with a larger path MTU cannot be modified: %v", err)
	}
	q := e.newQP()
	if err := q.Modify(&qp.Attr{State: qp.INIT, Port: 1, Access: mr.RemoteWrite},
		qp.AttrState|qp.AttrPKeyIndex|qp.AttrPort|qp.AttrAccess); err != nil {
		t.Fatal(err)
	}
	needs, _, _ := qp.Requirements(qp.RC, qp.INIT, qp.RTR)
	to := qp.Attr{State: qp.RTR, PathMTU: 1024, AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrB)}}
	if err := q.Modify(&to, needs|qp.AttrState); err == nil || !strings.Contains(err.Error(),
		"path MTU 1024 does not fit 192.0.2.1, whose MTU of 1000 bytes allows at most 512") {
		t.Errorf("a connection with too large a path MTU: %v", err)
	}
	to.PathMTU = 512
	if err := q.Modify(&to, needs|qp.AttrState); err != nil {
		t.Error(err)
	}
	l.mtu.Store(300)
	if err := e.dev.UpdateLink(0); err == nil || e.dev.GIDs()[0].MTU != 512 {
		t.Errorf("too small an MTU: %v", err)
	}
	mtuIs(1500, 1024)
	runtime.KeepAlive(ah)
}
