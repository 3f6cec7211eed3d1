package gobackn

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// maxEvents bounds a simulation.
const maxEvents = 50_000_000

// sim is a running simulation.
type sim struct {
	Config
	rand   *rand.Rand
	now    int64 // nanoseconds
	events events
	count  uint64 // events scheduled
	hosts  []*host
	queues []*queuePair
	last   map[route]int64 // latest arrival of packets in order
	result *Result
}

type event struct {
	at int64
	n  uint64 // order of scheduling
	do func()
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e *events) Push(x any) { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return x
}

// Run simulates c until all messages are completed.
func Run(c Config) *Result {
	c.setDefaults()
	s := &sim{Config: c, rand: rand.New(rand.NewPCG(c.Seed, 0x90bacc)), last: map[route]int64{}}
	s.result = &Result{Config: c}
	s.build()
	for n := 0; s.events.Len() > 0; n++ {
		if n == maxEvents {
			return s.result
		}
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	s.result.Idle = true
	return s.result
}

// after schedules do.
func (s *sim) after(d int64, do func()) {
	s.count++
	heap.Push(&s.events, event{at: s.now + d, n: s.count, do: do})
}

// chance returns true with probability p.
func (s *sim) chance(p float64) bool { return p > 0 && s.rand.Float64() < p }

// upTo returns a random time up to d.
func (s *sim) upTo(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return s.rand.Int64N(int64(d) + 1)
}

// build creates hosts, connections and the posts of their messages.
func (s *sim) build() {
	for i := range s.Hosts {
		s.hosts = append(s.hosts, &host{sim: s, index: i, qpn: bth.QPN(0x100 + s.rand.IntN(0x4000)),
			id: uint16(s.rand.Uint32())})
	}
	for i := range s.Conns {
		a := s.rand.IntN(s.Hosts)
		b := (a + 1 + s.rand.IntN(s.Hosts-1)) % s.Hosts
		c := &Conn{Number: i}
		for e, h := range []int{a, b} {
			c.Ends[e] = End{Host: h, QPN: s.hosts[h].qpn, Start: bth.PSN(s.rand.Uint32()) & bth.MaxPSN}
			if s.ZeroPSN {
				c.Ends[e].Start = 0
			}
			s.hosts[h].qpn++
		}
		for e := range c.Ends {
			c.Ends[e].Port = s.port(c.Ends[e].QPN, c.Ends[1-e].QPN)
		}
		s.result.Conns = append(s.result.Conns, c)
		var pair [2]*queuePair
		for e := range pair {
			pair[e] = newQueuePair(s, c, e)
		}
		pair[0].peer, pair[1].peer = pair[1], pair[0]
		s.queues = append(s.queues, pair[0], pair[1])
		begin := s.upTo(4 * s.Think)
		s.after(begin, pair[0].post)
		if s.BothWays {
			s.after(begin+s.upTo(4*s.Think), pair[1].post)
		}
	}
}

// port returns the UDP source port of a queue pair.
func (s *sim) port(local, remote bth.QPN) uint16 {
	switch s.Ports {
	case SamePorts:
		return 0xc000
	case OwnPorts:
		return 0xc000 | uint16(uint32(local)*0x61c88647>>18)
	}
	v := uint64(local) * uint64(remote)
	v ^= v >> 20
	v ^= v >> 40
	label := uint32(v) & 0xfffff
	return 0xc000 | uint16(label&0x3fff^label>>14)
}
