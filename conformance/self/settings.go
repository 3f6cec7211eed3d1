package self

import (
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/verbs"
)

// settings describe the queue pair and the memory of a program.
type settings struct {
	program conformance.Program
	kind    verbs.QPType
	attr    verbs.ConnAttr // with the rights of the tester at the queue pair
	region  verbs.Access   // rights of the tester at the region
	length  uint64         // of the region that the tester is told, in bytes
	// spare is the number of bytes of the region beyond length.
	spare uint64

	receives  int  // receives that are posted
	recvLen   int  // length of a receive in bytes
	headLen   int  // bytes before the data of a datagram in a receive
	shared    bool // all receives and the answers use the same memory
	repost    bool
	echo      bool // each received message is answered with one
	polls     bool // answers when the last byte of the region is the number of the answer
	sends     bool // a client, which sends messages with the operation client
	client    verbs.WROpcode
	clientLen int // length of a message of a client
	messages  int // number of messages of a client
	qkey      uint32
}

// Parameters of the stock programs, as package device starts them.
const (
	pathMTU        = verbs.MTU(1024)
	regionLen      = 65536
	latencyLen     = 4096
	datagramQKey   = 0x11111111
	clientLen      = 4096
	clientMessages = 8

	longClientLen      = 120 * int(pathMTU)
	longClientMessages = 16
)

// settingsOf returns the settings of a program that connects without rdma_cm; ok is false for the
// others.
func settingsOf(p conformance.Program, local conformance.Local) (s settings, ok bool) {
	s = settings{program: p, kind: verbs.RC, attr: verbs.DefaultConnAttr(), qkey: datagramQKey}
	s.attr.PathMTU, s.attr.HopLimit = pathMTU, 255
	s.attr.Access = 0
	one := func(a verbs.Access, n uint64) {
		s.attr.Access, s.region, s.length = a, a, n
	}
	receive := func(count, length int) { s.receives, s.recvLen, s.repost = count, length, true }
	sender := func(op verbs.WROpcode, n int) {
		s.sends, s.client, s.clientLen, s.attr.Timeout = true, op, n, local.AckTimeout
		s.messages, s.attr.MaxRdAtomic = clientMessages, min(s.attr.MaxRdAtomic, local.Reads)
	}
	switch p {
	case conformance.Pingpong:
		receive(500, 4096)
		s.echo, s.shared, s.attr.HopLimit = true, true, 1
	case conformance.WriteServer:
		one(verbs.RemoteWrite, regionLen)
	case conformance.ReadServer:
		one(verbs.RemoteRead, regionLen)
	case conformance.AtomicServer:
		one(verbs.RemoteAtomic, 8)
	case conformance.SendServer:
		// ib_send_bw permits WRITE at the queue pair, but not to its memory.
		one(0, regionLen)
		s.attr.Access = verbs.RemoteWrite
		receive(128, 4096)
	case conformance.UCWriteServer:
		s.kind = verbs.UC
		one(verbs.RemoteWrite, regionLen)
	case conformance.UCSendServer:
		s.kind = verbs.UC
		receive(128, 4096)
	case conformance.UCPingpong:
		s.kind = verbs.UC
		receive(500, 4096)
		s.echo, s.shared, s.attr.HopLimit = true, true, 1
	case conformance.UDPingpong:
		s.kind, s.headLen = verbs.UD, verbs.GRHLen
		receive(500, 1024)
		s.echo, s.shared = true, true
	case conformance.UCWriteLatServer:
		s.kind = verbs.UC
		one(verbs.RemoteWrite, latencyLen)
		s.polls = true
	case conformance.WriteServerTClass:
		one(verbs.RemoteWrite, regionLen)
		s.attr.TrafficClass = conformance.TClass
	case conformance.UDSendServer:
		s.kind, s.headLen = verbs.UD, verbs.GRHLen
		receive(128, 1024)
	case conformance.WriteClient:
		sender(verbs.WRWrite, clientLen)
	case conformance.ReadClient:
		sender(verbs.WRRead, clientLen)
	case conformance.SendClient:
		sender(verbs.WRSend, clientLen)
	case conformance.LongSendClient:
		sender(verbs.WRSend, longClientLen)
		s.messages = longClientMessages
	case conformance.AtomicWriteClient:
		sender(verbs.WRAtomicWrite, 8)
		s.messages = 1
	case conformance.FlushClient:
		sender(verbs.WRFlush, 8)
		s.messages = 1
	default:
		return s, false
	}
	return s, true
}
