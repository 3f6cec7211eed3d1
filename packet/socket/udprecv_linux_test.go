package socket

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestParseAncillary(t *testing.T) {
	type message struct {
		level, typ int32
		value      uint32
		size       int
	}
	for _, test := range []struct {
		rule     string
		messages []message
		want     ancillary
	}{
		{"nothing", nil, ancillary{}},
		{"IPv4", []message{{unix.SOL_IP, unix.IP_TTL, 63, 4}, {unix.SOL_IP, unix.IP_TOS, 0x2e, 4},
			{unix.SOL_UDP, unix.UDP_GRO, 1052, 4}},
			ancillary{segment: 1052, trafficClass: 0x2e, hopLimit: 63}},
		{"IPv6", []message{{unix.SOL_IPV6, unix.IPV6_HOPLIMIT, 255, 4}, {unix.SOL_IPV6, unix.IPV6_TCLASS, 3, 4}},
			ancillary{trafficClass: 3, hopLimit: 255}},
		{"drops", []message{{unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 70000, 4}}, ancillary{dropped: 70000}},
		{"others are passed over", []message{{99, 1, 5, 4}, {unix.SOL_UDP, unix.UDP_GRO, 7, 4}}, ancillary{segment: 7}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			var c control
			n := 0
			for _, m := range test.messages {
				n = c.put(n, m.level, m.typ, m.value, m.size)
			}
			if got := c.parse(n); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestOneByteToSIsRead(t *testing.T) {
	// The kernel reports IP_TOS in a single byte.
	var c control
	c.put(0, unix.SOL_IP, unix.IP_TOS, 0, 2)
	(*unix.Cmsghdr)(unsafe.Pointer(&c)).SetLen(unix.CmsgLen(1))
	c.bytes()[unix.CmsgLen(0)] = 0x2e
	if got := c.parse(unix.CmsgSpace(1)); got.trafficClass != 0x2e {
		t.Errorf("traffic class %#x, want 0x2e", got.trafficClass)
	}
}

func TestRecvAsksForAsMuchAsComes(t *testing.T) {
	s := newUDPRecv(64, bufferKind{size: trainBuffer})
	type call struct{ got, bytes, want int }
	for i, c := range []call{
		{1, 100, 8},       // few arrived
		{8, 800, 16},      // all requested messages arrived
		{16, 1600, 32},    //
		{32, 3200, 64},    //
		{64, 6400, 64},    // no more than the capacity
		{64, 64 << 16, 7}, // trains: as many as fit in recvBytes
		{7, 7 << 16, 7},   //
		{1, 60000, 7},     //
		{7, 700, 14},      // short ones again
		{14, 14 << 16, 7}, //
		{0, 0, 7},         // only truncated ones
	} {
		s.got = c.got
		s.adapt(c.bytes)
		if s.want != c.want {
			t.Errorf("step %d: asks for %d, want %d", i, s.want, c.want)
		}
	}
	small := newUDPRecv(1, bufferKind{size: trainBuffer})
	small.got = 1
	small.adapt(1 << 20)
	if small.want != 1 {
		t.Errorf("a batch of one message asks for %d", small.want)
	}
}

func TestAPayloadIsReceivedAtAMultipleOf16(t *testing.T) {
	for _, k := range []bufferKind{
		{size: trainBuffer}, {size: datagramBuffer},
		{size: frameBuffer, headerLen: 52}, {size: frameBuffer, headerLen: 72},
	} {
		b := k.make()
		if len(b) != k.size {
			t.Errorf("%+v: %d bytes", k, len(b))
		}
		payload := uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(k.headerLen) + 12
		if payload%16 != 0 {
			t.Errorf("%+v: what follows a BTH begins at %#x", k, payload)
		}
	}
}
