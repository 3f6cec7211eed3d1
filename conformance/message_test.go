package conformance

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// testConn returns a connection with path MTU 256 and next PSN 0xffffff.
func testConn() *Conn {
	t := &T{ctx: context.Background(), run: &Runner{Timeout: 20 * time.Millisecond}, c: &Case{}, log: &packetLog{}}
	c := newConn(t, WriteServer, Local{PSN: bth.MaxPSN})
	c.Target = Target{MTU: 256, VA: 0x1000, RKey: 7}
	return c
}

// outline describes packets: opcode, PSN, length, and "!" for AckReq.
func outline(all []*wire.Packet) string {
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintf(&b, "%v %d %d", p.Opcode, p.PSN, len(p.Payload))
		if p.AckReq {
			b.WriteString("!")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestPartsOfAMessage(t *testing.T) {
	for _, x := range []struct {
		n    int
		want string
	}{
		{0, "RC_RDMA_WRITE_ONLY 16777215 0!\n"},
		{256, "RC_RDMA_WRITE_ONLY 16777215 256!\n"},
		{257, "RC_RDMA_WRITE_FIRST 16777215 256\nRC_RDMA_WRITE_LAST 0 1!\n"},
		{768, "RC_RDMA_WRITE_FIRST 16777215 256\nRC_RDMA_WRITE_MIDDLE 0 256\nRC_RDMA_WRITE_LAST 1 256!\n"},
	} {
		data := bytes.Repeat([]byte{1, 2, 3}, 256)[:x.n]
		c := testConn()
		all := c.WriteParts(8, data)
		if got := outline(all); got != x.want {
			t.Errorf("WRITE of %d bytes:\n%s", x.n, got)
		}
		if h := all[0].RETH; h != (bth.RETH{VA: 0x1008, RKey: 7, DMALen: uint32(x.n)}) {
			t.Errorf("WRITE of %d bytes: RETH %+v", x.n, h)
		}
		var sum []byte
		for _, p := range c.MessageParts(data) {
			sum = append(sum, p.Payload...)
		}
		if !bytes.Equal(sum, data) {
			t.Errorf("SEND of %d bytes has other data", x.n)
		}
	}
}

func TestInOrderCountsThePSNsOfReads(t *testing.T) {
	c := testConn()
	got := outline(c.InOrder(c.Read(0, 0), c.Read(0, 513), c.Read(0, 256), c.Write(0, nil)))
	want := "RC_RDMA_READ_REQUEST 16777215 0\nRC_RDMA_READ_REQUEST 0 0\nRC_RDMA_READ_REQUEST 3 0\nRC_RDMA_WRITE_ONLY 4 0!\n"
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// response returns a received packet.
func response(op bth.Opcode, psn bth.PSN, n int, s bth.Syndrome, msn uint32) *wire.Received {
	return &wire.Received{Packet: bth.Packet{Opcode: op, PSN: psn, Payload: make([]byte, n),
		AETH: bth.AETH{Syndrome: s, MSN: msn}}}
}

// failure returns the text with which f ends the case, or "".
func failure(f func()) (text string) {
	defer func() {
		if e := recover(); e != nil {
			text = e.(ended).detail
		}
	}()
	f()
	return ""
}

func TestDataOfAReadResponse(t *testing.T) {
	const ack = bth.AckUnlimited
	first := response(bth.RCReadResponseFirst, 10, 256, ack, 5)
	middle := response(bth.RCReadResponseMiddle, 11, 256, 0, 0)
	last := response(bth.RCReadResponseLast, 12, 8, ack, 5)
	for _, x := range []struct {
		name string
		n    int
		in   []*wire.Received
		want string // part of the failure; "": none
	}{
		{"complete", 520, []*wire.Received{first, middle, last}, ""},
		{"old ACK before it", 520, []*wire.Received{response(bth.RCAck, 9, 0, ack, 4), first, middle, last}, ""},
		{"empty", 0, []*wire.Received{response(bth.RCReadResponseOnly, 10, 0, ack, 5)}, ""},
		{"middle missing", 520, []*wire.Received{first, last}, "RC_RDMA_READ_RESPONSE_MIDDLE with PSN 11 was expected"},
		{"end missing", 520, []*wire.Received{first, middle}, "nothing came"},
		{"wrong order", 520, []*wire.Received{middle, first, last}, "but came RC_RDMA_READ_RESPONSE_MIDDLE"},
		{"short", 520, []*wire.Received{first, middle, response(bth.RCReadResponseLast, 12, 4, ack, 5)},
			"4 bytes instead of 8"},
		{"other MSN", 520, []*wire.Received{first, middle, response(bth.RCReadResponseLast, 12, 8, ack, 6)},
			"from 5 to 6"},
		{"NAK as syndrome", 0, []*wire.Received{response(bth.RCReadResponseOnly, 10, 0, 0x61, 5)},
			"NAK invalid request"},
		{"ACK of it", 520, []*wire.Received{response(bth.RCAck, 10, 0, ack, 5)}, "but came RC_ACKNOWLEDGE"},
	} {
		c := testConn()
		for _, r := range x.in {
			c.deliver(r)
		}
		got := failure(func() {
			if b, msn := c.Data(10, x.n); len(b) != x.n || msn != 5 {
				t.Errorf("%s: %d bytes, MSN %d", x.name, len(b), msn)
			}
		})
		if x.want == "" && got != "" || !strings.Contains(got, x.want) {
			t.Errorf("%s: %q", x.name, got)
		}
	}
}

func TestAckedSkipsOlderACKsOnly(t *testing.T) {
	for _, x := range []struct {
		name string
		in   []*wire.Received
		ok   bool
	}{
		{"this one", []*wire.Received{response(bth.RCAck, 10, 0, 0x1f, 1)}, true},
		{"later", []*wire.Received{response(bth.RCAck, 12, 0, 0x1f, 1)}, true},
		{"older first", []*wire.Received{response(bth.RCAck, 8, 0, 0x1f, 1), response(bth.RCAck, 10, 0, 0x05, 1)},
			true},
		{"older only", []*wire.Received{response(bth.RCAck, 9, 0, 0x1f, 1)}, false},
		{"older NAK", []*wire.Received{response(bth.RCAck, 9, 0, 0x60, 1), response(bth.RCAck, 10, 0, 0x1f, 1)},
			false},
		{"NAK", []*wire.Received{response(bth.RCAck, 10, 0, 0x60, 1)}, false},
	} {
		c := testConn()
		for _, r := range x.in {
			c.deliver(r)
		}
		if got := failure(func() { c.Acked(10) }); (got == "") != x.ok {
			t.Errorf("%s: %q", x.name, got)
		}
	}
}

func TestMatchesNameAllAnswers(t *testing.T) {
	m := Either(AckOf(3), NakOf(3, bth.NakRemoteAccess))
	if m.What != "an ACK of PSN 3 or NAK remote access error of PSN 3" {
		t.Error(m.What)
	}
	if !m.Is(response(bth.RCAck, 3, 0, 0x62, 0)) || m.Is(response(bth.RCAck, 3, 0, 0x61, 0)) {
		t.Error("Either matches what none of its conditions matches")
	}
}
