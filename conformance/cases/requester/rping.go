package requester

import (
	"bytes"
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// advertise tells rping that the tester's memory has n bytes, and returns the READ with which it
// fetches them.
func advertise(t *conformance.T, c *conformance.Conn, n uint32) *wire.Received {
	var b [16]byte
	binary.BigEndian.PutUint64(b[0:], c.Local.VA)
	binary.BigEndian.PutUint32(b[8:], c.Local.RKey)
	binary.BigEndian.PutUint32(b[12:], n)
	c.Send(c.Message(b[:]))
	c.PSN = c.PSN.Add(1)
	r := c.NextRequest(t.Timeout())
	if r == nil || r.Opcode != bth.RCReadRequest {
		t.Inconclusive("rping must read the memory that it was told of, and does not")
	}
	if r.RETH != (bth.RETH{VA: c.Local.VA, RKey: c.Local.RKey, DMALen: n}) {
		t.Inconclusive("rping reads with %+v, not the memory that it was told of", r.RETH)
	}
	return r
}

// text returns n-1 characters and a zero byte: rping writes back a string.
func text(n int) []byte {
	b := make([]byte, n)
	for i := range b[:n-1] {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

// writeBack lets rping write back what it has read, and compares it.
func writeBack(t *conformance.T, c *conformance.Conn, want []byte) {
	c.Memory = want
	writeBackAfter(t, c, c.ExpectNew(conformance.Op(bth.OpSend)), want)
}

// writeBackAfter is writeBack after the SEND r, with which rping says that it has read.
func writeBackAfter(t *conformance.T, c *conformance.Conn, r *wire.Received, want []byte) {
	c.Serve(r)
	var b [16]byte
	binary.BigEndian.PutUint64(b[0:], c.Local.VA)
	binary.BigEndian.PutUint32(b[8:], c.Local.RKey)
	binary.BigEndian.PutUint32(b[12:], uint32(len(want)))
	c.Send(c.Message(b[:]))
	c.PSN = c.PSN.Add(1)
	// A device may send a WRITE as several messages.
	var got []byte
	for next := c.Local.VA; len(got) < len(want); {
		r := c.ExpectNew(conformance.Op(bth.OpWrite))
		if !c.Serve(r) {
			continue
		}
		if r.Opcode.Info().Starts() && r.RETH.VA != next {
			t.Fail("a WRITE to 0x%x came, after %d bytes at 0x%x", r.RETH.VA, len(got), c.Local.VA)
		}
		got = append(got, r.Payload...)
		next += uint64(len(r.Payload))
		if r.Opcode.Info().Ends() && r.AckReq {
			break
		}
	}
	if !bytes.Equal(got, want) {
		t.Fail("the device has read other bytes than those sent: %d bytes %.40q, not %d bytes %.40q", len(got), got,
			len(want), want)
	}
}
