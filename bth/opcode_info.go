package bth

// Service is the transport service of an opcode.
type Service uint8

const (
	ServiceNone Service = iota // invalid opcode
	ServiceRC                  // Reliable Connection
	ServiceUC                  // Unreliable Connection
	ServiceUD                  // Unreliable Datagram
	ServiceCNP                 // congestion notification, to a queue pair of any service
)

// String returns the service's name, such as "RC".
func (s Service) String() string { return name(serviceNames[:], s) }

var serviceNames = [...]string{"none", "RC", "UC", "UD", "CNP"}

// Operation is the operation that a packet requests or responds to.
type Operation uint8

const (
	OpNone         Operation = iota // invalid opcode
	OpSend                          // SEND, with or without immediate or invalidate
	OpWrite                         // RDMA WRITE, with or without immediate
	OpReadRequest                   // RDMA READ request
	OpReadResponse                  // RDMA READ response; also answers FLUSH and ATOMIC WRITE
	OpAck                           // acknowledge: ACK, RNR NAK or NAK
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

// Position is the position of a packet in its message. Single-packet operations such as a READ
// request or an ACK are [Only].
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
	Op        Operation // operation
	Pos       Position  // position in the message
	Headers   Headers   // extension headers after the BTH
	HeaderLen int       // length of BTH and extension headers in bytes
	Payload   bool      // whether a payload may follow the headers
	Valid     bool      // whether RoCEv2 carries the opcode
}

// Response reports whether the responder sends the packet: a READ response, an acknowledge or
// an atomic acknowledge.
func (i *OpcodeInfo) Response() bool {
	return i.Op == OpReadResponse || i.Op == OpAck || i.Op == OpAtomicAck
}

// Request reports whether the requester sends the packet. A CNP is neither a request nor a
// response.
func (i *OpcodeInfo) Request() bool {
	return i.Valid && i.Op != OpCNP && !i.Response()
}

// Starts reports whether the packet is the first of a message (FIRST or ONLY).
func (i *OpcodeInfo) Starts() bool { return i.Pos == First || i.Pos == Only }

// Ends reports whether the packet is the last of a message (LAST or ONLY).
func (i *OpcodeInfo) Ends() bool { return i.Pos == Last || i.Pos == Only }

func name[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}
