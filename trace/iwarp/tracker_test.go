package iwarp_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/trace/iwarp"
)

var (
	client = netip.MustParseAddrPort("198.18.0.2:40000")
	server = netip.MustParseAddrPort("198.18.0.3:7174")
)

// send returns an FPDU with an RDMAP Send of n bytes.
func send(msn uint32, n int, crc bool) []byte {
	ulpdu := []byte{0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0}
	ulpdu = binary.BigEndian.AppendUint32(ulpdu, msn)
	ulpdu = append(ulpdu, make([]byte, 4+n)...)
	b := binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu)))
	b = append(b, ulpdu...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	v := uint32(0)
	if crc {
		v = crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	}
	return binary.LittleEndian.AppendUint32(b, v)
}

func start(reply, crc, markers bool) []byte {
	b := []byte("MPA ID Req Frame")
	if reply {
		b = []byte("MPA ID Rep Frame")
	}
	flags := byte(0)
	if crc {
		flags |= 0x40
	}
	if markers {
		flags |= 0x80
	}
	return append(b, flags, 1, 0, 0)
}

// world feeds a Tracker and records what it shows.
type world struct {
	t    iwarp.Tracker
	next [2]uint32
	got  []string
}

// feed processes a segment. cut bytes at its end are not captured.
func (w *world) feed(from int, b []byte, cut int) (known bool) {
	s := iwarp.Segment{Src: client, Dst: server, Seq: w.next[from], Data: b[:len(b)-cut], Len: len(b)}
	if from == 1 {
		s.Src, s.Dst = server, client
	}
	w.next[from] += uint32(len(b))
	return w.t.Segment(&s, func(m *iwarp.Message) {
		text := fmt.Sprint(m.Kind)
		if m.CRC != iwarp.NotChecked {
			text += " " + m.CRC.String()
		}
		if m.Kind == iwarp.FPDU {
			text = fmt.Sprintf("%v %d %v", m.ULPDU.Opcode, m.ULPDU.MSN, m.CRC)
		}
		w.got = append(w.got, text)
	})
}

func (w *world) open(crc bool) {
	w.feed(0, start(false, crc, false), 0)
	w.feed(1, start(true, crc, false), 0)
	w.got = nil
}

func join(all ...[]byte) (b []byte) {
	for _, v := range all {
		b = append(b, v...)
	}
	return b
}

func TestTheTrackerFollowsFPDUs(t *testing.T) {
	one, two, three := send(1, 100, true), send(2, 7, true), send(3, 50, true)
	wrong := send(4, 8, true)
	wrong[len(wrong)-1]++
	for _, tt := range []struct {
		name string
		do   func(*world)
		want []string
	}{
		{"several in a segment", func(w *world) { w.open(true); w.feed(0, join(one, two, three), 0) },
			[]string{"Send 1 right", "Send 2 right", "Send 3 right"}},
		{"one in two segments", func(w *world) {
			w.open(true)
			w.feed(0, one[:50], 0)
			w.feed(0, join(one[50:], two),
				0)
		},
			[]string{"Send 1 not checked", "Send 2 right"}},
		{"one in three segments", func(w *world) {
			w.open(true)
			w.feed(0, one[:50], 0)
			w.feed(0, one[50:len(one)-2], 0)
			w.next[0] -= uint32(len(one) - 52)
			w.feed(0, one[50:len(one)-2], 0) // again
			w.feed(0, one[len(one)-2:], 0)
		}, []string{"Send 1 not checked", "rest of an FPDU", "rest of an FPDU", "rest of an FPDU right"}},
		{"wrong CRC in two segments", func(w *world) {
			w.open(true)
			w.feed(0, wrong[:30], 0)
			w.feed(0, join(wrong[30:], two), 0)
		}, []string{"Send 4 not checked", "rest of an FPDU wrong", "Send 2 right"}},
		{"headers in five segments", func(w *world) {
			w.open(true)
			for _, cut := range [][2]int{{0, 1}, {1, 2}, {2, 9}, {9, 19}} {
				w.feed(0, one[cut[0]:cut[1]], 0)
			}
			w.feed(0, join(one[19:], two), 0)
		}, []string{"rest of an FPDU", "rest of an FPDU", "rest of an FPDU", "rest of an FPDU", "Send 1 not checked",
			"Send 2 right"}},
		{"repeated segment", func(w *world) {
			w.open(true)
			w.feed(0, one,
				0)
			w.next[0] -= uint32(len(one))
			w.feed(0, one, 0)
		},
			[]string{"Send 1 right", "rest of an FPDU"}},
		{"missing segment", func(w *world) {
			w.open(true)
			w.feed(0, one, 0)
			w.next[0] += 1000
			w.feed(0, one[20:], 0)
			w.feed(0, join(two, three), 0)
		}, []string{"Send 1 right", "bytes of unknown FPDUs", "Send 2 right", "Send 3 right"}},
		{"wrong CRC", func(w *world) { w.open(true); w.feed(0, join(wrong, two), 0) }, []string{"Send 4 wrong",
			"Send 2 right"}},
		{"without CRC", func(w *world) { w.open(false); w.feed(0, send(1, 5, false), 0) }, []string{"Send 1 not used"}},
		{"missing segment without CRC", func(w *world) {
			w.open(false)
			w.next[0] += 1000
			w.feed(0, send(9, 5, false), 0)
		}, []string{"Send 9 not used"}},
		{"capture begins later", func(w *world) { w.feed(0, one[10:], 0); w.feed(0, two, 0); w.feed(1, three, 0) },
			[]string{"Send 2 right", "Send 3 right"}},
		{"captured short", func(w *world) { w.open(true); w.feed(0, one, 90); w.feed(0, two, 0) },
			[]string{"Send 1 not checked", "Send 2 right"}},
		{"several captured short", func(w *world) {
			w.open(true)
			w.feed(0, join(one, two, three), 120)
			w.feed(0,
				two, 10)
		},
			[]string{"Send 1 not checked", "Send 2 not checked"}},
		{"data behind the start frame", func(w *world) { w.feed(0, join(start(false, true, false), one), 0) },
			[]string{"MPA request", "Send 1 right"}},
		{"markers", func(w *world) {
			w.feed(0, start(false, true, false), 0)
			w.feed(1, start(true, true, true), 0)
			w.feed(0, one, 0)
			w.feed(1, two, 0)
		}, []string{"MPA request", "MPA reply", "FPDUs with markers", "Send 2 right"}},
		{"sequence numbers wrap", func(w *world) {
			w.next[0] = 0xffffffff - 50
			w.open(true)
			w.feed(0, one, 0)
			w.feed(0, two, 0)
		}, []string{"Send 1 right", "Send 2 right"}},
		{"other TCP", func(w *world) { w.feed(0, []byte("GET / HTTP/1.1\r\n\r\n, and more"), 0) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w world
			tt.do(&w)
			if fmt.Sprint(w.got) != fmt.Sprint(tt.want) {
				t.Errorf("%q, want %q", w.got, tt.want)
			}
		})
	}
}

func TestSegmentsOfOtherConnectionsAreNotIWARP(t *testing.T) {
	var w world
	if w.feed(0, []byte("hello"), 0) || w.feed(0, nil, 0) {
		t.Error("plain TCP is taken for iWARP")
	}
	w.open(true)
	if !w.feed(1, nil, 0) {
		t.Error("an ACK of an iWARP connection is not iWARP")
	}
	s := iwarp.Segment{Src: client, Dst: server, SYN: true}
	if w.t.Segment(&s, func(*iwarp.Message) {}) || w.feed(0, []byte("hello"), 0) {
		t.Error("a new connection with the same ports is iWARP before its start frame")
	}
}

func TestTheTrackerForgetsTheConnectionSilentForLongest(t *testing.T) {
	var tr iwarp.Tracker
	segment := func(port uint16, b []byte) bool {
		s := iwarp.Segment{Src: netip.AddrPortFrom(client.Addr(), port), Dst: server, Data: b, Len: len(b)}
		return tr.Segment(&s, func(*iwarp.Message) {})
	}
	for port := range uint16(iwarp.MaxConnections) {
		segment(port, start(false, true, false))
	}
	segment(0, nil) // 1 is now the one silent for longest
	segment(iwarp.MaxConnections, start(false, true, false))
	if !segment(0, nil) || segment(1, nil) || !segment(2, nil) || !segment(iwarp.MaxConnections, nil) {
		t.Error("the wrong connection was forgotten")
	}
}

func TestFollowingAConnectionAllocatesNothing(t *testing.T) {
	var w world
	w.open(true)
	b := join(send(1, 1000, true), send(2, 500, true))
	s := iwarp.Segment{Src: client, Dst: server, Seq: w.next[0], Data: b, Len: len(b)}
	show := func(*iwarp.Message) {}
	if n := testing.AllocsPerRun(100, func() { w.t.Segment(&s, show); s.Seq += uint32(len(b)) }); n > 0 {
		t.Errorf("%v allocations for a segment", n)
	}
}

// FuzzTracker checks that a Tracker accepts any segments, and that its messages fit the segments.
func FuzzTracker(f *testing.F) {
	one := send(1, 40, true)
	read := []byte{0, 46, 0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}
	f.Add(join(start(false, true, false), one), uint16(20), uint16(70), uint16(0))
	f.Add(join(one, one), uint16(64), uint16(30), uint16(3))
	f.Add(join(start(true, false, true), read, make([]byte, 40)), uint16(20), uint16(25), uint16(7))
	f.Fuzz(func(t *testing.T, b []byte, first, second, missing uint16) {
		var tr iwarp.Tracker
		seq := uint32(0)
		for i := 0; len(b) > 0; i++ {
			n := min(len(b), 1+int([]uint16{first, second}[i%2]))
			s := iwarp.Segment{Src: client, Dst: server, Seq: seq, Data: b[:n], Len: n + int(missing%8)}
			if i%3 == 2 {
				s.Src, s.Dst = server, client
			}
			shown := 0
			known := tr.Segment(&s, func(m *iwarp.Message) {
				shown++
				broken := m.Len < 14 || m.ULPDU.Payload < 0 || len(m.Fields()) == 0
				if m.String() == "" || m.Kind == iwarp.FPDU && broken {
					t.Fatalf("%+v", m)
				}
			})
			if known != (shown > 0) || shown > n {
				t.Fatalf("known %v, %d messages in %d bytes", known, shown, n)
			}
			seq += uint32(s.Len)
			if missing > 1000 {
				seq += uint32(missing)
			}
			b = b[n:]
		}
	})
}
