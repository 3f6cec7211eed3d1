package transport

// A Congestion controls how much one requester may have outstanding and how soon it sends. It is a
// value of one queue pair: it has no clock of its own, is called under the lock of the queue pair,
// and must not block. PSNs are counted as in the send queue: one for each packet of a SEND or WRITE,
// one for each response packet of a READ.
type Congestion interface {
	// Start begins anew: the queue pair has come to RTS.
	Start(l WindowLimits)
	// OnSend tells that n request packets have left, new ones or again.
	OnSend(now Time, n uint32)
	// OnAck tells that the peer has acknowledged more than before.
	OnAck(now Time, a Ack)
	// OnLoss tells that the peer has asked for packets to be sent again.
	OnLoss(now Time, l Loss)
	// OnTimeout tells that the local ACK timer has expired while so many PSNs were outstanding.
	OnTimeout(now Time, outstanding uint32)
	// OnCNP tells that the peer has sent a congestion notification packet (IBA A17.9.3).
	OnCNP(now Time)
	// Window returns how many PSNs may be outstanding. Less than 1 counts as 1.
	Window() uint32
	// NotBefore returns the time before which no request packet leaves, 0 for none: responses and
	// acknowledgements leave all the same.
	NotBefore() Time
}

// WindowLimits are the window in PSNs that every peer is granted, and that to which it may grow.
type WindowLimits struct{ Initial, Max uint32 }

// An Ack is an acknowledgement that moved the oldest outstanding PSN.
type Ack struct {
	PSNs    uint32 // that are no longer outstanding
	Limited bool   // all of the window was outstanding at some time since the last Ack
	Grows   bool   // the peer has room for more than the initial window; Linux rxe has not
}

// A LossKind says how the peer told of a loss.
type LossKind uint8

const (
	LossSequence LossKind = iota // a sequence NAK, or a READ response that was missing
	LossNotReady                 // an RNR NAK: the packet had come, and everything behind it is dropped
)

// A Loss is a NAK after which packets are sent again.
type Loss struct {
	Kind        LossKind
	Outstanding uint32 // PSNs when it came
}

// windowRules are the [Congestion] that a requester has unless its [Config] says otherwise: a window
// that a timeout halves, and that grows beyond its initial size while the peer keeps up.
type windowRules struct {
	WindowLimits
	window uint32 // PSNs that may be outstanding

	limited bool   // all of the window was outstanding
	lost    bool   // something was lost: the window grows slowly
	acked   uint32 // PSNs since it last grew slowly

	sinceNAK uint32 // PSNs acknowledged since the last NAK
	vainNAKs uint8  // NAKs in a row that found hardly anything acknowledged, at most maxVainNAKs
}

func (r *windowRules) Start(l WindowLimits) { *r = windowRules{WindowLimits: l, window: l.Initial} }

func (r *windowRules) OnSend(Time, uint32) {}

// OnAck lets as many more PSNs be outstanding as were acknowledged, up to the initial window. A
// window that was all outstanding, and that the peer has room for, grows beyond: what is under way
// while both ends sleep and are woken is more than a window of rxe's.
func (r *windowRules) OnAck(_ Time, a Ack) {
	r.limited = r.limited || a.Limited
	switch {
	case r.window < r.Initial:
		r.window = min(r.window+a.PSNs, r.Initial)
	case !r.limited || r.window >= r.Max || !a.Grows:
	case !r.lost:
		r.limited, r.window = false, min(r.window+a.PSNs, r.Max)
	default:
		if r.acked += a.PSNs; r.acked >= 4*r.window {
			r.limited, r.acked = false, 0
			r.window = min(r.window+r.step(), r.Max)
		}
	}
	r.sinceNAK += a.PSNs
}

// A NAK has everything sent again that is outstanding, so a peer that acknowledges a packet with each
// of its NAKs gets a window of them for it. The window stays while that is a loss now and then. It is
// halved when maxVainNAKs NAKs in a row found not more than a part of what was outstanding
// acknowledged since the one before.
const (
	maxVainNAKs = 8
	vainPart    = 4
)

// OnLoss lets a window beyond the initial one shrink to 0.7 times its size, as CUBIC does (RFC 9438, section 4.6): the peer hears,
// but may have room for less than it was sent.
func (r *windowRules) OnLoss(_ Time, l Loss) {
	if vain := vainPart*r.sinceNAK <= l.Outstanding; !vain {
		r.vainNAKs = 0
	} else if r.vainNAKs = min(r.vainNAKs+1, maxVainNAKs); r.vainNAKs == maxVainNAKs {
		r.halve(l.Outstanding)
	}
	r.sinceNAK = 0
	if l.Kind == LossNotReady {
		return
	}
	r.lost, r.acked = true, 0
	if r.window > r.Initial {
		less := r.window * 7 / 10
		r.window = max(r.Initial, less-less%r.step())
	}
}

// OnTimeout halves the window: not even the last of what was outstanding was answered, so the peer,
// or something on the way to it, may be taking less than it is sent.
func (r *windowRules) OnTimeout(_ Time, outstanding uint32) { r.halve(outstanding) }

func (r *windowRules) halve(outstanding uint32) {
	r.window, r.lost = max(1, outstanding/2), true
}

func (r *windowRules) OnCNP(Time) {}

func (r *windowRules) Window() uint32 { return r.window }

func (r *windowRules) NotBefore() Time { return 0 }

// step is what a window beyond the initial one changes by: 64 KiB of the longest packets. A message
// that the window cuts in two takes the host another datagram, and most long ones are multiples of
// that.
func (r *windowRules) step() uint32 { return max(1, r.Initial/4) }
