package gobackn

import "github.com/gorxe/gorxe/bth"

// Result is the capture with the truth about it.
type Result struct {
	Config  Config
	Frames  []Frame // in order of capture
	Conns   []*Conn
	GoBacks []*GoBack
	Sent    []*Sent // all packets, in order of sending
	// Idle reports whether all messages completed. Otherwise the simulation reached its limit on
	// events.
	Idle bool
}

// Conn is a connection.
type Conn struct {
	Number int
	Ends   [2]End
}

// End is one queue pair of a connection.
type End struct {
	Host  int
	QPN   bth.QPN
	Port  uint16  // UDP source port
	Start bth.PSN // first PSN of its requests

	// Messages are the messages that the end requested, in order.
	Messages []*Message
}

// Message is a work request.
type Message struct {
	Verb  Verb
	First bth.PSN
	PSNs  int
	Len   int
	Done  int64 // time of completion, 0: none
	By    *Sent // response that completed it

	got   int // PSNs answered with data, of a READ or atomic
	index int
}

// End returns the PSN after the message.
func (m *Message) End() bth.PSN { return m.First.Add(uint32(m.PSNs)) }

// Verb is the operation of a message.
type Verb uint8

const (
	Send Verb = iota
	Write
	WriteImm
	Read
	Atomic
)

// Data reports whether the responses carry data.
func (v Verb) Data() bool { return v == Read || v == Atomic }

// Frame is a captured packet.
type Frame struct {
	Time int64 // nanoseconds since the start
	CE   bool
	Copy bool // a copy that the network made
	// Late reports whether the network delayed the packet or copy so that others can overtake it.
	Late bool
	*Sent
}

// Sent is a packet that a queue pair sent.
type Sent struct {
	Time    int64
	Conn    *Conn
	From    int // index in Conn.Ends
	Opcode  bth.Opcode
	PSN     bth.PSN
	AckReq  bool
	Len     int // payload bytes
	DMALen  int // of a WRITE or READ
	AETH    bth.AETH
	ID      uint16   // IP identification
	Message *Message // of a request, READ response or atomic response
	Again   bool     // the requester had sent this PSN before, or a READ request that includes it
	GoBack  *GoBack  // go-back that a retransmission belongs to

	Frames    []int // numbers of the frames that captured it, from 1
	Passed    bool  // it reached the capture point, even if the capture missed it
	Delivered int   // number of times that it arrived

	marked [3]bool // ECN marks of the original and of copies
}

// Lost reports whether no copy arrived.
func (s *Sent) Lost() bool { return s.Delivered == 0 }

// Captured returns the number of the first frame that captured it, 0 if none did.
func (s *Sent) Captured() int {
	if len(s.Frames) == 0 {
		return 0
	}
	return s.Frames[0]
}

// Request reports whether the packet is a request.
func (s *Sent) Request() bool { return s.Opcode.Info().Request() }

// Requester returns the index of the end whose requests the packet belongs to or answers.
func (s *Sent) Requester() int {
	if s.Request() {
		return s.From
	}
	return 1 - s.From
}

// GoBack is a retransmission of everything from a PSN on.
type GoBack struct {
	Conn  *Conn
	From  int // index in Conn.Ends of the requester
	Cause Cause
	Event *Sent // packet that caused it; nil for a timeout
	To    bth.PSN
	Until bth.PSN // PSN from which on packets are new
	Time  int64   // of its first packet
	First *Sent   // its first packet
}

// Cause is the event that began a go-back.
type Cause uint8

const (
	Timeout Cause = iota
	SequenceNAK
	RNRNAK
	ImpliedNAK
)

func (c Cause) String() string {
	return [...]string{"timeout", "sequence NAK", "RNR NAK", "implied NAK"}[c]
}
