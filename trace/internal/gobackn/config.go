package gobackn

import "time"

// Config describes a simulation. Probabilities are from 0 to 1.
type Config struct {
	Seed  uint64
	Hosts int // at least 2
	Conns int // connections, each between two random hosts
	// BothWays makes both ends of each connection send requests; otherwise one does.
	BothWays bool
	ZeroPSN  bool // start PSNs are 0, as in NCCL; otherwise random
	Ports    Ports
	ZeroID   bool // IP identification is 0; otherwise a counter per host
	MTU      int  // path MTU in bytes; 0 means 1024

	Messages int   // messages of each requester
	Depth    int   // maximum messages of a requester in flight; 0 means 4
	Window   int   // maximum PSNs of a requester in flight; 0 means 64
	MaxLen   int   // maximum message length in bytes; 0 means 8 KiB
	Verbs    Verbs // weights; the zero value means SENDs, WRITEs, READs and atomics
	// AckEvery is the number of messages per request for an acknowledgement; 0 means 1. The last
	// message that is posted always requests one.
	AckEvery int
	// Think is the mean time between the posts of a requester; 0 means 20 µs.
	Think time.Duration

	Before, Behind Segment // from the senders to the capture point, from there to the receivers
	// Missed is the probability that the capture misses a packet that passes it.
	Missed float64
	// Start is the time at which the capture starts.
	Start time.Duration

	// NotReady is the probability that a receive queue is empty when a message needs it.
	NotReady float64
	RNRTimer uint8 // timer code of RNR NAKs
	// Timeout is the code n of the acknowledge timer: 4.096 µs × 2^n (IBA 9.7.6.1.3). The timer
	// expires up to Jitter of that time later. 0 means 9, 2.1 ms.
	Timeout uint8
	Jitter  float64
	Device  Device
}

// Segment is a part of the network.
type Segment struct {
	Loss      float64
	Duplicate float64
	Reorder   float64 // probability that a packet is overtaken by later ones
	CE        float64 // probability of an ECN mark
	// Delay is the propagation time; 0 means 5 µs. Up to Jitter is added, in order.
	Delay, Jitter time.Duration
}

// Verbs are relative frequencies of the verbs.
type Verbs struct{ Send, Write, WriteImm, Read, Atomic int }

// Ports tells how UDP source ports are chosen.
type Ports uint8

const (
	// DerivedPorts depend on both QPNs and are the same in both directions, as Linux derives
	// them (rdma_calc_flow_label and rdma_flow_label_to_udp_sport in include/rdma/ib_verbs.h).
	DerivedPorts Ports = iota
	SamePorts          // one port for all
	OwnPorts           // depends on the local QPN, as in rxe (rxe_qp_init_req)
)

// Device describes where requesters and responders of different makes differ.
type Device struct {
	// OneRetry makes the requester ignore sequence NAKs and implied NAKs from the beginning of a
	// go-back until the oldest unacknowledged PSN advances, as rxe does (started_retry in
	// rxe_comp.c).
	OneRetry bool
	// NAKAfterRNR makes the responder send a sequence NAK for the request after the one that it
	// refused with an RNR NAK, as rxe does (check_psn in rxe_resp.c); otherwise it drops requests
	// silently until the refused one is retried.
	NAKAfterRNR bool
	// WholeRead makes a READ restart at its first PSN; otherwise only the rest is requested.
	WholeRead bool
	// Reaction is the maximum time from a NAK to the go-back. New requests are still sent until
	// then.
	Reaction time.Duration
	// AckDuplicates makes the responder acknowledge each duplicate SEND or WRITE packet;
	// otherwise only those with AckReq.
	AckDuplicates bool
}

// Rxe behaves like Linux rxe.
var Rxe = Device{OneRetry: true, NAKAfterRNR: true}

// NIC behaves like a hardware NIC.
var NIC = Device{Reaction: 3 * time.Microsecond, AckDuplicates: true}

func (c *Config) setDefaults() {
	setDefault(&c.Hosts, 2)
	setDefault(&c.MTU, 1024)
	setDefault(&c.Messages, 20)
	setDefault(&c.Depth, 4)
	setDefault(&c.Window, 64)
	setDefault(&c.MaxLen, 8<<10)
	setDefault(&c.AckEvery, 1)
	setDefault(&c.Think, 20*time.Microsecond)
	setDefault(&c.Timeout, 9)
	setDefault(&c.RNRTimer, 8)
	setDefault(&c.Before.Delay, 5*time.Microsecond)
	setDefault(&c.Behind.Delay, 5*time.Microsecond)
	if c.Verbs == (Verbs{}) {
		c.Verbs = Verbs{Send: 3, Write: 3, WriteImm: 1, Read: 3, Atomic: 1}
	}
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
