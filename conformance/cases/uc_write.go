package cases

import (
	"fmt"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// ucWriter writes to UCWriteLatServer. The program sends message 1 unasked, and message n+1 when
// the last byte of its region is n.
type ucWriter struct {
	*conformance.Conn
	t *conformance.T
	n byte // of the last message of the program
}

// firstMessageTime is the maximum time until the program, which has just started, sends its first
// message.
const firstMessageTime = 5 * time.Second

func dialUCWriter(t *conformance.T, setup ...conformance.Setup) *ucWriter {
	w := &ucWriter{Conn: t.Connect(append(setup, conformance.Memory(4096))...), t: t, n: 1}
	if m := w.NextMessage(firstMessageTime); m == nil {
		t.Inconclusive("before the test: the program sends no first message")
	}
	if why := w.exchange(w.last(8)...); why != "" {
		t.Inconclusive("before the test: %s", why)
	}
	return w
}

// last returns a WRITE over UC of the last n bytes of the region, in packets of the path MTU, with
// the PSNs that are next. The last byte makes the program answer.
func (w *ucWriter) last(n int) []*wire.Packet {
	data := make([]byte, n)
	data[n-1] = w.n
	mtu := w.MTU()
	var all []*wire.Packet
	for at := 0; at < n; at += mtu {
		first, last := at == 0, at+mtu >= n
		op := bth.UCWriteMiddle
		switch {
		case first && last:
			op = bth.UCWriteOnly
		case first:
			op = bth.UCWriteFirst
		case last:
			op = bth.UCWriteLast
		}
		p := w.Packet(op, w.PSN)
		p.RETH = bth.RETH{VA: w.Target.VA + w.Target.Length - uint64(n), RKey: w.Target.RKey, DMALen: uint32(n)}
		p.Payload = data[at:min(at+mtu, n)]
		w.PSN = w.PSN.Add(1)
		all = append(all, p)
	}
	return all
}

// exchange sends a correct WRITE and returns why there is no answer, "" if there is one.
func (w *ucWriter) exchange(all ...*wire.Packet) string {
	for _, p := range all {
		w.Send(p)
	}
	m := w.NextMessage(w.t.Timeout())
	switch {
	case m == nil:
		return "a correct WRITE was not executed: the program did not answer"
	case len(m.Data) == 0 || m.Data[len(m.Data)-1] != w.n+1:
		return fmt.Sprintf("the answer ends with %x, not with %#02x", m.Data[max(0, len(m.Data)-4):], w.n+1)
	}
	w.n++
	return ""
}

// executed sends the packets of a WRITE, which the device must execute.
func (w *ucWriter) taken(what string, all ...*wire.Packet) {
	if why := w.exchange(all...); why != "" {
		w.t.Fail("%s: %s", what, why)
	}
}

// dropped sends packets, which the device must not execute, and checks that it executes a correct
// WRITE afterwards.
func (w *ucWriter) dropped(what string, all ...*wire.Packet) {
	for _, p := range all {
		w.Send(p)
	}
	w.NoMessage(what)
	w.taken("after "+what, w.last(8)...)
}

// refused is dropped where the error of the responder may also stop the queue pair.
func (w *ucWriter) refused(what string, all ...*wire.Packet) {
	for _, p := range all {
		w.Send(p)
	}
	w.NoMessage(what)
	if why := w.exchange(w.last(8)...); why != "" {
		w.t.Unclear("%s stops the queue pair (%s); other devices drop the message and go on", what, why)
	}
}

// ucWrite are the rules of a responder over Unreliable Connection (IBA 9.8), with WRITE.
var ucWrite = []conformance.Case{
	{
		ID: "uc/19", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "A WRITE is executed and not acknowledged, even if AckReq is set.",
		Source: "IBA 9.8, 9.8.2; Linux rxe_resp.c, acknowledge",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			p := w.last(8)
			p[0].AckReq = true
			w.taken("a WRITE ONLY", p...)
			w.NoMessage("AckReq")
			w.taken("a WRITE of four packets", w.last(4096)...)
			w.taken("a WRITE of 1025 bytes", w.last(1025)...)
		},
	},
	{
		ID: "uc/20", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "A WRITE that lost a packet is not completed, and the next one is executed.",
		Source: "IBA C9-166, 9.8.2.2.1; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			p := w.last(4096)
			w.dropped("a WRITE without its second packet", p[0], p[2], p[3])
			p = w.last(4096)
			w.dropped("a WRITE without its third packet", p[0], p[1], p[3])
			w.dropped("a WRITE without its first packet", w.last(3000)[1:]...)
		},
	},
	{
		ID: "uc/21", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "After a WRITE that lost its last packet, the next WRITE is executed.",
		Source: "IBA C9-166, 9.8.2.2.1",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			for _, p := range w.last(4096)[:3] {
				w.Send(p)
			}
			w.taken("a WRITE after one without its last packet", w.last(2000)...)
		},
	},
	{
		ID: "uc/22", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "WRITE FIRST that goes on as SEND LAST, and SEND FIRST that goes on as WRITE LAST, are dropped silently.",
		Source: "IBA C9-167; Linux rxe_resp.c, check_op_seq",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			p := w.last(1500)
			p[1].Opcode = bth.UCSendLast
			w.dropped("WRITE FIRST and SEND LAST", p...)
			p = w.last(1500)
			p[0].Opcode = bth.UCSendFirst
			w.dropped("SEND FIRST and WRITE LAST", p...)
		},
	},
	{
		ID: "uc/23", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "A WRITE with a wrong R_Key is not executed and not answered.",
		Source: "IBA 9.8.2, 9.9.3; Linux rxe_resp.c, RESPST_ERR_RKEY_VIOLATION",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			p := w.last(8)
			p[0].RETH.RKey ^= 0xff00
			w.refused("a WRITE with a wrong R_Key", p...)
		},
	},
	{
		ID: "uc/24", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "A WRITE beyond the region is not executed and not answered.",
		Source: "IBA 9.8.2, 9.9.3; Linux rxe_resp.c, check_rkey",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			p := w.last(16)
			// The region of perftest is larger than the part that the program announces.
			p[0].RETH.VA = ^uint64(0) - 7 // va + length wraps
			w.refused("a WRITE whose end is beyond the last address", p...)
			p = w.last(16)
			p[0].RETH.VA -= 1 << 40
			w.refused("a WRITE before the region", p...)
		},
	},
	{
		ID: "uc/25", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "A WRITE with more data than its DMA length says is dropped silently.",
		Source: "IBA 9.8.2.1, C9-165; Linux rxe_resp.c, check_rkey",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			p := w.last(8)
			p[0].RETH.DMALen = 4
			w.dropped("a WRITE ONLY of 8 bytes with DMA length 4", p...)
			p = w.last(1500)
			p[0].RETH.DMALen = 1400
			w.dropped("a WRITE of 1500 bytes with DMA length 1400", p...)
		},
	},
	{
		ID: "uc/26", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "A WRITE with a packet of another length than the path MTU permits is dropped silently.",
		Source: "IBA 9.8.2.1, C9-165; Linux rxe_resp.c, check_length, check_rkey",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			p := w.last(2000)
			p[0].Payload = p[0].Payload[:1020]
			w.dropped("a WRITE FIRST of 1020 bytes", p...)
			p = w.last(1024)
			p[0].Payload = append(make([]byte, 4), p[0].Payload...)
			p[0].RETH.VA, p[0].RETH.DMALen = p[0].RETH.VA-4, 1028
			w.dropped("a WRITE ONLY of 1028 bytes", p...)
		},
	},
	{
		ID: "uc/27", Level: conformance.Observed, Program: conformance.UCWriteLatServer,
		Rule:   "A WRITE with immediate data for which no receive is posted is not answered.",
		Source: "IBA 9.8.2; Linux rxe_resp.c, RESPST_ERR_RNR",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			p := w.last(8)
			p[0].Opcode, p[0].Imm = bth.UCWriteOnlyImm, 7
			if why := w.exchange(p...); why == "" {
				t.Observe("the data is written, without a completion")
			} else {
				t.Observe("the message is dropped")
			}
			w.taken("after a WRITE with immediate data", w.last(8)...)
		},
	},
	{
		ID: "uc/28", Level: conformance.Shall, Program: conformance.UCWriteLatServer,
		Rule:   "A READ or an atomic over UC is dropped silently.",
		Source: "IBA 9.8, C9-165, table 38",
		Run: func(t *conformance.T) {
			w := dialUCWriter(t)
			var all []*wire.Packet
			for _, op := range []bth.Opcode{0x2c, 0x33, 0x34, bth.RCReadRequest, bth.RCFetchAdd, bth.RCWriteOnly} {
				p := w.Packet(op, w.PSN)
				write := w.last(8)[0]
				p.RETH = write.RETH
				p.AtomicETH = bth.AtomicETH{VA: w.Target.VA, RKey: w.Target.RKey}
				switch {
				case op == bth.RCWriteOnly:
					p.Payload = write.Payload
				case !op.Valid():
					p.Payload = make([]byte, 28) // as long as the headers
				}
				all = append(all, p)
			}
			w.dropped("requests that UC does not have", all...)
		},
	},
}
