package ulp

import "strconv"

// Limits of what a [PDU] holds. A header can have more; the rest is counted in PDU.Omitted or left
// out.
const (
	MaxBuffers = 8 // remote buffers
	MaxArgs    = 4 // arguments
)

// PDU is the header of a SEND: a command or its response. Its texts are constants of this package.
type PDU struct {
	Protocol Protocol
	Kind     Kind
	Dialect  string // command set or version, such as "I/O" or "NFSv4.1"; "" if there is none
	Command  string // such as "Read"; "" if unknown
	// Code is the number of the command in its dialect.
	Code uint32
	// ID pairs a command with its response: NVMe CID, iSCSI ITT, SMB2 MessageId, RPC XID. HasID is
	// false if the PDU expects no response and is none.
	ID    uint64
	HasID bool
	// Length is the number of data bytes that the command transfers, if HasLength.
	Length    uint64
	HasLength bool
	Status    Status // of a response

	args    [MaxArgs]Arg
	numArgs int
	buffers [MaxBuffers]Buffer
	numBuf  int
	Omitted int // remote buffers beyond MaxBuffers

	// More is the number of bytes of the SMB2 message that the following SENDs carry.
	More uint32

	program, version uint32 // of an RPC call
	result           uint32 // first word of the results of an RPC reply
	hasResult        bool
}

// Kind is the role of a PDU.
type Kind uint8

const (
	Notice   Kind = iota // has no response and is none, such as negotiation or an event
	Command              // expects a Response with the same ID
	Response             // ends the Command with the same ID
	Interim              // tells that the Response with the same ID comes later
	Data                 // continues the SEND before it
)

var kindNames = [...]string{"notice", "command", "response", "interim", "data"}

// String returns the name in lower case.
func (k Kind) String() string { return kindNames[min(k, Data)] }

// Status is the result in a response.
type Status struct {
	Known  bool   // the response has a status
	Failed bool   // it is an error
	Code   uint32 // as on the wire; for NVMe, status code type and status code (SCT<<8 | SC)
	Text   string // name; "" if the code is unknown
}

// Append appends the name of the status, or its code, to b.
func (s Status) Append(b []byte) []byte {
	if s.Text != "" {
		return append(b, s.Text...)
	}
	return appendHex(append(b, "status "...), uint64(s.Code))
}

// Arg is an argument of a command, or a value in a response or in private data.
type Arg struct {
	Name  string
	Value uint64
	Hex   bool // shown in hexadecimal
}

// Use tells what the peer does with a remote buffer.
type Use uint8

const (
	AnyUse   Use = iota // unknown
	ForWrite            // the peer WRITEs to it
	ForRead             // the peer READs from it
)

// Buffer is a remote buffer that a command advertises: the memory of its sender.
type Buffer struct {
	Address uint64
	Length  uint32
	Key     uint32 // R_Key or STag
	Use     Use
}

// Contains reports whether the range of n bytes at address is in the buffer.
func (b *Buffer) Contains(address, n uint64) bool {
	return address >= b.Address && n <= uint64(b.Length) && address-b.Address <= uint64(b.Length)-n
}

// Args returns the arguments, valid as long as p.
func (p *PDU) Args() []Arg { return p.args[:p.numArgs] }

// Buffers returns the remote buffers, valid as long as p.
func (p *PDU) Buffers() []Buffer { return p.buffers[:p.numBuf] }

// Arg returns the argument with the given name.
func (p *PDU) Arg(name string) (value uint64, ok bool) {
	for _, a := range p.Args() {
		if a.Name == name {
			return a.Value, true
		}
	}
	return 0, false
}

func (p *PDU) arg(name string, value uint64) {
	if p.numArgs < MaxArgs {
		p.args[p.numArgs] = Arg{Name: name, Value: value}
		p.numArgs++
	}
}

func (p *PDU) hexArg(name string, value uint64) {
	if p.arg(name, value); p.numArgs > 0 {
		p.args[p.numArgs-1].Hex = true
	}
}

func (p *PDU) buffer(b Buffer) {
	switch {
	case b.Length == 0:
	case p.numBuf < MaxBuffers:
		p.buffers[p.numBuf] = b
		p.numBuf++
	default:
		p.Omitted++
	}
}

func (p *PDU) length(n uint64) { p.Length, p.HasLength = n, true }

// Answers completes the response p with what only its command c tells: the name of the command,
// and how to read the status.
func (p *PDU) Answers(c *PDU) {
	p.Dialect, p.Command, p.Code = c.Dialect, c.Command, c.Code
	if p.Protocol == NFS {
		p.answersCall(c)
	}
}

// AppendName appends the protocol, the dialect, the command and the ID to b, such as "NVMe-oF I/O
// Read, CID 5".
func (p *PDU) AppendName(b []byte) []byte {
	b = append(b, p.Protocol.String()...)
	if p.Dialect != "" {
		b = append(append(b, ' '), p.Dialect...)
	}
	switch {
	case p.Command != "":
		b = append(append(b, ' '), p.Command...)
	case p.Kind == Command:
		b = appendHex(append(b, " command "...), uint64(p.Code))
	}
	if p.Kind == Response && p.HasID {
		b = append(b, " response"...)
	}
	if p.HasID {
		b = append(b, ", "...)
		b = p.appendID(b)
	}
	return b
}

func (p *PDU) appendID(b []byte) []byte {
	switch p.Protocol {
	case ISER:
		return appendHex(append(b, "ITT "...), p.ID)
	case SMBDirect:
		return strconv.AppendUint(append(b, "MessageId "...), p.ID, 10)
	case NFS:
		return appendHex(append(b, "XID "...), p.ID)
	}
	return strconv.AppendUint(append(b, "CID "...), p.ID, 10)
}

// Append appends p as one line of text to b, such as "NVMe-oF I/O Read, CID 5, NSID 1, LBA 2048,
// blocks 8, 4096 bytes; expects WRITE of 4096 bytes to 0x1000, key 0x77".
func (p *PDU) Append(b []byte) []byte {
	b = p.AppendName(b)
	for _, a := range p.Args() {
		b = append(append(append(b, ", "...), a.Name...), ' ')
		if a.Hex {
			b = appendHex(b, a.Value)
		} else {
			b = strconv.AppendUint(b, a.Value, 10)
		}
	}
	if p.HasLength {
		b = append(strconv.AppendUint(append(b, ", "...), p.Length, 10), " bytes"...)
	}
	if p.Kind == Interim {
		b = append(b, ", response comes later"...)
	}
	if p.Status.Known {
		b = p.Status.Append(append(b, ": "...))
	}
	for _, u := range p.Buffers() {
		b = strconv.AppendUint(append(b, useTexts[min(u.Use, ForRead)]...), uint64(u.Length), 10)
		b = append(b, useWhere[min(u.Use, ForRead)]...)
		b = appendHex(b, u.Address)
		b = appendHex(append(b, ", key "...), uint64(u.Key))
	}
	if p.Omitted > 0 {
		b = append(strconv.AppendInt(append(b, "; "...), int64(p.Omitted), 10), " more buffers"...)
	}
	return b
}

var (
	useTexts = [...]string{AnyUse: "; buffer of ", ForWrite: "; expects WRITE of ", ForRead: "; expects READ of "}
	useWhere = [...]string{AnyUse: " bytes at ", ForWrite: " bytes to ", ForRead: " bytes at "}
)

// String returns the line of Append.
func (p *PDU) String() string { return string(p.Append(nil)) }

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

func appendHex(b []byte, v uint64) []byte { return strconv.AppendUint(append(b, "0x"...), v, 16) }
