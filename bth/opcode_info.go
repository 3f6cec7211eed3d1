package bth

// Service is the transport service an opcode belongs to.
type Service uint8

const (
	ServiceNone Service = iota // the opcode is not valid
	ServiceRC                  // Reliable Connection
	ServiceUC                  // Unreliable Connection
	ServiceUD                  // Unreliable Datagram
	ServiceCNP                 // congestion notification, for any queue pair
)

// String returns the service's name, such as "RC".
func (s Service) String() string { return name(serviceNames[:], s) }

var serviceNames = [...]string{"none", "RC", "UC", "UD", "CNP"}

// Operation is what a packet asks for or answers.
type Operation uint8

const (
	OpNone         Operation = iota // the opcode is not valid
	OpSend                          // SEND, with or without immediate or invalidate
	OpWrite                         // RDMA WRITE, with or without immediate
	OpReadRequest                   // RDMA READ request
	OpReadResponse                  // RDMA READ response; also answers FLUSH and ATOMIC WRITE
	OpAck                           // acknowledge: ACK, NAK or RNR NAK
	OpAtomicAck                     // atomic acknowledge
	OpCmpSwap                       // compare and swap
	OpFetchAdd                      // fetch and add
	OpFlush                         // FLUSH
	OpAtomicWrite                   // ATOMIC WRITE
	OpCNP                           // congestion notification
)

// String returns the operation's name, such as "RDMA_READ_REQUEST".
func (o Operation) String() string { return name(operationNames[:], o) }

var operationNames = [...]string{
	"none", "SEND", "RDMA_WRITE", "RDMA_READ_REQUEST", "RDMA_READ_RESPONSE", "ACKNOWLEDGE",
	"ATOMIC_ACKNOWLEDGE", "COMPARE_SWAP", "FETCH_ADD", "FLUSH", "ATOMIC_WRITE", "CNP",
}

// Position is where a packet stands in its message. Single-packet operations
// such as a READ request or an ACK are [Only].
type Position uint8

const (
	First Position = iota
	Middle
	Last
	Only
)

// String returns the position's name, such as "FIRST".
func (p Position) String() string { return name(positionNames[:], p) }

var positionNames = [...]string{"FIRST", "MIDDLE", "LAST", "ONLY"}

// OpcodeInfo is one entry of the opcode table.
type OpcodeInfo struct {
	Name      string    // IBA name, such as "RC_SEND_FIRST"
	Service   Service   // transport service
	Op        Operation // what the packet does
	Pos       Position  // where it stands in its message
	Headers   Headers   // extension headers after the BTH
	HeaderLen int       // bytes of BTH and extension headers
	Payload   bool      // a payload may follow the headers
	Valid     bool      // RoCEv2 carries the opcode
}

// Response reports whether the packet travels from responder to requester: a
// READ response, an acknowledge or an atomic acknowledge.
func (i *OpcodeInfo) Response() bool {
	return i.Op == OpReadResponse || i.Op == OpAck || i.Op == OpAtomicAck
}

// Request reports whether the packet travels from requester to responder. A
// CNP is neither request nor response.
func (i *OpcodeInfo) Request() bool {
	return i.Valid && i.Op != OpCNP && !i.Response()
}

// Starts reports whether the packet begins a message (FIRST or ONLY).
func (i *OpcodeInfo) Starts() bool { return i.Pos == First || i.Pos == Only }

// Ends reports whether the packet ends a message (LAST or ONLY).
func (i *OpcodeInfo) Ends() bool { return i.Pos == Last || i.Pos == Only }

func name[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}
