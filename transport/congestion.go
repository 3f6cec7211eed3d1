package transport

// This file has the congestion control of a requester. The IBA has none for RoCEv2 except the
// reaction to CNPs (IBA A17.9.3): a requester may send up to 2^23 - 1 PSNs at once. The default
// control is a window like that of TCP (RFC 5681), with two differences. It starts at a size that a
// socket buffer can take instead of a few packets, and a NAK alone does not reduce it below that
// size.

// A Congestion controls how many PSNs one requester may have outstanding and when it may send.
// Each queue pair has its own. It has no clock. Its methods are called one at a time and must not
// block. PSNs are counted as in the send queue: one for each packet of a SEND or WRITE,
// one for each response packet of a READ.
type Congestion interface {
	// Start resets the control: the queue pair has entered RTS.
	Start(l WindowLimits)
	// OnSend reports that n request packets were sent, retransmissions included.
	OnSend(now Time, n uint32)
	// OnAck reports that the peer has acknowledged further PSNs.
	OnAck(now Time, a Ack)
	// OnLoss reports a NAK after which packets are sent again.
	OnLoss(now Time, l Loss)
	// OnTimeout reports that the local ACK timer has expired; outstanding is the number of PSNs
	// that are outstanding.
	OnTimeout(now Time, outstanding uint32)
	// OnCNP reports that the peer has sent a congestion notification packet (IBA A17.9.3). A
	// channel adapter with congestion management sends more slowly after it (IBA CA17-45) and
	// recovers without further CNPs (IBA CA17-46).
	OnCNP(now Time)
	// Window returns the maximum number of outstanding PSNs. A value below 1 means 1.
	Window() uint32
	// NotBefore returns the time before which no request packet may be sent, 0 for none. It does
	// not delay responses and acknowledgements. With it, a control can pace packets.
	NotBefore() Time
}

// WindowLimits are the initial window and its maximum, in PSNs. The initial window is the same
// for every peer.
type WindowLimits struct{ Initial, Max uint32 }

// An Ack is an acknowledgement that advanced the oldest outstanding PSN.
type Ack struct {
	PSNs        uint32 // number of PSNs that are no longer outstanding
	Limited     bool   // the whole window was outstanding at some time since the last Ack
	PeerHasRoom bool   // the peer may have room for more than the initial window: it is not Linux rxe
}

// A LossKind is the way in which the peer reported a loss.
type LossKind uint8

const (
	LossSequence LossKind = iota // a sequence NAK or an implied NAK
	LossRNR                      // an RNR NAK: the packet arrived, those behind it are dropped
)

// A Loss is a NAK after which packets are sent again.
type Loss struct {
	Kind        LossKind
	Outstanding uint32 // number of outstanding PSNs when the NAK arrived
	Repeated    uint32 // number of them that are sent again
}

// defaultCongestion is the default [Congestion]: a window that a timeout halves and that grows
// beyond its initial size while the peer keeps up.
type defaultCongestion struct {
	WindowLimits
	window uint32 // PSNs that may be outstanding

	limited bool   // the whole window was outstanding at some time since it last grew
	sawLoss bool   // a loss occurred: the window grows slowly
	acked   uint32 // PSNs acknowledged since the window last grew slowly

	round    uint32 // PSNs acknowledged in this round, which ends when a whole window is acknowledged
	repeated uint32 // PSNs sent again in this round

	sinceNAK uint32 // PSNs acknowledged since the last NAK
	vainNAKs uint8  // NAKs in a row with hardly anything acknowledged before each, up to maxVainNAKs
}

func (r *defaultCongestion) Start(l WindowLimits) {
	*r = defaultCongestion{WindowLimits: l, window: l.Initial}
}

func (r *defaultCongestion) OnSend(Time, uint32) {}

// OnAck opens the window by the number of PSNs acknowledged, up to the initial window, as in slow
// start (RFC 5681, section 3.1). Towards a peer that has room for more, a window that was full
// grows beyond its initial size: while goroutines at both ends sleep and are woken, more than the
// 128 PSNs of Linux rxe are in flight. A window that was not full does not grow, because its size
// was not tested (RFC 9002, section 7.8).
func (r *defaultCongestion) OnAck(_ Time, a Ack) {
	if r.round += a.PSNs; r.round >= r.window {
		r.round, r.repeated = 0, 0
	}
	r.limited = r.limited || a.Limited
	switch {
	case r.window < r.Initial:
		r.window = min(r.window+a.PSNs, r.Initial)
	case !r.limited || r.window >= r.Max || !a.PeerHasRoom:
	case !r.sawLoss:
		r.limited, r.window = false, min(r.window+a.PSNs, r.Max)
	default:
		if r.acked += a.PSNs; r.acked >= 4*r.window {
			r.limited, r.acked = false, 0
			r.window = min(r.window+r.step(), r.Max)
		}
	}
	r.sinceNAK += a.PSNs
}

// A NAK may cause all outstanding packets to be sent again, so a peer that acknowledges one packet
// with each NAK may get a whole window for each packet. Occasional loss does not change the window.
// The window is halved when maxVainNAKs NAKs in a row each find at most 1/vainFraction of what is
// outstanding acknowledged since the NAK before.
const (
	maxVainNAKs  = 8
	vainFraction = 4
)

// OnLoss reduces a window beyond the initial one to 0.7 times its size, as CUBIC does (RFC 9438,
// section 4.6), if more than half a step is sent again in one round. The peer then still receives,
// but may have less room than the window: if the window is one step larger than that room, each
// round loses a step. If fewer packets were lost, the cause was not the size of the window; BBR
// tolerates a part of a round too (draft-ietf-ccwg-bbr, BBRLossThresh). A single RNR NAK does not
// change the window: the packet was not lost.
func (r *defaultCongestion) OnLoss(_ Time, l Loss) {
	if vain := vainFraction*r.sinceNAK <= l.Outstanding; !vain {
		r.vainNAKs = 0
	} else if r.vainNAKs = min(r.vainNAKs+1, maxVainNAKs); r.vainNAKs == maxVainNAKs {
		r.halve(l.Outstanding)
	}
	r.sinceNAK = 0
	if l.Kind == LossRNR {
		return
	}
	r.sawLoss = true
	if r.repeated += l.Repeated; 2*r.repeated <= r.step() {
		return
	}
	r.acked, r.repeated = 0, 0
	if r.window > r.Initial {
		less := r.window * 7 / 10
		r.window = max(r.Initial, less-less%r.step())
	}
}

// OnTimeout halves the window: not even the last outstanding packet was answered, so the peer, or a
// node on the path, may be receiving less than it is sent. TCP sets its slow start threshold to
// half of the outstanding data and its window to one segment (RFC 5681, section 3.1). Here the
// window continues from half.
func (r *defaultCongestion) OnTimeout(_ Time, outstanding uint32) { r.halve(outstanding) }

// halve sets the window to half of the outstanding PSNs, at least 1. The outstanding PSNs are
// halved, and not the window, because a window that was not full says nothing about the path.
func (r *defaultCongestion) halve(outstanding uint32) {
	r.window, r.sawLoss = max(1, outstanding/2), true
}

// OnCNP does nothing: this control does not support congestion management, which is optional.
// Linux rxe ignores CNPs too.
func (r *defaultCongestion) OnCNP(Time) {}

func (r *defaultCongestion) Window() uint32 { return r.window }

// NotBefore returns 0: the window is the only limit, and packets are not paced.
func (r *defaultCongestion) NotBefore() Time { return 0 }

// step returns the number of PSNs by which a window beyond the initial one changes: with the
// default Config, 64 KiB of payload in packets of the largest size. Most long messages are
// multiples of 64 KiB, and a message that the window splits costs the host another datagram.
func (r *defaultCongestion) step() uint32 { return max(1, r.Initial/4) }
