package socket

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"golang.org/x/sys/unix"
)

// receivedFrame returns what a packet socket reads: n bytes of payload from dst's neighbour.
func receivedFrame(dst string, n, segment int, typ uint16) []byte {
	h := encap.Header{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr(dst), SrcPort: 0xc000, ID: 77,
		FlagsFragment: packet.DontFragment, HopLimit: 9}
	if h.Dst.Is6() {
		h.Src = netip.MustParseAddr("2001:db8::1")
	}
	b := make([]byte, vnetLen+encap.MaxLen)
	b = b[:vnetLen+h.Put(b[vnetLen:], n)]
	if segment > 0 {
		putTrain(b, h.Len(), segment)
	}
	if typ != unix.ARPHRD_ETHER {
		b = append(b[:vnetLen:vnetLen], b[vnetLen+encap.EthernetLen:]...)
	}
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

func TestRawFramesAreDecoded(t *testing.T) {
	for _, test := range []struct {
		dst      string
		typ      uint16
		n, seg   int
		segments []int
	}{
		{"192.0.2.2", unix.ARPHRD_ETHER, 100, 0, []int{100}},
		{"2001:db8::2", unix.ARPHRD_ETHER, 100, 0, []int{100}},
		{"192.0.2.2", unix.ARPHRD_NONE, 100, 0, []int{100}},
		{"192.0.2.2", unix.ARPHRD_ETHER, 250, 100, []int{100, 100, 50}},
		{"2001:db8::2", unix.ARPHRD_ETHER, 200, 100, []int{100, 100}},
		{"192.0.2.2", unix.ARPHRD_ETHER, 0, 0, []int{0}},
	} {
		msg, seg, err := decodeFrame(receivedFrame(test.dst, test.n, test.seg, test.typ), test.typ)
		if err != nil {
			t.Fatal(err)
		}
		v4 := msg.Dst.Is4()
		frames := appendSegments(nil, msg, seg)
		if len(frames) != len(test.segments) {
			t.Fatalf("%+v: %d frames", test, len(frames))
		}
		for i, f := range frames {
			if len(f.Data) != test.segments[i] || f.Dst != netip.MustParseAddr(test.dst) || f.SrcPort != 0xc000 ||
				f.HopLimit != 9 {
				t.Errorf("%+v: frame %d: %+v", test, i, f)
			}
			// Identifications after the first are assumed, not received.
			if v4 && f.ID != uint16(77+i) || f.HeaderSeen != (i == 0 || !v4) {
				t.Errorf("%+v: frame %d: identification %d, seen %v", test, i, f.ID, f.HeaderSeen)
			}
		}
	}
	whole := receivedFrame("192.0.2.2", 10, 0, unix.ARPHRD_ETHER)
	for _, n := range []int{0, vnetLen - 1, vnetLen, len(whole) - 1} {
		if _, _, err := decodeFrame(whole[:n], unix.ARPHRD_ETHER); !errors.Is(err, encap.ErrTruncated) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzRawFrame(f *testing.F) {
	for _, dst := range []string{"192.0.2.2", "2001:db8::2"} {
		for _, typ := range []uint16{unix.ARPHRD_ETHER, unix.ARPHRD_NONE} {
			f.Add(receivedFrame(dst, 40, 0, typ), typ)
			f.Add(receivedFrame(dst, 40, 16, typ), typ)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, typ uint16) {
		msg, segment, err := decodeFrame(b, typ)
		if err != nil {
			return
		}
		total := 0
		for _, f := range appendSegments(nil, msg, segment) {
			total += len(f.Data)
			if segment > 0 && len(f.Data) > segment {
				t.Errorf("a segment of %d bytes, more than %d", len(f.Data), segment)
			}
		}
		if total != len(msg.Data) || total > len(b) {
			t.Errorf("segments have %d bytes of %d", total, len(msg.Data))
		}
		if segment != 0 && segment != int(binary.NativeEndian.Uint16(b[vnetGSOSize:])) {
			t.Errorf("segments of %d bytes", segment)
		}
	})
}
