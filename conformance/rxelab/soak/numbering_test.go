package soak

import (
	"encoding/binary"
	"testing"
	"time"
)

// sent is a packet to queue pair 0x11.
type sent struct {
	psn    uint32
	opcode uint8
}

func (p sent) bth() []byte {
	b := make([]byte, bthLen)
	binary.BigEndian.PutUint32(b[4:], 0x11)
	binary.BigEndian.PutUint32(b[8:], p.psn)
	b[0] = p.opcode
	return b
}

func TestNumberingOfRequests(t *testing.T) {
	const only, read, readResponse, ack = 0x04, 0x0c, 0x0f, 0x11
	for name, c := range map[string]struct {
		sent []sent
		want bool
	}{
		"a message, twice": {[]sent{{5, 0}, {6, 1}, {7, 2}, {5, 0}, {6, 1}, {7, 2},
			{8, only}}, false},
		"over the end of the numbers": {[]sent{{0xffffff, writeFirst}, {0, writeLast},
			{1, only}}, false},
		"a READ over many numbers and the rest of it again": {[]sent{{5, read}, {9, only}, {7, read}}, false},
		"answers have the numbers of requests": {[]sent{{5, sendFirst}, {5, readResponse}, {5, ack},
			{6, sendLast}}, false},
		"a FIRST that is LAST":                    {[]sent{{5, sendFirst}, {5, sendLast}}, true},
		"a FIRST after a FIRST":                   {[]sent{{5, writeFirst}, {6, writeFirst}}, true},
		"a LAST after an ONLY":                    {[]sent{{5, only}, {6, sendLast}}, true},
		"an ONLY before a LAST that came earlier": {[]sent{{6, sendLast}, {5, only}}, true},
		"another message in between is not looked for": {[]sent{{5, sendFirst}, {5 + 1024, only},
			{6, sendLast}}, false},
	} {
		var n numbering
		for _, p := range c.sent {
			n.see(time.Unix(100, 0), p.bth())
		}
		if got := n.broken(time.Unix(100, 0), nil); got != c.want {
			t.Errorf("%s: wrong %v, want %v", name, got, c.want)
		}
		if n.broken(time.Unix(101, 0), nil) || n.broken(time.Unix(100, 0), []uint32{0x12}) {
			t.Errorf("%s: wrong for another time or another queue pair", name)
		}
		if got := n.broken(time.Unix(100, 0), []uint32{0x12, 0x11}); got != c.want {
			t.Errorf("%s: wrong for this queue pair %v, want %v", name, got, c.want)
		}
	}
}

func TestNumberingForgetsOldQueuePairs(t *testing.T) {
	var n numbering
	for q := range uint32(10 * maxStreams) {
		b := sent{5, sendFirst}.bth()
		binary.BigEndian.PutUint32(b[4:], q)
		n.see(time.Unix(0, 0), b)
	}
	if len(n.streams) > maxStreams {
		t.Errorf("%d queue pairs are remembered, want at most %d", len(n.streams), maxStreams)
	}
}
