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
