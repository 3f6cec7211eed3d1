package soak

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"
)

// numbering checks the PSNs of one end's requests for violations: one PSN for two different
// packets, or consecutive PSNs for packets that are not consecutive in a message. rxe does that
// when it retransmits on a busy machine, and a responder must reject it.
type numbering struct {
	mu      sync.Mutex
	streams streams[numberedStream] // guarded by mu
	faults  []numberingFault        // guarded by mu
}

type numberingFault struct {
	at  time.Time
	qpn uint32
}

// numberedStream holds the opcodes of the latest PSNs, indexed by the lowest bits of the PSN.
type numberedStream [1024]struct {
	psn    uint32
	opcode uint8
	known  bool
}

// maxStreams bounds the number of streams. It exceeds the number of queue pairs that clients have
// at a time.
const maxStreams = 512

// streams holds the state of requests, by destination queue pair.
type streams[T any] map[uint32]*T

// to returns the stream to a queue pair, initially the zero T.
func (s *streams[T]) to(qpn uint32) *T {
	if *s == nil || len(*s) >= maxStreams {
		*s = streams[T]{}
	}
	t := (*s)[qpn]
	if t == nil {
		t = new(T)
		(*s)[qpn] = t
	}
	return t
}

// Fields of a BTH and values of its opcode.
const (
	bthLen        = 12
	bthQPN        = 4 // offset of the word with the destination queue pair
	bthPSN        = 8 // offset of the word with the PSN
	mask24        = 0xffffff
	serviceMask   = 0xe0 // service bits of the opcode; RC is 0
	firstResponse = 0x0d // RC opcode: RDMA READ response first
	lastResponse  = 0x12 // RC opcode: ATOMIC acknowledge
)

// Opcodes of RC requests.
const (
	sendFirst    = 0x00
	sendMiddle   = 0x01
	sendLast     = 0x02
	sendLastImm  = 0x03
	writeFirst   = 0x06
	writeMiddle  = 0x07
	writeLast    = 0x08
	writeLastImm = 0x09
	sendLastInv  = 0x16
)

var (
	goesOn   = []uint8{sendFirst, sendMiddle, writeFirst, writeMiddle}
	followsA = []uint8{sendMiddle, sendLast, sendLastImm, sendLastInv, writeMiddle, writeLast, writeLastImm}
)

// see processes one packet, from the BTH on.
func (n *numbering) see(at time.Time, packet []byte) {
	op, key, psn, ok := requestOf(packet)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.streams.to(key)
	if s.wrong(psn, op) {
		n.faults = append(n.faults, numberingFault{at, key})
		n.faults = n.faults[max(0, len(n.faults)-maxStreams):]
	}
	e := &s[psn%uint32(len(s))]
	e.psn, e.opcode, e.known = psn, op, true
}

// requestOf returns the opcode, the queue pair and the PSN of an RC request. ok is false for
// other packets.
func requestOf(packet []byte) (op uint8, qpn, psn uint32, ok bool) {
	if len(packet) < bthLen {
		return 0, 0, 0, false
	}
	op = packet[0]
	if op&serviceMask != 0 || op >= firstResponse && op <= lastResponse {
		return 0, 0, 0, false
	}
	qpn = binary.BigEndian.Uint32(packet[bthQPN:]) & mask24
	psn = binary.BigEndian.Uint32(packet[bthPSN:]) & mask24
	return op, qpn, psn, true
}

// wrong reports whether a PSN with an opcode cannot belong to the message that was seen before.
func (s *numberedStream) wrong(psn uint32, op uint8) bool {
	if same, ok := s.at(psn); ok && same != op {
		return true
	}
	if before, ok := s.at((psn - 1) & mask24); ok && slices.Contains(goesOn, before) != slices.Contains(followsA, op) {
		return true
	}
	after, ok := s.at((psn + 1) & mask24)
	return ok && slices.Contains(goesOn, op) != slices.Contains(followsA, after)
}

func (s *numberedStream) at(psn uint32) (opcode uint8, ok bool) {
	e := s[psn%uint32(len(s))]
	return e.opcode, e.known && e.psn == psn
}

// broken reports whether one of the queue pairs, or any queue pair if qpns is empty, has received
// a misnumbered request since the given time.
func (n *numbering) broken(since time.Time, qpns []uint32) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.faults, func(f numberingFault) bool {
		return !f.at.Before(since) && (len(qpns) == 0 || slices.Contains(qpns, f.qpn))
	})
}
