package bounce

// exchange is what the device of an end knows of its messages and the peer's. The client sends message 1, the server
// answers with its message 1, then the client sends message 2. A datagram has 8 bytes: the number of a message, and in
// the lowest bit whether it acknowledges that message or is the message.
type exchange struct {
	client bool
	acks   bool   // messages are acknowledged
	sent   uint64 // last message that was sent
	acked  uint64 // last one of them that the peer has for certain, where messages are acknowledged
	got    uint64 // last message of the peer
}

const ackBit = 1

// overWord is the content of a datagram with which a client that is done lets the server look at its TCP connection at
// once, and not after the time of patience. Messages begin with 1.
const overWord = 0

// messageWord and ackWord return the content of a datagram.
func messageWord(n uint64) uint64 { return n << 1 }
func ackWord(n uint64) uint64     { return n<<1 | ackBit }

// outcome is what a device has to do after a datagram.
type outcome struct {
	ack       bool // acknowledge the message of the datagram
	completed bool // the message sent last is with the peer
	delivered bool // the datagram is the next message of the peer
	again     bool // send the last message again: the peer does not have it
}

// receive takes in a datagram.
func (x *exchange) receive(word uint64) (o outcome) {
	n := word >> 1
	if word&ackBit != 0 {
		o.completed = x.complete(n)
		return o
	}
	switch {
	case n == x.got+1 && (!x.client || n == x.sent):
		// The message is an answer, so the peer has the last one of this end: its acknowledgement was lost if it did
		// not come.
		o.completed = x.complete(x.sent)
		x.got, o.delivered = n, true
	case n == x.got: // again; the client sends again what has no answer
		o.again = !x.client && x.sent == n
	default:
		return o
	}
	o.ack = x.acks
	return o
}

// complete notes that the peer has message n, and reports whether that is news of the last one.
func (x *exchange) complete(n uint64) bool {
	if !x.acks || n != x.sent || x.acked == n {
		return false
	}
	x.acked = n
	return true
}

// next returns the message that an end sends after it got message n, 0 being none.
func (x *exchange) next(n uint64) uint64 {
	if x.client {
		return n + 1
	}
	return n
}

// post notes that message n is sent, and reports whether it was not sent before.
func (x *exchange) post(n uint64) bool {
	if n <= x.sent {
		return false
	}
	x.sent = n
	return true
}

// unanswered reports whether this end has to send its last message again after some time.
func (x *exchange) unanswered() bool { return x.client && x.sent > x.got }
