package cases

import (
	"bytes"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// ud are the rules of Unreliable Datagrams (IBA 9.8.3).
var ud = []conformance.Case{
	{
		ID: "ud/1", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule: "The data of a datagram begins at byte 40 of the receive.",
		// The program receives into its buffer and sends from byte 40 of the same buffer.
		Source: "IBA A17.4.5.2, 11.4.1.2",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			for _, n := range []int{1, 40, 41, 1000, 1024} {
				e.answer("a datagram", fill(byte(n), n), e.send(fill(byte(n), n))...)
			}
		},
	},
	{
		ID: "ud/2", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A datagram with a wrong Q_Key is dropped silently.",
		Source: "IBA 9.6.1.3.3 (C9-59); Linux rxe_recv.c, check_keys",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			for _, key := range []uint32{0, e.Target.QKey + 1, ^e.Target.QKey, 0x80010000} {
				p := e.send(fill(2, 64))
				p[0].DETH.QKey = key
				e.put(p...)
			}
			e.NoMessage("a datagram with a wrong Q_Key")
			e.alive("datagrams with a wrong Q_Key")
		},
	},
	{
		ID: "ud/3", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A datagram with immediate data is received.",
		Source: "IBA table 38",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			p := e.send(fill(3, 64))
			p[0].Opcode, p[0].Imm = bth.UDSendOnlyImm, 0x01020304
			e.answer("a datagram with immediate data", fill(3, 64), p...)
		},
	},
	{
		ID: "ud/4", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A datagram is received whatever its PSN is, and not acknowledged, even if AckReq is set.",
		Source: "IBA 9.8.3; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			for _, psn := range []bth.PSN{0, 0xffffff, 0x800000, e.PSN} {
				p := e.send(fill(4, 64))
				p[0].PSN, p[0].AckReq = psn, true
				e.answer("a datagram with any PSN", fill(4, 64), p...)
			}
			e.NoMessage("AckReq")
		},
	},
	{
		ID: "ud/5", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A request of another service is dropped silently.",
		Source: "IBA 9.6.1.2, C9-165; Linux rxe_recv.c, check_type_state",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			for _, op := range []bth.Opcode{bth.RCSendOnly, bth.RCWriteOnly, bth.RCReadRequest, bth.UCSendOnly,
				bth.UCWriteOnly, 0x60, 0x63, 0x66} {
				p := e.send(fill(5, 64))
				p[0].Opcode = op
				e.put(p...)
			}
			e.NoMessage("an opcode that UD does not have")
			e.alive("opcodes that UD does not have")
		},
	},
	{
		ID: "ud/6", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A datagram with an invalid header is dropped silently: version, P_Key or ICRC.",
		Source: "IBA 9.6.1; Linux rxe_recv.c, hdr_check, check_keys",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			p, q, r := e.send(fill(6, 64))[0], e.send(fill(6, 64))[0], e.send(fill(6, 64))[0]
			p.Version = 1
			q.PKey = 0x1234
			r.Damage = func(b []byte) []byte { b[len(b)-8] ^= 1; return b }
			e.dropped("a datagram with an invalid header", p, q, r)
		},
	},
	{
		ID: "ud/7", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A datagram longer than the receive is not delivered and not answered.",
		Source: "IBA 9.9.3; Linux rxe_resp.c, RESPST_ERR_LENGTH",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			e.droppedOrDead("a datagram longer than the receive", e.send(fill(7, e.Target.ReceiveLen+4))...)
		},
	},
	{
		ID: "ud/8", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A datagram that is cut inside the DETH is dropped silently.",
		Source: "IBA 9.6.1, C9-165",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			for _, n := range []int{12, 16, 19} {
				p := e.send(nil)
				p[0].Edit = func(b []byte) []byte { return b[:n] }
				e.put(p...)
			}
			e.NoMessage("a datagram that is cut inside the DETH")
			e.alive("a datagram that is cut inside the DETH")
		},
	},
	{
		ID: "ud/9", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A datagram of the device names its queue pair in the DETH, the Q_Key of the receiver, and is a SEND ONLY.",
		Source: "IBA 9.2.5 (DETH), 9.8.3",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			m := e.answer("a datagram", fill(9, 64), e.send(fill(9, 64))...)
			p := m.Packets[0]
			switch {
			case p.Opcode != bth.UDSendOnly:
				t.Fail("the datagram is %s", conformance.Describe(p))
			case p.DETH.SrcQP != e.Target.QPN:
				t.Fail("the source queue pair is %d, the program has %d", p.DETH.SrcQP, e.Target.QPN)
			case p.DETH.QKey != e.Target.QKey:
				t.Fail("the Q_Key is %#x, the program sends with %#x", p.DETH.QKey, e.Target.QKey)
			case p.AckReq:
				t.Observe("AckReq is set in a datagram, which has no meaning there")
			}
		},
	},
	{
		ID: "ud/10", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "Queue pair 1 takes only datagrams with Q_Key 0x80010000, and no invalid one disturbs the device.",
		Source: "IBA 10.2.5, 3.9.4; Linux rxe_recv.c, check_keys",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			for _, key := range []uint32{e.Target.QKey, 0x80010000, 0x80000000} {
				p := e.send(fill(10, 256)) // no MAD
				p[0].DestQP, p[0].DETH.QKey = bth.GSI, key
				e.put(p...)
			}
			e.NoMessage("a datagram to queue pair 1 that is no MAD")
			e.alive("datagrams to queue pair 1 that are no MADs")
		},
	},
	{
		ID: "ud/11", Level: conformance.Observed, Program: conformance.UDPingpong,
		Rule:   "A datagram with source queue pair 0, 1 or 0xffffff in the DETH.",
		Source: "IBA 9.2.5 (DETH)",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			for _, qpn := range []bth.QPN{0, 1, 0xffffff} {
				p := e.send(fill(11, 64))
				p[0].DETH.SrcQP = qpn
				e.put(p...)
				if e.NextMessage(t.Timeout()) != nil {
					t.Observe("source queue pair %#x is received", qpn)
				} else {
					t.Observe("source queue pair %#x is dropped", qpn)
				}
			}
			e.alive("datagrams with unusual source queue pairs")
		},
	},
	{
		ID: "ud/12", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "A datagram is received from any source address.",
		Source: "IBA 9.8.3, A17.4.4.2; Linux rxe_recv.c, check_addr",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			other, err := wire.OtherAddr(t.Link(), e.Target.Addr)
			if err != nil {
				t.NotRun("%v", err)
			}
			p := e.send(fill(12, 64))
			p[0].Src = other
			e.answer("a datagram of a second address", fill(12, 64), p...)
		},
	},
	{
		ID: "ud/13", Level: conformance.Shall, Program: conformance.UDPingpong,
		Rule:   "An empty datagram is received.",
		Source: "IBA 9.8.3",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			before := e.answer("a datagram", fill(13, 64), e.send(fill(13, 64))...)
			after := e.answer("an empty datagram", nil, e.send(nil)...)
			if !bytes.Equal(before.Data, after.Data) {
				t.Fail("an empty datagram changed the data of the receive")
			}
		},
	},
	{
		ID: "ud/14", Level: conformance.Observed, Program: conformance.UDPingpong,
		Rule:   "A datagram to queue pair 0xffffff, that of multicast, at a unicast address.",
		Source: "IBA 10.5.2.1; Linux rxe_recv.c, hdr_check",
		Run: func(t *conformance.T) {
			e := dialUD(t)
			p := e.send(fill(14, 64))
			p[0].DestQP = 0xffffff
			e.put(p...)
			if e.NextMessage(t.Timeout()) != nil {
				t.Observe("a queue pair receives it")
			} else {
				t.Observe("it is dropped")
			}
			e.alive("a datagram to queue pair 0xffffff")
		},
	},
}
