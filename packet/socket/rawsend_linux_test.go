package socket

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

func TestRawFramesGoToTheNextHop(t *testing.T) {
	for _, test := range []struct {
		from, to string
		header   int
	}{{"192.0.2.1", "192.0.2.2", 42}, {"2001:db8::1", "2001:db8::2", 62}} {
		k := new(rawKernel)
		l := k.link(test.from, test.to)
		b := batchOf(path4(test.to), 10, 20)
		b.NoTrains = true
		path := *b.At(0).Path
		path.TrafficClass, path.HopLimit, path.FlowLabel = 0x2e, 5, 0xfffff
		b.At(1).Path = &path
		l.Prepare(b)
		if err := l.Send(b); err != nil || b.Sent != 2 {
			t.Fatalf("Send: %v, Sent %d", err, b.Sent)
		}
		if len(k.got) != 2 || len(k.udp.got) != 0 || k.calls != 1 {
			t.Fatalf("%v by %d calls, and %v", k.got, k.calls, k.udp.messages())
		}
		first, second := k.got[0], k.got[1]
		if diff := cmp.Diff(make([]byte, vnetLen), first.vnet); diff != "" {
			t.Errorf("what is said of a lone frame:\n%s", diff)
		}
		if len(first.head) != test.header || [6]byte(first.head) != [6]byte{2, 2} ||
			[6]byte(first.head[6:]) != [6]byte{2, 1} || first.index != 7 {
			t.Errorf("headers %x by interface %d", first.head, first.index)
		}
		if first.Src != l.Local() || first.Dst != netip.MustParseAddr(test.to) || first.SrcPort != packet.Port ||
			len(first.Data) != 10 {
			t.Errorf("%+v", first.Datagram)
		}
		if first.ID != b.At(0).ID || first.FlagsFragment != b.At(0).FlagsFragment ||
			first.HopLimit != packet.DefaultHopLimit || first.TrafficClass != 0 {
			t.Errorf("%+v, announced was ID %d, flags %#x", first.Datagram, b.At(0).ID, b.At(0).FlagsFragment)
		}
		if second.TrafficClass != 0x2e || second.HopLimit != 5 || len(second.Data) != 20 {
			t.Errorf("%+v", second.Datagram)
		}
		if label := binary.BigEndian.Uint32(second.head[14:]) & 0xfffff; l.Local().Is6() && label != 0xfffff {
			t.Errorf("flow label %#x", label)
		}
	}
}

func TestRawTrainsSayHowTheyAreCutUp(t *testing.T) {
	for _, test := range []struct {
		from, to          string
		headers, sumStart int
	}{
		{"192.0.2.1", "192.0.2.2", 42, 34},
		{"2001:db8::1", "2001:db8::2", 62, 54},
	} {
		k := new(rawKernel)
		l := k.link(test.from, test.to)
		b := batchOf(path4(test.to), 100, 100, 60)
		l.Prepare(b)
		if err := l.Send(b); err != nil {
			t.Fatal(err)
		}
		if len(k.got) != 1 || k.got[0].segment != 100 || len(k.got[0].Data) != 260 {
			t.Fatalf("sent %v", k.got)
		}
		v := k.got[0].vnet
		field := func(at int) int { return int(binary.NativeEndian.Uint16(v[at:])) }
		if v[0] != 1 || v[1] != 5 || field(2) != test.headers || field(6) != test.sumStart || field(8) != 6 {
			t.Errorf("%x", v)
		}
		if udp := k.got[0].head[test.sumStart:]; binary.BigEndian.Uint16(udp[6:]) == 0 {
			t.Error("no sum of the pseudo header for the device to complete")
		}
	}
}

func TestRawLeavesToTheUDPSocketWhatNoFrameCanBe(t *testing.T) {
	const near, far = "192.0.2.2", "203.0.113.1"
	k := new(rawKernel)
	l := k.link("192.0.2.1", near)
	b := batchOf(path4(near), 10, 11, 12, 13, 14, 9000, 15)
	b.NoTrains = true
	b.At(1).Path, b.At(2).Path = path4(far), path4("239.1.2.3")
	l.Prepare(b)
	k.udp.verdict = func(m sentMessage) unix.Errno {
		if len(m.data) == 9000 {
			return unix.EMSGSIZE
		}
		return 0
	}
	err := l.Send(b)
	var refused *packet.SendError
	if !errors.As(err, &refused) || !errors.Is(err, packet.ErrTooLong) || refused.Refused != 1 || refused.Frame != 5 ||
		b.Sent != 7 {
		t.Errorf("Send: %v, Sent %d", err, b.Sent)
	}
	frames, datagrams := k.messages()
	if diff := cmp.Diff([]string{
		near + " 10 bytes by 7", near + " 13 bytes by 7", near + " 14 bytes by 7", near + " 15 bytes by 7",
	}, frames); diff != "" {
		t.Errorf("frames:\n%s", diff)
	}
	if diff := cmp.Diff([]string{far + ":4791 11 bytes", "239.1.2.3:4791 12 bytes"}, datagrams); diff != "" {
		t.Errorf("datagrams:\n%s", diff)
	}
	s := l.Stats()
	if s.TxFrames != 6 || s.TxRefused != 1 || s.TxBytes != 10+11+12+13+14+15 {
		t.Errorf("%+v", s)
	}
}

func TestRawTrainsThatTheKernelRefusesLeaveByTheUDPSocket(t *testing.T) {
	k := &rawKernel{verdict: func(m sentFrame) unix.Errno {
		if m.segment > 0 {
			return unix.EINVAL
		}
		return 0
	}}
	l := k.link("192.0.2.1", "192.0.2.2")
	for range 2 {
		b := batchOf(path4("192.0.2.2"), 9, 10, 10, 4)
		l.Prepare(b)
		announced := ids(b)
		if err := l.Send(b); err != nil || b.Sent != 4 {
			t.Fatalf("Send: %v, Sent %d", err, b.Sent)
		}
		frames, datagrams := k.messages()
		if !slices.Equal(frames, []string{"192.0.2.2 9 bytes by 7"}) || !slices.Equal(datagrams,
			[]string{"192.0.2.2:4791 24 bytes in segments of 10"}) {
			t.Errorf("frames %q, datagrams %q", frames, datagrams)
		}
		if diff := cmp.Diff(announced, ids(b)); diff != "" {
			t.Errorf("the announcement changed:\n%s", diff)
		}
	}
	if k.calls != 3 {
		t.Errorf("%d calls, want two for the first batch and one for the second", k.calls)
	}
}

func TestRawSkipsWhatTheKernelRefuses(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOBUFS, unix.ENXIO, unix.ENETDOWN, unix.EMSGSIZE} {
		k := &rawKernel{verdict: func(m sentFrame) unix.Errno {
			if len(m.Data) == 5 {
				return errno
			}
			return 0
		}}
		l := k.link("192.0.2.1", "192.0.2.2")
		b := batchOf(path4("192.0.2.2"), 5, 4, 5, 5, 3)
		b.NoTrains = true
		l.Prepare(b)
		err := l.Send(b)
		var refused *packet.SendError
		if !errors.As(err, &refused) || !errors.Is(err, errno) || refused.Refused != 3 || refused.Frame != 0 ||
			b.Sent != 5 {
			t.Errorf("%v: %v, Sent %d", errno, err, b.Sent)
		}
		if len(k.got) != 2 || l.Stats().TxRefused != 3 {
			t.Errorf("%v: sent %v", errno, k.got)
		}
	}
}

// Only the UDP socket detects whether the kernel rejects trains or frames, with frames that it
// sends itself.
func TestRawWaitsForTheTrialOfTheUDPSocket(t *testing.T) {
	k := new(rawKernel)
	k.udp.verdict = func(m sentMessage) unix.Errno {
		if m.segment > 0 {
			return unix.EIO
		}
		return 0
	}
	l := k.link("192.0.2.1")
	b := batchOf(path4("192.0.2.2"), 10, 10)
	l.Prepare(b)
	if err := l.Send(b); !errors.Is(err, packet.ErrReprepare) {
		t.Fatalf("Send: %v, want ErrReprepare", err)
	}
	k.hop[netip.MustParseAddr("192.0.2.2")] = &route.Hop{Index: 7, MTU: 9000}
	// Frames to other destinations do not wait for the trial.
	k.hop[netip.MustParseAddr("192.0.2.3")] = &route.Hop{Index: 7, MTU: 9000}
	other := batchOf(path4("192.0.2.3"), 10)
	l.Prepare(other)
	if err := l.Send(other); err != nil || len(k.got) != 1 {
		t.Errorf("to another destination: %v, frames %v", err, k.got)
	}
	k.got = nil
	l.Prepare(b)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
	if frames, datagrams := k.messages(); len(frames) != 0 || len(datagrams) != 2 {
		t.Errorf("frames %q, datagrams %q", frames, datagrams)
	}
	if l.Caps().GSO {
		t.Error("trains are still on")
	}
}

func TestRawSendKeepsHoldOfNothing(t *testing.T) {
	k := new(rawKernel)
	l := k.link("192.0.2.1", "192.0.2.2")
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

func TestRawSendAllocatesNothing(t *testing.T) {
	k := new(rawKernel)
	l := k.link("192.0.2.1", "192.0.2.2")
	l.tx.sendmmsg = func(_ uintptr, msgs []mmsghdr) (int, unix.Errno) { return len(msgs), 0 }
	b := batchOf(path4("192.0.2.2"), slices.Repeat([]int{100, 1000}, 20)...)
	send := func() {
		b.Sent = 0
		l.Prepare(b)
		if err := l.Send(b); err != nil {
			t.Fatal(err)
		}
	}
	send()
	if n := testing.AllocsPerRun(100, send); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRawClosedSaysSo(t *testing.T) {
	k := new(rawKernel)
	l := k.link("192.0.2.1", "192.0.2.2")
	l.rx.raw = &rawConn{k: &k.udp, err: errors.New("closed")}
	b := batchOf(path4("192.0.2.2"), 10)
	l.Prepare(b)
	if err := l.Send(b); err == nil || b.Sent != 0 {
		t.Errorf("Send: %v, Sent %d", err, b.Sent)
	}
}
