package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/bth"
)

// scenes are the captures of docs/learn. The capture point is the output of the switch that
// connects the hosts.
var scenes = map[string]func(*simulation){
	"congestion": congestionScene,
	"cluster":    clusterScene,
}

// writeScene writes the capture of a scene.
func writeScene(w io.Writer, name string) error {
	build := scenes[name]
	if build == nil {
		return fmt.Errorf("-scene %s: choose %s", name,
			strings.Join(slices.Sorted(maps.Keys(scenes)), " or "))
	}
	s := newSimulation(w)
	build(s)
	s.head()
	s.run()
	return s.err
}

// newSimulation returns a simulation without hosts that writes frames to w.
func newSimulation(w io.Writer) *simulation {
	g := &generator{params: params{mtu: 1024}, w: w, rand: rand.New(rand.NewPCG(1, 0))}
	g.payload = make([]byte, g.mtu) // zeros: the capture is small when it is compressed
	return &simulation{generator: g}
}

// addHosts adds hosts up to number n. Their addresses are 10.0.0.1 to 10.0.0.n.
func (s *simulation) addHosts(n int, gigabits int64) {
	s.speed = gigabits
	s.ports = make([]int64, n+1)
	for i := range n + 1 {
		s.hosts = append(s.hosts, &host{sim: s, number: i})
	}
}

// connect adds a connection from one host to another.
func (s *simulation) connect(from, to int, t traffic) {
	n := len(s.conns)
	c := &conn{sim: s, from: from, to: to, traffic: t, rate: newRate(s.speed),
		srcQP: bth.QPN(0x100 + 2*n), dstQP: bth.QPN(0x101 + 2*n), start: bth.PSN(s.rand.Uint32N(1 << 24))}
	c.port = sourcePort(c.srcQP, c.dstQP)
	s.conns = append(s.conns, c)
	s.hosts[from].conns = append(s.hosts[from].conns, c)
	s.at(t.begin, c.post)
}

const microsecond = 1000 // in nanoseconds

// congestionScene is three hosts that WRITE to a fourth one, the second and third later than the
// first. All ports have 10 Gbit/s.
func congestionScene(s *simulation) {
	s.addHosts(4, 10)
	for i, begin := range []int64{0, 200, 500} {
		s.connect(1+i, 4, traffic{op: bth.OpWrite, length: 64 << 10, count: 7 - i,
			begin: begin * microsecond, every: 20 * microsecond})
	}
}

// clusterScene is twenty hosts of a cluster with four problems: the cable of host 7 loses packets,
// the program on host 12 posts its receives late, hosts 1 to 4 WRITE to host 20 at the same time,
// and host 15 uses a key that is no longer valid.
func clusterScene(s *simulation) {
	s.addHosts(20, 25)
	s.hosts[7].loss = 20
	// Each host WRITEs to the next one, as in a ring all-reduce.
	for i := range 20 {
		s.connect(1+i, 1+(i+1)%20, traffic{op: bth.OpWrite, length: 16 << 10, count: 8,
			begin: int64(7*i) * microsecond, every: 310 * microsecond})
	}
	// Hosts 8 to 10 READ from hosts 17 to 19.
	for i := range 3 {
		s.connect(8+i, 17+i, traffic{op: bth.OpReadRequest, length: 16 << 10, count: 10,
			begin: int64(40+11*i) * microsecond, every: 220 * microsecond})
	}
	// SENDs of a remote procedure call service.
	for _, c := range [][2]int{{5, 6}, {11, 13}, {13, 14}, {16, 9}, {7, 18}} {
		s.connect(c[0], c[1], traffic{op: bth.OpSend, length: 2000, count: 40,
			begin: int64(13*c[0]) * microsecond, every: 60 * microsecond})
	}
	s.connect(11, 12, traffic{op: bth.OpSend, length: 2000, count: 20, begin: 100 * microsecond,
		every: 100 * microsecond, receives: 130 * microsecond})
	for i := range 4 {
		s.connect(1+i, 20, traffic{op: bth.OpWrite, length: 64 << 10, count: 6, hello: true,
			begin: int64(570+i) * microsecond, every: 40 * microsecond})
	}
	s.connect(15, 16, traffic{op: bth.OpWrite, length: 4096, count: 12, begin: 300 * microsecond,
		every: 100 * microsecond, badKey: 9})
}

// head writes the header of the file.
func (g *generator) head() {
	head := binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d) // nanoseconds
	head = binary.LittleEndian.AppendUint16(head, 2)
	head = binary.LittleEndian.AppendUint16(head, 4)
	head = append(head, make([]byte, 8)...)
	head = binary.LittleEndian.AppendUint32(head, 1<<16)
	head = binary.LittleEndian.AppendUint32(head, 1) // Ethernet
	g.put(head)
}
