package bounce

// exchange is the protocol state of an end. The client sends message 1, the server answers with
// its message 1, then the client sends message 2. A datagram has 8 bytes: the number of a
// message, shifted by one bit, and a lowest bit that is set in an acknowledgement of the message.
type exchange struct {
	client bool
	acks   bool   // messages are acknowledged
	sent   uint64 // last message that was sent
	acked  uint64 // last message that the peer is known to have, if messages are acknowledged
	got    uint64 // last message of the peer
}

const ackBit = 1

// overWord is the content of a datagram by which a client that is done makes the server check its
// TCP connection at once instead of after recvTimeout. Message numbers begin with 1.
const overWord = 0

// messageWord and ackWord return the content of a datagram.
func messageWord(n uint64) uint64 { return n << 1 }
func ackWord(n uint64) uint64     { return n<<1 | ackBit }

// outcome is what a device must do after a datagram.
type outcome struct {
	ack       bool // acknowledge the message of the datagram
	completed bool // the peer has the message sent last
	delivered bool // the datagram is the next message of the peer
	again     bool // retransmit the last message: the peer does not have it
}

// receive processes a datagram.
func (x *exchange) receive(word uint64) (o outcome) {
	n := word >> 1
	if word&ackBit != 0 {
		o.completed = x.complete(n)
		return o
	}
	switch {
	case n == x.got+1 && (!x.client || n == x.sent):
		// The message is an answer, so the peer has the last message of this end, even if its
		// acknowledgement was lost.
		o.completed = x.complete(x.sent)
		x.got, o.delivered = n, true
	case n == x.got: // a duplicate: a client retransmits unanswered messages
		o.again = !x.client && x.sent == n
	default:
		return o
	}
	o.ack = x.acks
	return o
}

// complete records that the peer has message n, and reports whether n is the last message and
// this is new.
func (x *exchange) complete(n uint64) bool {
	if !x.acks || n != x.sent || x.acked == n {
		return false
	}
	x.acked = n
	return true
}

// next returns the message that an end sends after it received message n, 0: none.
func (x *exchange) next(n uint64) uint64 {
	if x.client {
		return n + 1
	}
	return n
}

// post records that message n is sent, and reports whether it is sent for the first time.
func (x *exchange) post(n uint64) bool {
	if n <= x.sent {
		return false
	}
	x.sent = n
	return true
}

// unanswered reports whether this end must retransmit its last message after some time.
func (x *exchange) unanswered() bool { return x.client && x.sent > x.got }
