package sim_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/sim"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

const (
	opcodeDoc     = "../../docs/opcodes.md"
	opcodeInterop = "../../docs/opcodes-interop.json"
	opcodeSeeds   = 150 // seeds of the simulation; they cover every opcode that it knows
)

const opcodeHead = `# Opcodes

Every opcode of RoCEv2 and what gorxe does with it.

- **sent**, **received**: the opcode was sent, or received and accepted, by two connected state machines of package
  ` + "`transport`" + `, for which every operation was posted with messages of one and of three packets.
- **simulation**: a packet with the opcode was sent in the simulation (` + "`internal/sim`" + `), which checks each packet against a
  model.
- **Linux rxe**: kernels whose rxe exchanged packets with this opcode with gorxe: → from gorxe to rxe, ← from rxe to
  gorxe. This column comes from ` + "`docs/opcodes-interop.json`" + `, which contains only opcodes that captures and test results show.

CNP (congestion notification packet) is part of RoCEv2's congestion control, which gorxe does not have.

` + "`go test ./internal/sim -run Opcodes`" + ` computes the table and fails if it differs from this page; ` + "`-update`" + ` writes it.

| opcode | | sent | received | simulation | Linux rxe |
|---|---|---|---|---|---|
`

// The committed table is the one that the code generates.
func TestOpcodesAreAsTheTableSays(t *testing.T) {
	sent, received := map[bth.Opcode]bool{}, map[bth.Opcode]bool{}
	for _, service := range []qp.Type{qp.RC, qp.UC, qp.UD} {
		newExchange(t, service, sent, received).all()
	}
	simulated := map[bth.Opcode]bool{}
	for seed := range uint64(opcodeSeeds) {
		sim.Run(scenario.Generate(seed), func(_ scenario.Time, datagram []byte) {
			if _, payload, err := bth.SeedIP(datagram); err == nil {
				simulated[bth.Opcode(payload[0])] = true
			}
		})
	}
	rxe := interopByOpcode(t)
	mark := map[bool]string{true: "yes", false: "no"}
	var doc strings.Builder
	doc.WriteString(opcodeHead)
	for op := range bth.Opcodes() {
		fmt.Fprintf(&doc, "| 0x%02x | %v | %s | %s | %s | %s |\n", uint8(op), op, mark[sent[op]], mark[received[op]],
			mark[simulated[op]], rxe[op])
	}
	golden.CheckFile(t, opcodeDoc, doc.String())
}

// interopByOpcode returns, for each opcode, the kernel with which it was exchanged.
func interopByOpcode(t *testing.T) map[bth.Opcode]string {
	t.Helper()
	b, err := os.ReadFile(opcodeInterop)
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Kernels []struct {
			Kernel, Source string
			Sent, Received []string
		}
	}
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatalf("%s: %v", opcodeInterop, err)
	}
	names := map[string]bool{}
	out := map[bth.Opcode]string{}
	for op := range bth.Opcodes() {
		names[op.String()] = true
		var cells []string
		for _, k := range data.Kernels {
			arrows := ""
			if slices.Contains(k.Sent, op.String()) {
				arrows += "→"
			}
			if slices.Contains(k.Received, op.String()) {
				arrows += "←"
			}
			if arrows != "" {
				cells = append(cells, k.Kernel+" "+arrows)
			}
		}
		out[op] = strings.Join(cells, ", ")
	}
	for _, k := range data.Kernels {
		for _, name := range slices.Concat(k.Sent, k.Received) {
			if !names[name] {
				t.Errorf("%s: there is no opcode %s", opcodeInterop, name)
			}
		}
	}
	return out
}

// An exchange is two connected machines, with a record of the opcodes that they exchange.
type exchange struct {
	*testing.T
	ends           [2]exchangeEnd
	sent, received map[bth.Opcode]bool
	batch          *packet.Batch
}

type exchangeEnd struct {
	m interface {
		Receive(transport.Time, *bth.Packet) transport.Verdict
		Transmit(transport.Time, *packet.Path, *packet.Batch, int) bool
		Modified(transport.Time)
	}
	qp     *qp.QP
	keys   *mr.Table
	region *mr.Region
	cq     *qp.CQ
	ah     *transport.AH
}

const (
	exchangeMTU  = 256
	exchangeQKey = 0x11
)

func newExchange(t *testing.T, service qp.Type, sent, received map[bth.Opcode]bool) *exchange {
	t.Helper()
	x := &exchange{T: t, sent: sent, received: received, batch: packet.NewBatch(64)}
	all := mr.LocalWrite | mr.RemoteRead | mr.RemoteWrite | mr.RemoteAtomic | mr.FlushGlobal | mr.MWBind
	for i := range x.ends {
		pd := &mr.PD{}
		e := exchangeEnd{keys: mr.NewTable([32]byte{byte(i)}, 10), cq: qp.NewCQ(1000)}
		var err error
		if e.region, err = e.keys.Register(pd, mr.Bytes(make([]byte, 8192)), 0x1000, 8192, all); err != nil {
			t.Fatal(err)
		}
		e.qp = &qp.QP{
			Num: bth.QPN(16 + i), Type: service, PD: pd, SigAll: true, SendCQ: e.cq, RecvCQ: e.cq,
			SQ: qp.NewSendQueue(8, 1, true), Recv: qp.NewRecvQueue(pd, 8, 1),
		}
		switch service {
		case qp.RC:
			e.m = transport.NewRC(e.qp, e.keys, nil)
		case qp.UC:
			e.m = transport.NewUC(e.qp, e.keys)
		default:
			e.m = transport.NewUD(e.qp, e.keys)
			addr := netip.MustParseAddr("192.0.2.1")
			e.ah = transport.NewAH(pd, qp.AddressVector{}, 0, packet.Path{Src: addr, Dst: addr}, exchangeMTU, nil)
		}
		for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
			e.qp.Attr = qp.Attr{
				State: st, PathMTU: exchangeMTU, DestQPN: bth.QPN(17 - i), Access: all, QKey: exchangeQKey,
				MaxRdAtomic: 4, MaxDestRdAtomic: 4, Timeout: 14, RetryCnt: 7, RNRRetry: 7,
			}
			e.m.Modified(1)
		}
		x.ends[i] = e
	}
	return x
}

// all executes every verb of the service that sends packets.
func (x *exchange) all() {
	for op := range qp.WROpcode(64) {
		local := op == qp.WRLocalInv || op == qp.WRBindMW || op == qp.WRRegMR
		if local || !op.Allowed(x.ends[0].qp.Type) {
			continue
		}
		for _, n := range []uint32{8, 3 * exchangeMTU, 0} {
			x.verb(op, n)
		}
	}
}

// verb executes one verb from end 0 to end 1, if its rules allow a message of n bytes.
func (x *exchange) verb(op qp.WROpcode, n uint32) {
	x.Helper()
	from, to := &x.ends[0], &x.ends[1]
	wr := &qp.SendWR{
		Opcode: op, RemoteAddr: 0x1000, RKey: to.region.RKey(), RemoteQPN: to.qp.Num, RemoteQKey: exchangeQKey,
		Flush: qp.Flush{Type: qp.FlushToGlobal, Level: qp.FlushRange, Length: 8},
	}
	if from.ah != nil {
		wr.AH = from.ah
	}
	if n > 0 {
		wr.SGList = []qp.SGE{{Addr: 0x1000, Length: n, LKey: from.region.LKey()}}
	}
	if op == qp.WRSendInv {
		wr.Imm = to.boundWindow(x.T)
	}
	if from.qp.CheckPost(wr) != nil {
		return
	}
	if to.qp.Recv.Len() == 0 {
		if err := to.qp.Recv.(*qp.RecvQueue).Push(&qp.RecvWR{SGList: []qp.SGE{{Addr: 0x2000, Length: 4096,
			LKey: to.region.LKey()}}}); err != nil {
			x.Fatal(err)
		}
	}
	if err := from.qp.SQ.Push(wr); err != nil {
		x.Fatal(err)
	}
	x.run()
	var wcs [4]qp.WC
	for _, wc := range wcs[:from.cq.Poll(wcs[:])] {
		if wc.Status != qp.WCSuccess {
			x.Fatalf("%v of %d bytes ends with %s", op, n, wc.Status.Name())
		}
	}
	to.cq.Poll(wcs[:])
}

// boundWindow returns the key of a window that a peer may invalidate.
func (e *exchangeEnd) boundWindow(t *testing.T) uint32 {
	t.Helper()
	w, err := e.keys.AllocWindow(e.qp.PD, mr.WindowType2)
	if err != nil {
		t.Fatal(err)
	}
	b := &mr.Bind{
		Key: w.RKey(), NewKey: mr.IncRKey(w.RKey()), LKey: e.region.LKey(), Addr: 0x1000, Length: 8,
		Access: mr.RemoteRead,
	}
	if err := e.keys.Bind(e.qp.PD, uint32(e.qp.Num), b); err != nil {
		t.Fatal(err)
	}
	return w.RKey()
}

// run delivers packets until neither machine has more to send.
func (x *exchange) run() {
	for busy := true; busy; {
		busy = false
		for i := range x.ends {
			m := x.ends[i].m
			busy = m.Transmit(1, nil, x.batch, 64) || x.batch.Len() > 0 || busy
			for k := range x.batch.Len() {
				var p bth.Packet
				if err := p.Decode(append(x.batch.At(k).AppendTo(nil), 0, 0, 0, 0)); err != nil {
					x.Fatal(err)
				}
				x.sent[p.Opcode] = true
				if v := x.ends[1-i].m.Receive(1, &p); v == transport.Accepted {
					x.received[p.Opcode] = true
				}
			}
			x.batch.Reset()
			if s, ok := m.(interface{ Sent(transport.Time) bool }); ok {
				busy = s.Sent(1) || busy
			}
		}
	}
}
