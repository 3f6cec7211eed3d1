package scene

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

var (
	client = trace.End{Addr: netip.MustParseAddr("192.0.2.1"), QPN: 0x11}
	server = trace.End{Addr: netip.MustParseAddr("192.0.2.2"), QPN: 0x2a}
)

// Lossy returns one connection from REQ to DREP: a WRITE of four packets whose third is lost, a
// READ, a SEND without a posted receive, an atomic, and an access that is refused. Constants have
// the numbers of important frames.
func Lossy() *Script {
	s := New()
	f := s.Flow(bth.ServiceRC, client, server)
	f.MTU, f.MTUExact, f.Window = 1024, true, 4
	s.connect(f)
	s.After(200 * time.Microsecond)
	s.lostWrite(f)
	s.read(f)
	s.notReady(f)
	s.refused(f)
	s.After(2 * time.Millisecond)
	s.disconnect(f)
	f.RTT = trace.RTT{Count: 4, Min: 6 * time.Microsecond, Max: 21 * time.Microsecond, Sum: 40 * time.Microsecond}
	f.Payload = 4096 + 3072 + 5 + 8
	return s
}

// Frame numbers in [Lossy].
const (
	FrameREQ     = 1
	FrameGap     = 6
	FrameNAK     = 7
	FrameAgain   = 8
	FrameAck     = 10
	FrameRNR     = 16
	FrameRefused = 20
	LossyFrames  = 22
)

func (s *Script) cm(f *trace.Flow, from int, m *mad.Message, meaning string) *trace.Packet {
	m.TransactionID = 0x5e55_0001
	b := bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.GSI, DETH: bth.DETH{QKey: 0x8001_0000, SrcQP: bth.GSI}}
	var mad [mad.Len]byte
	if err := m.Encode(&mad); err != nil {
		panic(err)
	}
	b.Payload = mad[:]
	p := s.Packet(f, from, trace.CM, b, meaning)
	p.MAD = m
	return p
}

func (s *Script) connect(f *trace.Flow) {
	req := mad.REQ{
		LocalCommID: 0x0a01, ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7174),
		LocalQPN: f.Ends[0].QPN, StartingPSN: 900,
		PathMTU: 3, PKey: 0xffff, ResponderResources: 16, InitiatorDepth: 16, RetryCount: 7, RNRRetryCount: 7,
		MaxCMRetries: 15,
		PrivateData:  []byte("private"),
	}
	rep := mad.REP{LocalCommID: 0x0b01, RemoteCommID: 0x0a01, LocalQPN: f.Ends[1].QPN, StartingPSN: 100,
		RNRRetryCount: 7}
	begin := s.now
	s.cm(f, 0, &mad.Message{Attribute: mad.AttrREQ, REQ: req},
		"asks for a connection to rdma_cm port 7174: QPN 0x000011, first PSN 900, path MTU 1024")
	s.After(80 * time.Microsecond)
	s.cm(f, 1, &mad.Message{Attribute: mad.AttrREP, REP: rep}, "accepts: QPN 0x00002a, first PSN 100")
	s.cm(f, 0, &mad.Message{Attribute: mad.AttrRTU, RTU: mad.RTU{LocalCommID: 0x0a01, RemoteCommID: 0x0b01}},
		"the connection is ready")
	f.CM = &trace.Managed{
		ServiceID: uint64(req.ServiceID), Port: 7174, Requested: begin, SetupTime: s.now.Sub(begin),
	}
}

func (s *Script) lostWrite(f *trace.Flow) {
	m := s.Message(f, "RDMA WRITE", bth.OpWrite, 100, 4, 4096)
	part := make([]byte, 1024)
	to := bth.RETH{VA: 0x7f3a_5c00_1000, RKey: 0x0001_8a42, DMALen: 4096}
	Of(m, s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCWriteFirst, PSN: 100, RETH: to, Payload: part},
		"begins a WRITE of 4096 bytes to 0x7f3a5c001000"))
	Of(m, s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCWriteMiddle, PSN: 101, Payload: part},
		"packet 2 of 4 of the WRITE"))
	gap := Of(m,
		s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCWriteLast, PSN: 103, AckReq: true, Payload: part},
			"packet 4 of 4 of the WRITE, asks for an acknowledgement"))
	find(gap, trace.Gap, trace.Warning, "PSN 102 is missing: the packet before was 101.", 5, 6)
	gap.Findings[0].PSN, gap.Findings[0].PSNs = 102, 1
	s.After(9 * time.Microsecond)
	nak := s.Packet(f, 1, trace.Ack,
		bth.Packet{Opcode: bth.RCAck, PSN: 102, AETH: bth.AETH{Syndrome: bth.NakPSNSequence}},
		"misses PSN 102 and asks for everything from there on")
	find(nak, trace.SequenceNAK, trace.Warning,
		"The responder expected PSN 102 and got 103, so it asks for 102 and all that follow.", 6, 7)
	again := Of(m, s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCWriteMiddle, PSN: 102, Payload: part},
		"packet 3 of 4 of the WRITE, for the first time here"))
	find(again, trace.AfterNAK, trace.Warning, "Sent because the NAK in frame 7 asked for PSN 102.", 7, 8)
	last := Of(m,
		s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCWriteLast, PSN: 103, AckReq: true, Payload: part},
			"packet 4 of 4 of the WRITE, retransmitted"))
	find(last, trace.AfterNAK, trace.Warning,
		"Go-back-N: packets after PSN 102 are retransmitted although they had arrived.", 7, 6, 9)
	s.After(12 * time.Microsecond)
	ack := Of(m, s.Packet(f, 1, trace.Ack,
		bth.Packet{Opcode: bth.RCAck, PSN: 103, AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 1}},
		"acknowledges everything up to PSN 103: the WRITE is complete"))
	find(ack, trace.AckCoalesced, trace.Info, "One acknowledgement for four requests.", 4, 10)
	again.Again, last.Again = true, true
	m.Done, m.Again = true, 2
	f.Again, f.LostBefore, f.NAKs = 2, 1, 1
	m.WR, m.WC = "wr_id 1 RDMA_WRITE 4096 bytes, signaled", "wr_id 1 success"
}

func (s *Script) read(f *trace.Flow) {
	m := s.Message(f, "RDMA READ", bth.OpReadRequest, 104, 3, 3072)
	from := bth.RETH{VA: 0x7f3a_5c00_2000, RKey: 0x0001_8a42, DMALen: 3072}
	part := make([]byte, 1024)
	Of(m, s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCReadRequest, PSN: 104, RETH: from},
		"asks for 3072 bytes at 0x7f3a5c002000: PSNs 104 to 106 are the responses'"))
	for i, op := range []bth.Opcode{bth.RCReadResponseFirst, bth.RCReadResponseMiddle, bth.RCReadResponseLast} {
		Of(m, s.Packet(f, 1, trace.Response, bth.Packet{
			Opcode: op, PSN: bth.PSN(104 + i), AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 2}, Payload: part,
		}, fmt.Sprintf("response %d of 3 to the READ", i+1)))
	}
	m.Done = true
}

func (s *Script) notReady(f *trace.Flow) {
	m := s.Message(f, "SEND", bth.OpSend, 107, 1, 5)
	send := bth.Packet{Opcode: bth.RCSendOnlyImm, PSN: 107, AckReq: true, Solicited: true, Imm: 0xcafe,
		Payload: []byte("hello")}
	Of(m, s.Packet(f, 0, trace.Request, send, "sends 5 bytes with immediate data 0x0000cafe"))
	rnr := s.Packet(f, 1, trace.Ack,
		bth.Packet{Opcode: bth.RCAck, PSN: 107, AETH: bth.AETH{Syndrome: bth.RNR(12), MSN: 2}},
		"no receive is posted: try again in 640 µs")
	find(rnr, trace.RNRNAK, trace.Warning,
		"The responder has no receive for the SEND; the requester shall wait 640 µs.", 15, 16)
	s.After(650 * time.Microsecond)
	p := Of(m, s.Packet(f, 0, trace.Request, send, "the SEND again"))
	p.Again = true
	find(p, trace.AfterRNR, trace.Warning, "Retransmitted 656 µs after the RNR NAK in frame 16.", 16, 17)
	Of(m, s.Packet(f, 1, trace.Ack, bth.Packet{Opcode: bth.RCAck, PSN: 107,
		AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 3}},
		"acknowledges PSN 107: the SEND is complete"))
	m.Done, m.Again = true, 1
	f.Again, f.RNRs = f.Again+1, 1
}

func (s *Script) refused(f *trace.Flow) {
	m := s.Message(f, "COMPARE SWAP", bth.OpCmpSwap, 108, 1, 8)
	at := bth.AtomicETH{VA: 0x7f3a_5c00_9ff8, RKey: 0x0001_8a99, SwapAdd: 1, Compare: 0xffff_ffff_ffff_ffff}
	Of(m, s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCCmpSwap, PSN: 108, AckReq: true, AtomicETH: at},
		"compares and swaps 8 bytes at 0x7f3a5c009ff8"))
	nak := Of(m, s.Packet(f, 1, trace.Ack,
		bth.Packet{Opcode: bth.RCAck, PSN: 108, AETH: bth.AETH{Syndrome: bth.NakRemoteAccess, MSN: 3}},
		"refuses: remote access error"))
	find(nak, trace.ErrorNAK, trace.Error,
		"The responder refuses 8 bytes at 0x7f3a5c009ff8 under R_Key 0x00018a99: no such key, or not these bytes. The connection is in error.", 19, 20)
	m.Failed = "remote access error"
	f.Err = "remote access error in frame 20"
	f.NAKs++
}

func (s *Script) disconnect(f *trace.Flow) {
	s.cm(f, 0, &mad.Message{Attribute: mad.AttrDREQ,
		DREQ: mad.DREQ{LocalCommID: 0x0a01, RemoteCommID: 0x0b01, RemoteQPN: f.Ends[1].QPN}}, "ends the connection")
	s.After(40 * time.Microsecond)
	s.cm(f, 1, &mad.Message{Attribute: mad.AttrDREP, DREP: mad.DREP{LocalCommID: 0x0b01, RemoteCommID: 0x0a01}},
		"agrees to the end")
	f.CM.Ended = true
}

func find(p *trace.Packet, k trace.Kind, l trace.Level, text string, frames ...int) {
	p.Findings = append(p.Findings, trace.Finding{Kind: k, Level: l, Text: text, Frames: frames})
}
