package socket

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

func ids(b *packet.Batch) (ids []uint16) {
	for i := range b.Len() {
		ids = append(ids, b.At(i).ID)
	}
	return ids
}

func TestUDPPrepareAnnouncesTheIDsOfTrains(t *testing.T) {
	p, q := path4("192.0.2.2"), path4("192.0.2.3")
	for _, test := range []struct {
		rule string
		addr string
		set  func(*udp, *packet.Batch)
		want []uint16
	}{
		{"segments count from 0, a lone frame has 0", "192.0.2.1", func(*udp, *packet.Batch) {},
			[]uint16{0, 1, 2, 0, 1, 0}},
		{"lone frames have 0", "192.0.2.1", func(_ *udp, b *packet.Batch) { b.NoTrains = true },
			[]uint16{0, 0, 0, 0, 0, 0}},
		{"without GSO all have 0", "192.0.2.1", func(l *udp, _ *packet.Batch) { l.gso.Store(gsoOff) },
			[]uint16{0, 0, 0, 0, 0, 0}},
		{"frames before Sent are left as they are", "192.0.2.1",
			func(_ *udp, b *packet.Batch) { b.Sent = 1; b.At(0).ID = 77 }, []uint16{77, 0, 1, 0, 1, 0}},
		{"frames that are longer than the MTU took to be are in no train", "192.0.2.1",
			func(l *udp, _ *packet.Batch) { l.SetMTU(100) }, []uint16{0, 0, 0, 0, 0, 0}},
		{"IPv6 has none", "2001:db8::1", func(*udp, *packet.Batch) {}, []uint16{0, 0, 0, 0, 0, 0}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			b := batchOf(p, 100, 100, 50, 100, 100, 100)
			b.At(5).Path = q
			l := new(kernel).link(test.addr)
			test.set(l, b)
			l.Prepare(b)
			if diff := cmp.Diff(test.want, ids(b)); diff != "" {
				t.Error(diff)
			}
			for i := b.Sent; i < b.Len(); i++ {
				f, flags := b.At(i), uint16(0)
				if l.addr.Is4() {
					flags = packet.DontFragment
				}
				if f.SrcPort != packet.Port || f.FlagsFragment != flags {
					t.Errorf("frame %d: source port %d, flags %#x", i, f.SrcPort, f.FlagsFragment)
				}
			}
		})
	}
}

func TestUDPSendMessages(t *testing.T) {
	k := new(kernel)
	l := k.link("192.0.2.1")
	p, marked, hops, far := path4("192.0.2.2"), path4("192.0.2.2"), path4("192.0.2.2"), path4("192.0.2.3")
	marked.TrafficClass, hops.HopLimit = 0x2e, 3
	b := batchOf(p, 100, 100, 50, 70, 70, 70, 70)
	b.At(3).Path, b.At(4).Path = marked, marked
	b.At(5).Path, b.At(6).Path = hops, far
	l.Prepare(b)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"192.0.2.2:4791 250 bytes in segments of 100",
		fmt.Sprintf("192.0.2.2:4791 140 bytes in segments of 70, option 0/%d = 46", unix.IP_TOS),
		fmt.Sprintf("192.0.2.2:4791 70 bytes, option 0/%d = 3", unix.IP_TTL),
		"192.0.2.3:4791 70 bytes",
	}
	if diff := cmp.Diff(want, k.messages()); diff != "" {
		t.Error(diff)
	}
	if k.calls != 1 || b.Sent != 7 {
		t.Errorf("%d calls for %d frames, want 1 for 7", k.calls, b.Sent)
	}
	if got, want := l.Stats(), (packet.Stats{TxFrames: 7, TxBytes: 530, TxCalls: 1}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func TestUDPSendGathersInOrder(t *testing.T) {
	k := new(kernel)
	l := k.link("2001:db8::1")
	b := packet.NewBatch(2)
	path := &packet.Path{Dst: netip.MustParseAddr("2001:db8::2")}
	for _, s := range []string{"12", "34"} {
		f := b.AppendFrame()
		f.Path = path
		f.Header = append(f.Header, "h"+s...)
		f.Payload = append(f.Payload, []byte(s[:1]), nil, []byte(s[1:]))
	}
	l.Prepare(b)
	for i := range b.Len() {
		b.At(i).Trailer = append(b.At(i).Trailer, "icrc"...)
	}
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
	if got, want := k.got[0].data, "h1212icrch3434icrc"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"[2001:db8::2]:4791 18 bytes in segments of 9"}, k.messages()); diff != "" {
		t.Error(diff)
	}
}

func TestUDPSendGoesOnAfterPartsAndWaits(t *testing.T) {
	calls := 0
	k := &kernel{most: 3}
	k.verdict = func(sentMessage) unix.Errno {
		if calls++; calls%3 != 0 {
			return unix.EAGAIN
		}
		return 0
	}
	l := k.link("192.0.2.1")
	sizes := make([]int, 200)
	for i := range sizes {
		sizes[i] = i + 1 // increasing: no two form a train
	}
	b := batchOf(path4("192.0.2.2"), sizes...)
	l.Prepare(b)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
	if len(k.got) != 200 || k.waits == 0 || b.Sent != 200 {
		t.Errorf("%d messages, %d waits, Sent %d", len(k.got), k.waits, b.Sent)
	}
	for i, m := range k.got {
		if len(m.data) != i+1 {
			t.Fatalf("message %d has %d bytes", i, len(m.data))
		}
	}
}

func TestUDPSendSkipsWhatTheKernelRefuses(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EMSGSIZE, unix.ECONNREFUSED, unix.ENOBUFS, unix.EHOSTUNREACH,
		unix.ENETUNREACH, unix.EPERM, unix.EINVAL} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			k := new(kernel)
			k.verdict = func(m sentMessage) unix.Errno {
				if len(m.data) == 5 {
					return errno
				}
				return 0
			}
			l := k.link("192.0.2.1")
			b := batchOf(path4("192.0.2.2"), 5, 4, 5, 5, 3)
			b.NoTrains = true
			l.Prepare(b)
			err := l.Send(b)
			var refused *packet.SendError
			if !errors.As(err, &refused) || !errors.Is(err, errno) {
				t.Fatalf("Send: %v, want a SendError for %v", err, errno)
			}
			if refused.Refused != 3 || refused.Frame != 0 || refused.Len != 5 || refused.Dst.Dst != b.At(0).Path.Dst {
				t.Errorf("%+v", refused)
			}
			if got := errors.Is(err, packet.ErrTooLong); got != (errno == unix.EMSGSIZE) {
				t.Errorf("%v is ErrTooLong: %v", err, got)
			}
			if len(k.got) != 2 || b.Sent != 5 || l.Stats().TxRefused != 3 || l.Stats().TxFrames != 2 {
				t.Errorf("sent %v, Sent %d, %+v", k.messages(), b.Sent, l.Stats())
			}
		})
	}
}

func TestUDPRefusedTrainIsSkippedWhole(t *testing.T) {
	k := &kernel{verdict: func(m sentMessage) unix.Errno {
		if m.segment > 0 {
			return unix.EHOSTUNREACH
		}
		return 0
	}}
	l := k.link("192.0.2.1")
	b := batchOf(path4("192.0.2.2"), 1, 5, 5, 5, 9)
	l.Prepare(b)
	err := l.Send(b)
	var refused *packet.SendError
	if !errors.As(err, &refused) || refused.Refused != 3 || refused.Frame != 1 {
		t.Errorf("Send: %v, want 3 frames refused from frame 1 on", err)
	}
	if l.gso.Load() != gsoOn {
		t.Error("an unreachable host turned GSO off")
	}
	if len(k.got) != 2 {
		t.Errorf("sent %v", k.messages())
	}
}

func TestUDPKernelWithoutGSO(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EIO, unix.EINVAL, unix.EOPNOTSUPP} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			k := &kernel{verdict: func(m sentMessage) unix.Errno {
				if m.segment > 0 {
					return errno
				}
				return 0
			}}
			l := k.link("192.0.2.1")
			b := batchOf(path4("192.0.2.2"), 9, 10, 10, 10, 4)
			l.Prepare(b)
			if err := l.Send(b); !errors.Is(err, packet.ErrReprepare) || b.Sent != 1 {
				t.Fatalf("Send: %v with Sent %d, want ErrReprepare with Sent 1", err, b.Sent)
			}
			if diff := cmp.Diff([]string{"192.0.2.2:4791 9 bytes"}, k.messages()); diff != "" {
				t.Errorf("before ErrReprepare:\n%s", diff)
			}
			// Another batch that was prepared in the meantime must be prepared again, too.
			other := batchOf(path4("192.0.2.9"), 7, 7)
			for i := range other.Len() {
				other.At(i).Train = 2 * (1 - i)
			}
			if err := l.Send(other); !errors.Is(err, packet.ErrReprepare) || other.Sent != 0 {
				t.Fatalf("Send of another batch: %v with Sent %d, want ErrReprepare with Sent 0", err, other.Sent)
			}
			l.Prepare(b)
			if diff := cmp.Diff([]uint16{0, 0, 0, 0, 0}, ids(b)); diff != "" {
				t.Errorf("identifications:\n%s", diff)
			}
			if err := l.Send(b); err != nil {
				t.Fatal(err)
			}
			if b.Sent != 5 || len(k.got) != 4 {
				t.Errorf("Sent %d, messages %v", b.Sent, k.messages())
			}
			if l.gso.Load() != gsoOff || l.Caps().GSO {
				t.Error("GSO is still on")
			}
		})
	}
}

func TestUDPFramesOverAPathMTUKeepGSO(t *testing.T) {
	// The path MTU is smaller than the device MTU, known to the kernel from ICMP.
	k := &kernel{verdict: func(m sentMessage) unix.Errno {
		if max(m.segment, len(m.data)) > 1000 && (m.segment > 0 || len(m.data) > 1000) {
			return unix.EMSGSIZE
		}
		return 0
	}}
	l := k.link("192.0.2.1")
	b := batchOf(path4("192.0.2.2"), 2000, 2000, 500, 500, 500)
	l.Prepare(b)
	if err := l.Send(b); !errors.Is(err, packet.ErrReprepare) || b.Sent != 0 {
		t.Fatalf("Send: %v with Sent %d, want ErrReprepare with Sent 0", err, b.Sent)
	}
	l.Prepare(b)
	var refused *packet.SendError
	if err := l.Send(b); !errors.As(err, &refused) || refused.Refused != 2 || !errors.Is(err, packet.ErrTooLong) {
		t.Fatalf("Send: %v, want two frames too long", err)
	}
	if len(k.got) != 3 || l.gso.Load() != gsoOn {
		t.Errorf("sent %v, GSO state %d", k.messages(), l.gso.Load())
	}
}

func TestUDPUnequalGrowthAfterPrepareIsRefused(t *testing.T) {
	k := new(kernel)
	l := k.link("192.0.2.1")
	for _, change := range []int{0, 1, 2} {
		b := batchOf(path4("192.0.2.2"), 10, 10, 10, 3)
		b.At(3).Path = path4("192.0.2.3")
		l.Prepare(b)
		b.At(change).Trailer = append(b.At(change).Trailer, 1)
		err := l.Send(b)
		var refused *packet.SendError
		if !errors.As(err, &refused) || refused.Refused != 3 {
			t.Errorf("frame %d of 3 grew: %v, want the three refused", change, err)
		}
		if diff := cmp.Diff([]string{"192.0.2.3:4791 3 bytes"}, k.messages()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestUDPSendOfAClosedLink(t *testing.T) {
	k := new(kernel)
	l := k.link("192.0.2.1")
	l.raw = &rawConn{k: k, err: errors.New("closed")}
	b := batchOf(path4("192.0.2.2"), 10)
	l.Prepare(b)
	if err := l.Send(b); err == nil || b.Sent != 0 {
		t.Errorf("Send: %v, Sent %d", err, b.Sent)
	}
}

func TestUDPSendKeepsHoldOfNothing(t *testing.T) {
	l := new(kernel).link("192.0.2.1")
	b := batchOf(path4("192.0.2.2"), slices.Repeat([]int{100}, 10)...)
	l.Prepare(b)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
	for i, v := range l.tx.iov[:cap(l.tx.iov)] {
		if v.Base != nil {
			t.Fatalf("piece %d is still referred to after Send", i)
		}
	}
}

func TestUDPPortIsInNetworkByteOrder(t *testing.T) {
	for _, a := range []string{"192.0.2.1", "2001:db8::1"} {
		var sa sockaddr
		putSockaddr(&sa, netip.MustParseAddr(a), 0)
		if addr, port := getSockaddr(&sa); addr.String() != a || port != packet.Port {
			t.Errorf("%v: read back as %v port %d", a, addr, port)
		}
	}
}

func TestUDPTrainOfJoinedFramesIsOnePiece(t *testing.T) {
	k := new(kernel)
	l := k.link("192.0.2.1")
	b := packet.NewBatch(4)
	path := &packet.Path{Dst: netip.MustParseAddr("192.0.2.2")}
	// The last is longer than those before, so it is a separate message.
	for _, s := range []string{"12", "34", "56", "789"} {
		f := b.AppendFrame()
		f.Path = path
		f.Header = append(f.Header, "h"...)
		f.Payload = append(f.Payload, []byte(s[:1]), []byte(s[1:]))
		f.Trailer = append(f.Trailer, 'p')
	}
	l.Prepare(b)
	for i := range b.Len() {
		f := b.At(i)
		f.Flatten(4)
		f.Trailer = append(f.Trailer, "icrc"...)
	}
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, m := range k.got {
		got = append(got, m.data)
		if n := l.tx.meta[i].pieces; n != 1 {
			t.Errorf("message %d is gathered from %d pieces, want 1", i, n)
		}
	}
	if diff := cmp.Diff([]string{"h12picrch34picrch56picrc", "h789picrc"}, got); diff != "" {
		t.Error(diff)
	}
}
