package ulp

import "time"

// Bounds of the commands that sessions follow. The oldest command is forgotten first.
const (
	MaxCommands   = 512     // outstanding commands of a session
	minCommands   = 4       // commands that each session may have in any case
	TotalCommands = 1 << 15 // commands of all sessions with one Budget, if some have more
)

// Budget counts the commands that the sessions of one analysis follow.
type Budget struct{ commands int }

// Commands returns the number of commands.
func (b *Budget) Commands() int { return b.commands }

// Session follows the upper-layer protocol of one connection: it pairs responses with their
// commands, and WRITEs and READs with the command whose buffer they access. The ends of the
// connection are 0 and 1.
type Session struct {
	proto    Protocol
	client   int        // end that requested the connection
	queue    int        // NVMe queue ID, -1 if unknown
	more     [2]bool    // the next SEND of the end continues the one before it
	commands []*command // outstanding, oldest first
	budget   *Budget
}

// command is a command without a response so far.
type command struct {
	from    int // end that sent it
	pdu     PDU
	message int
	frame   int
	at      time.Time
}

// NewSession returns a Session for a connection whose protocol is known; client is the end that
// requested the connection. Sessions that share a Budget must be closed.
func NewSession(proto Protocol, client int, b *Budget) *Session {
	return &Session{proto: proto, client: client, queue: -1, budget: b}
}

// FromREQ returns a Session for a connection of which end 0 sent a REQ to the given port in the
// port space TCP, with private data. It returns nil if they do not show the protocol. The port
// decides; the private data of NVMe over Fabrics must be valid, too. At any port, the private data
// of RPC-over-RDMA decide, whose format identifier is unique.
func FromREQ(port uint16, private []byte, b *Budget) *Session {
	var p PDU
	switch proto := ByPort(port); proto {
	case None:
		if p.DecodePrivate(NFS, Request, private) == nil {
			return NewSession(NFS, 0, b)
		}
	case NVMe:
		if p.DecodePrivate(NVMe, Request, private) == nil {
			s := NewSession(NVMe, 0, b)
			s.setQueue(&p)
			return s
		}
	default:
		return NewSession(proto, 0, b)
	}
	return nil
}

// FromSEND returns a Session for a connection of which end from sent the SEND b of n bytes, or nil
// if that does not show the protocol; see [Detect].
func FromSEND(from int, b []byte, n int, budget *Budget) *Session {
	proto := Detect(b, n)
	if proto == None {
		return nil
	}
	if !FromClient(proto, b, n) {
		from = 1 - from
	}
	return NewSession(proto, from, budget)
}

// Outstanding returns the number of commands without a response.
func (s *Session) Outstanding() int { return len(s.commands) }

// Protocol returns the protocol.
func (s *Session) Protocol() Protocol { return s.proto }

func (s *Session) setQueue(p *PDU) {
	if q, ok := p.Arg("QID"); ok && s.proto == NVMe {
		s.queue = int(q)
	}
}

// Sent describes a SEND.
type Sent struct {
	From       int       // end that sent it
	Payload    []byte    // its captured beginning
	Length     int       // bytes, or UnknownLen
	Message    int       // number of the message
	Frame      int       // number of its first frame
	At         time.Time // time of that frame; zero if unknown
	Invalidate bool      // it invalidates Key
	Key        uint32
}

// Send returns the role of a SEND, or nil if it has no valid header. Sends must be passed in order,
// without retransmissions.
func (s *Session) Send(x *Sent) *Role {
	u := &Role{Context: Context{Client: x.From == s.client, Queue: s.queue, Continued: s.more[x.From]}}
	s.more[x.From] = false
	p := &u.PDU
	if p.Decode(s.proto, u.Context, x.Payload, x.Length) != nil {
		return nil
	}
	s.more[x.From] = p.More > 0
	switch p.Kind {
	case Command:
		s.outstanding(&command{x.From, *p, x.Message, x.Frame, x.At})
		s.setQueue(p)
	case Response:
		if i := s.find(1-x.From, p.ID); i >= 0 {
			u.answers(s.commands[i], x)
			s.forget(i)
		}
	case Interim:
		if i := s.find(1-x.From, p.ID); i >= 0 {
			p.Answers(&s.commands[i].pdu)
		}
	}
	return u
}

// answers makes u, the role of the SEND x, the response to c.
func (u *Role) answers(c *command, x *Sent) {
	u.PDU.Answers(&c.pdu)
	u.Message, u.Frame = c.message, c.frame
	if d := x.At.Sub(c.at); !x.At.IsZero() && !c.at.IsZero() && d >= 0 && d < 1<<63-1 {
		u.Latency, u.HasLatency = d, true
	}
	for _, b := range c.pdu.Buffers() {
		u.Invalidates = u.Invalidates || x.Invalidate && b.Key == x.Key
	}
}

// Transfer returns the role of a WRITE, or else a READ, of n bytes at address with the given key
// that end from requests: the latest outstanding command of the other end with a buffer that
// contains the range. It returns nil if there is none.
func (s *Session) Transfer(from int, write bool, address, n uint64, key uint32) *Role {
	not := ForWrite
	if write {
		not = ForRead
	}
	for i := len(s.commands) - 1; i >= 0; i-- {
		c := s.commands[i]
		if c.from == from {
			continue
		}
		for j := range c.pdu.numBuf {
			if b := &c.pdu.buffers[j]; b.Key == key && b.Use != not && b.Contains(address, n) {
				return &Role{Transfer: true, Message: c.message, Frame: c.frame, PDU: PDU{
					Protocol: s.proto, Kind: Command, Dialect: c.pdu.Dialect, Command: c.pdu.Command,
					Code: c.pdu.Code, ID: c.pdu.ID, HasID: true,
				}}
			}
		}
	}
	return nil
}

// find returns the index of the command with the given ID that end from sent, or -1.
func (s *Session) find(from int, id uint64) int {
	for i, c := range s.commands {
		if c.pdu.ID == id && c.from == from {
			return i
		}
	}
	return -1
}

// outstanding adds x to the commands. It replaces an older command with the same ID, whose response
// was not captured, and forgets the oldest commands beyond the limits.
func (s *Session) outstanding(x *command) {
	if i := s.find(x.from, x.pdu.ID); i >= 0 {
		s.forget(i)
	}
	s.commands = append(s.commands, x)
	s.budget.commands++
	for n := len(s.commands); n > MaxCommands || n > minCommands && s.budget.commands > TotalCommands; n-- {
		s.forget(0)
	}
}

// forget removes the i-th command.
func (s *Session) forget(i int) {
	n := len(s.commands) - 1
	copy(s.commands[i:], s.commands[i+1:])
	s.commands[n] = nil
	s.commands = s.commands[:n]
	s.budget.commands--
}

// Close forgets all commands.
func (s *Session) Close() {
	s.budget.commands -= len(s.commands)
	s.commands = nil
}

// SwapEnds exchanges the numbers of the two ends.
func (s *Session) SwapEnds() {
	s.client = 1 - s.client
	s.more[0], s.more[1] = s.more[1], s.more[0]
	for _, c := range s.commands {
		c.from = 1 - c.from
	}
}
