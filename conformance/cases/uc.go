package cases

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
)

// uc are the rules of a responder over Unreliable Connection (IBA 9.8), with SEND. Nothing answers
// a request: the answers are messages of the program.
var uc = []conformance.Case{
	{
		ID: "uc/1", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND ONLY is received, and not acknowledged, even if AckReq is set.",
		Source: "IBA 9.8, 9.8.2; Linux rxe_resp.c, acknowledge",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			p := e.send(fill(2, 100))
			p[0].AckReq = true
			e.answer("a SEND ONLY", fill(2, 100), p...)
			e.NoMessage("AckReq")
		},
	},
	{
		ID: "uc/2", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND of several packets is put together.",
		Source: "IBA 9.8.2",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			for _, n := range []int{1024, 1025, 3001, 4096} {
				e.answer("a SEND", fill(byte(n), n), e.send(fill(byte(n), n))...)
			}
		},
	},
	{
		ID: "uc/3", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND that lost a packet in the middle is dropped silently, and the next message is received.",
		Source: "IBA C9-166, 9.8.2.2.1; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			p := e.send(fill(3, 4096))
			e.dropped("a SEND without its second packet", p[0], p[2], p[3])
			p = e.send(fill(4, 4096))
			e.dropped("a SEND without its third packet", p[0], p[1], p[3])
		},
	},
	{
		ID: "uc/4", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND that lost its first packet is dropped silently.",
		Source: "IBA C9-166, C9-167; Linux rxe_resp.c, check_op_seq",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			e.dropped("a SEND without its first packet", e.send(fill(5, 3000))[1:]...)
		},
	},
	{
		ID: "uc/5", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "After a SEND that lost its last packet, the next message is received in its place.",
		Source: "IBA C9-166, 9.8.2.2.1",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			p := e.send(fill(6, 3000))
			e.put(p[:2]...)
			e.answer("a SEND after a SEND without its last packet", fill(7, 2000), e.send(fill(7, 2000))...)
		},
	},
	{
		ID: "uc/6", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A message is received if whole messages before it were lost.",
		Source: "IBA 9.8.2.2.1; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			for _, gap := range []uint32{1, 1000, 1 << 22} {
				e.PSN = e.PSN.Add(gap)
				e.answer("a SEND after a gap", fill(8, 2000), e.send(fill(8, 2000))...)
			}
		},
	},
	{
		ID: "uc/7", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A LAST or MIDDLE packet without a FIRST one is dropped silently.",
		Source: "IBA C9-167; Linux rxe_resp.c, check_op_seq",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			e.dropped("a SEND LAST without FIRST", e.next(e.part(bth.UCSendLast, fill(9, 8)))...)
			e.dropped("a SEND MIDDLE without FIRST", e.next(e.part(bth.UCSendMiddle, fill(9, 1024)))...)
			e.dropped("SEND MIDDLE and LAST without FIRST", e.next(e.part(bth.UCSendMiddle, fill(9, 1024)),
				e.part(bth.UCSendLast, fill(9, 8)))...)
		},
	},
	{
		ID: "uc/8", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A message that begins inside another one ends that one, and is received.",
		Source: "IBA o9-116, C9-167; Linux rxe_resp.c, check_op_seq",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			e.put(e.next(e.part(bth.UCSendFirst, fill(10, 1024)))...)
			e.put(e.send(fill(11, 64))...)
			if m := e.NextMessage(t.Timeout()); m == nil {
				e.alive("a SEND ONLY inside another SEND")
				t.Unclear("the SEND ONLY inside another SEND is dropped too, as by Linux rxe; others receive it")
			}
			e.alive("a SEND ONLY inside another SEND")
		},
	},
	{
		ID: "uc/9", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND that goes on as a WRITE is dropped silently.",
		Source: "IBA C9-167; Linux rxe_resp.c, check_op_seq",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			e.dropped("SEND FIRST and WRITE LAST", e.next(e.part(bth.UCSendFirst, fill(12, 1024)),
				e.part(bth.UCWriteLast, fill(12, 8)))...)
		},
	},
	{
		ID: "uc/10", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND whose FIRST or MIDDLE packet has not the length of the path MTU is dropped silently.",
		Source: "IBA 9.8.2.1, C9-165; Linux rxe_resp.c, check_length",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			e.dropped("a SEND FIRST of 1020 bytes", e.next(e.part(bth.UCSendFirst, fill(13, 1020)),
				e.part(bth.UCSendLast, fill(13, 8)))...)
			e.dropped("a SEND MIDDLE of 1020 bytes", e.next(e.part(bth.UCSendFirst, fill(13, 1024)),
				e.part(bth.UCSendMiddle, fill(13, 1020)), e.part(bth.UCSendLast, fill(13, 8)))...)
		},
	},
	{
		ID: "uc/11", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND with a packet longer than the path MTU is dropped silently.",
		Source: "IBA 9.8.2.1, C9-165; Linux rxe_resp.c, check_length",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			e.dropped("a SEND ONLY of 1028 bytes", e.next(e.part(bth.UCSendOnly, fill(14, 1028)))...)
			e.dropped("a SEND LAST of 1028 bytes", e.next(e.part(bth.UCSendFirst, fill(14, 1024)),
				e.part(bth.UCSendLast, fill(14, 1028)))...)
		},
	},
	{
		ID: "uc/12", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND longer than the receive is not delivered and not answered.",
		Source: "IBA 9.9.3; Linux rxe_resp.c, RESPST_ERR_LENGTH",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			e.droppedOrDead("a SEND longer than the receive", e.send(fill(15, e.Target.ReceiveLen+8))...)
		},
	},
	{
		ID: "uc/13", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A SEND with immediate data is received.",
		Source: "IBA 9.2.1, table 38",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			e.answer("a SEND ONLY with immediate data", fill(16, 64),
				e.next(e.part(bth.UCSendOnlyImm, fill(16, 64)))...)
			p := e.send(fill(17, 1500))
			p[1].Opcode, p[1].Imm = bth.UCSendLastImm, 0x01020304
			e.answer("a SEND LAST with immediate data", fill(17, 1500), p...)
		},
	},
	{
		ID: "uc/14", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A request of another service is dropped silently.",
		Source: "IBA C9-165; Linux rxe_recv.c, check_type_state",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			for _, op := range []bth.Opcode{bth.RCSendOnly, bth.UDSendOnly, bth.RCAck, 0x2c, 0x3f} {
				p := e.part(op, fill(18, 64))
				p.DETH = bth.DETH{QKey: 0x11111111, SrcQP: e.Local.QPN}
				e.put(p)
			}
			e.NoMessage("an opcode that UC does not have")
			e.alive("opcodes that UC does not have")
		},
	},
	{
		ID: "uc/15", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "A packet with an invalid header is dropped silently: version, P_Key or ICRC.",
		Source: "IBA C9-165, 9.6.1; Linux rxe_recv.c, hdr_check, check_keys",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			p := e.part(bth.UCSendOnly, fill(19, 64))
			p.Version = 1
			q := e.part(bth.UCSendOnly, fill(19, 64))
			q.PKey = 0x1234
			r := e.part(bth.UCSendOnly, fill(19, 64))
			r.Damage = func(b []byte) []byte { b[len(b)-8] ^= 1; return b }
			e.dropped("a packet with an invalid header", p, q, r)
		},
	},
	{
		ID: "uc/16", Level: conformance.Observed, Program: conformance.UCPingpong,
		Rule:   "A repeated SEND over UC: a responder cannot know that it is a duplicate.",
		Source: "IBA 9.8.2.2.1; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			e := dialUC(t)
			p := e.send(fill(20, 64))
			e.answer("a SEND", fill(20, 64), p...)
			e.put(p...)
			if m := e.NextMessage(t.Timeout()); m != nil {
				t.Observe("a repeated SEND is received again")
			} else {
				t.Observe("a repeated SEND is dropped")
			}
			e.alive("a repeated SEND")
		},
	},
	{
		ID: "uc/17", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "The PSN of a message goes from 2^24-1 to 0.",
		Source: "IBA 9.7.2, 9.8.2.2.1",
		Run: func(t *conformance.T) {
			e := dialUC(t, conformance.StartPSN(0xfffffd))
			for i := range byte(4) {
				e.answer("a SEND beyond the last PSN", fill(21+i, 3000), e.send(fill(21+i, 3000))...)
			}
		},
	},
	{
		ID: "uc/18", Level: conformance.Shall, Program: conformance.UCPingpong,
		Rule:   "The device sends FIRST and MIDDLE packets of the path MTU, and PSNs without gaps.",
		Source: "IBA 9.8.1, 9.8.2.1",
		Run:    ucRequester,
	},
}

// ucRequester judges messages that the device sends.
func ucRequester(t *conformance.T) {
	e := dialUC(t)
	next := e.Target.PSN
	for i := range byte(4) {
		m := e.answer("a SEND", fill(i, 32), e.send(fill(i, 32))...)
		if i > 0 && m.Packets[0].PSN != next {
			t.Fail("a message begins with PSN %d, the one before ended with %d", m.Packets[0].PSN, next.Add(0xffffff))
		}
		for k, p := range m.Packets {
			want := bth.UCSendMiddle
			last := k == len(m.Packets)-1
			switch {
			case k == 0 && last:
				want = bth.UCSendOnly
			case k == 0:
				want = bth.UCSendFirst
			case last:
				want = bth.UCSendLast
			}
			if p.Opcode != want || p.PSN != m.Packets[0].PSN.Add(uint32(k)) {
				t.Fail("packet %d of a message is %s", k, conformance.Describe(p))
			}
			if !last && len(p.Payload) != e.MTU() {
				t.Fail("packet %d has %d bytes, the path MTU is %d", k, len(p.Payload), e.MTU())
			}
			if p.AckReq {
				t.Observe("AckReq is set in a packet over UC, which has no meaning there")
			}
			next = p.PSN.Add(1)
		}
	}
}
