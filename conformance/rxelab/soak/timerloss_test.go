package soak

import (
	"encoding/binary"
	"testing"
	"time"
)

func TestConnectionsThatRxeLeavesWithoutATimer(t *testing.T) {
	const ack, read = 0x11, 0x0c
	for name, c := range map[string]struct {
		sent []sent // an ACK to rxe, all others to queue pair 0x11
		want bool
	}{
		"acknowledged, not repeated": {[]sent{{5, sendFirst}, {6, sendLast}, {6, ack}}, false},
		"acknowledged while it is repeated": {[]sent{{5, sendFirst}, {6, sendLast}, {5, sendFirst}, {6, ack},
			{6, sendLast}, {6, ack}}, true},
		"a part acknowledged while it is repeated": {[]sent{{5, sendFirst}, {6, sendLast}, {5, sendFirst}, {5, ack},
			{6, sendLast}}, false},
		"acknowledged after it was repeated": {[]sent{{5, sendFirst}, {6, sendLast}, {5, sendFirst},
			{6, sendLast}, {6, ack}}, false},
		"the next message follows": {[]sent{{5, sendFirst}, {6, sendLast}, {5, sendFirst}, {6, ack},
			{6, sendLast}, {7, 4}}, false},
		"refused while it is repeated": {[]sent{{5, sendFirst}, {6, sendLast}, {5, sendFirst},
			{6 | 0x60<<24, ack}, {6, sendLast}}, false},
		"over the end of the numbers": {[]sent{{0xffffff, writeFirst}, {0, writeLast},
			{0xffffff, writeFirst}, {0, ack}, {0, writeLast}}, true},
		"a response while a READ is asked for again": {[]sent{{5, read}, {5, 0x10}, {5, read}}, false},
	} {
		var f timerLoss
		for i, p := range c.sent {
			b := append(sent{p.psn & mask24, p.opcode}.bth(), byte(p.psn>>24), 0, 0, 0)
			f.request(time.Unix(100, int64(i)), b)
			f.response(b)
		}
		if got := f.any(time.Unix(100, 0)); got != c.want {
			t.Errorf("%s: without a timer %v, want %v", name, got, c.want)
		}
		if f.any(time.Unix(100, 1)) {
			t.Errorf("%s: one that began later", name)
		}
	}
}

func TestOldStreamsAreForgotten(t *testing.T) {
	var f timerLoss
	for q := range uint32(10 * maxStreams) {
		b := sent{5, sendFirst}.bth()
		binary.BigEndian.PutUint32(b[4:], q)
		f.request(time.Unix(0, 0), b)
	}
	if len(f.streams) > maxStreams {
		t.Errorf("%d streams are remembered, want at most %d", len(f.streams), maxStreams)
	}
}
