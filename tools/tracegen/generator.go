package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/gorxe/gorxe/bth"
)

// params describe a capture.
type params struct {
	queuePairs, hosts  int
	mtu, message, snap int
	loss, mark         float64
	seed               uint64
}

var defaults = params{queuePairs: 100, hosts: 16, mtu: 1024, message: 64 << 10, seed: 1}

const (
	maxQueuePairs = 1 << 20
	maxHosts      = 1 << 16
	maxMessage    = 1 << 30
)

func (p *params) check() error {
	switch {
	case p.queuePairs < 1 || p.queuePairs > maxQueuePairs:
		return fmt.Errorf("-qps %d: give 1 to %d", p.queuePairs, maxQueuePairs)
	case p.hosts < 2 || p.hosts > maxHosts:
		return fmt.Errorf("-hosts %d: give 2 to %d", p.hosts, maxHosts)
	case p.mtu < 256 || p.mtu > bth.MaxPayload || p.mtu&(p.mtu-1) != 0:
		return fmt.Errorf("-mtu %d: give 256, 512, 1024, 2048 or 4096", p.mtu)
	case p.message < 1 || p.message > maxMessage:
		return fmt.Errorf("-message %d: give 1 to %d", p.message, maxMessage)
	case p.snap != 0 && p.snap < etherLen+bth.IPv4HeaderLen+bth.UDPHeaderLen+bth.BTHLen:
		return fmt.Errorf("-snap %d: give at least the length of the headers", p.snap)
	case p.loss < 0 || p.loss > maxProbability:
		return fmt.Errorf("-loss %v: give 0 to %v", p.loss, maxProbability)
	case p.mark < 0 || p.mark > maxProbability:
		return fmt.Errorf("-ce %v: give 0 to %v", p.mark, maxProbability)
	}
	return nil
}

// maxProbability is below 1 so that every message ends.
const maxProbability = 0.5

const (
	etherLen  = 14
	recordLen = 16
	begin     = 1_700_000_000 // time of the first frame, in seconds since 1970
	// Times between two frames of the capture, in nanoseconds. nanosPerByte is that of 100 Gbit/s.
	frameGap     = 20
	nanosPerByte = 0.08
	// timeout is the time after which a requester retransmits without a NAK, in nanoseconds.
	timeout = 4_000_000
	// burst is the maximum number of consecutive frames of one connection.
	burst = 16
)

// generator writes frames. now is the time of the next one in nanoseconds after begin.
type generator struct {
	params
	rand    *rand.Rand
	pairs   []pair
	now     float64
	payload []byte
	buf     []byte
	id      uint16
	w       io.Writer
	written int64
	err     error
}

func newGenerator(p params) *generator {
	g := &generator{params: p, rand: rand.New(rand.NewPCG(p.seed, 0)), payload: make([]byte, 2*p.mtu)}
	for i := range g.payload {
		g.payload[i] = byte(g.rand.Uint32())
	}
	g.pairs = make([]pair, p.queuePairs)
	for i := range g.pairs {
		src := g.rand.IntN(p.hosts)
		dst := (src + 1 + g.rand.IntN(p.hosts-1)) % p.hosts
		// The queue pair number of each end is unique in the capture.
		g.pairs[i] = pair{
			src: address(src), dst: address(dst), srcQP: bth.QPN(0x100 + 2*i), dstQP: bth.QPN(0x101 + 2*i),
			first: bth.PSN(g.rand.Uint32N(1 << 24)),
		}
		g.pairs[i].port = sourcePort(g.pairs[i].srcQP, g.pairs[i].dstQP)
		g.pairs[i].begin(g)
	}
	return g
}

// address returns the address of host i.
func address(i int) [4]byte { return [4]byte{10, 0, byte(i >> 8), byte(i)} }

// sourcePort returns the UDP source port that Linux derives from the queue pair numbers
// (rdma_flow_label_to_udp_sport in include/rdma/ib_verbs.h).
func sourcePort(x, y bth.QPN) uint16 {
	v := uint64(x) * uint64(y)
	v ^= v >> 20
	v ^= v >> 40
	fl := uint32(v & 0xfffff)
	return uint16(0xc000 | fl&0x3fff ^ fl>>14)
}

// write writes a capture of at least n bytes, up to the end of a frame.
func (g *generator) write(w io.Writer, n int64) error {
	g.w = w
	g.head()
	for g.err == nil && g.written < n {
		p := &g.pairs[g.rand.IntN(len(g.pairs))]
		for i := 1 + g.rand.IntN(burst); i > 0 && g.written < n && g.err == nil; i-- {
			p.step(g)
		}
	}
	return g.err
}

func (g *generator) put(b []byte) {
	if g.err == nil {
		_, g.err = g.w.Write(b)
		g.written += int64(len(b))
	}
}

// send writes the frame of a packet from src to dst.
func (g *generator) send(src, dst [4]byte, port uint16, trafficClass byte, p *bth.Packet) {
	g.id++
	head := p.Opcode.Info().HeaderLen
	udp := bth.UDPHeaderLen + head + len(p.Payload) + int(p.Pad) + bth.ICRCLen
	h := bth.Header4{Src: src, Dst: dst, ID: g.id, FlagsFragment: 0x4000, SrcPort: port, DstPort: 4791, UDPLen: udp}
	ip := bth.IPv4HeaderLen + udp

	be := binary.BigEndian
	b := append(g.buf[:0], make([]byte, recordLen)...)
	b = append(b, 2, 0, dst[0], dst[1], dst[2], dst[3], 2, 0, src[0], src[1], src[2], src[3], 8, 0)
	header := len(b)
	b = append(b, 0x45, trafficClass)
	b = be.AppendUint16(b, uint16(ip))
	b = be.AppendUint16(b, g.id)
	b = append(b, 0x40, 0, 64, 17, 0, 0)
	b = append(append(b, src[:]...), dst[:]...)
	be.PutUint16(b[header+10:], checksum(b[header:]))
	b = be.AppendUint16(b, port)
	b = be.AppendUint16(b, 4791)
	b = be.AppendUint16(b, uint16(udp))
	b = append(b, 0, 0)
	at := len(b)
	b = p.Append(b)
	b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b[at:]))
	g.buf = b

	length := len(b) - recordLen
	captured := length
	if g.snap > 0 {
		captured = min(captured, g.snap)
	}
	le := binary.LittleEndian
	le.PutUint32(b, uint32(begin+int64(g.now)/1e9))
	le.PutUint32(b[4:], uint32(int64(g.now)%1e9))
	le.PutUint32(b[8:], uint32(captured))
	le.PutUint32(b[12:], uint32(length))
	g.put(b[:recordLen+captured])
	g.now += frameGap + nanosPerByte*float64(length)
}

// checksum returns the Internet checksum of an IPv4 header whose checksum is 0 (RFC 1071).
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
