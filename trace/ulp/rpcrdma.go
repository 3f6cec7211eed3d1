package ulp

// Message types of RPC-over-RDMA version 1 (RFC 8166 section 4.2.4).
const (
	rdmaMsg   = 0 // the RPC message follows
	rdmaNoMsg = 1 // chunks have the RPC message
	rdmaMsgP  = 2 // as rdmaMsg, with padding; obsolete
	rdmaDone  = 3 // obsolete
	rdmaError = 4
)

var rdmaProcs = [...]string{"RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP", "RDMA_DONE", "RDMA_ERROR"}

// RPC constants (RFC 5531 section 9).
const (
	rpcCall    = 0
	rpcReply   = 1
	rpcVersion = 2
	nfsProgram = 100003

	maxAuthLen = 400 // maximum length of a credential or verifier
)

// maxSegments limits the segments of a header that are read; a header with more is not parsed
// beyond its chunk lists.
const maxSegments = 256

// rpcRDMA parses an RPC-over-RDMA message. All numbers are big-endian XDR.
func (p *PDU) rpcRDMA(r *reader) error {
	if r.n < 16 {
		return ErrHeader
	}
	if !r.has(16) {
		return ErrShort
	}
	r.under("RPC-over-RDMA")
	if r.be(4, 4, "") != 1 || number(r.b[12:16]) > rdmaError {
		return ErrHeader
	}
	p.ID, p.HasID = r.xbe(0, 4, "rdma_xid"), true
	r.be(4, 4, "rdma_vers")
	credits := r.be(8, 4, "rdma_credit")
	proc := r.be(12, 4, "rdma_proc")
	r.means(rdmaProcs[proc])
	switch proc {
	case rdmaError:
		p.Kind, p.Dialect = Response, "RPC"
		p.Status = Status{Known: true, Failed: true, Code: uint32(r.be(16, 4, "rdma_err")), Text: "RDMA_ERROR"}
		switch p.Status.Code {
		case 1:
			p.Status.Text = "ERR_VERS: version of RPC-over-RDMA not supported"
		case 2:
			p.Status.Text = "ERR_CHUNK: chunk list not supported"
		}
		return nil
	case rdmaDone:
		p.Kind, p.HasID, p.Command = Notice, false, "RDMA_DONE"
		return nil
	}
	at := 16
	if proc == rdmaMsgP {
		at += 8 // rdma_align, rdma_thresh
	}
	long, reply, at, ok := p.chunks(r, at)
	switch {
	case !ok:
		// The chunk lists do not fit into what was captured, or are not valid: nothing after them
		// can be found. The direction is unknown.
		p.Kind, p.HasID, p.Dialect = Notice, false, "RPC"
		if at < 0 {
			return ErrHeader
		}
		p.Command = "message"
		return nil
	case proc == rdmaNoMsg && long:
		p.Kind, p.Dialect, p.Command = Command, "RPC", "long call"
	case proc == rdmaNoMsg && reply:
		p.Kind, p.Dialect, p.Command = Response, "RPC", "long reply"
		p.numBuf, p.Omitted = 0, 0 // the segments are the client's, returned with their used lengths
	case proc == rdmaNoMsg:
		return ErrHeader
	default:
		return p.rpc(r, at, credits)
	}
	p.arg("credits", credits)
	return nil
}

// chunks parses the chunk lists at offset at. long reports a read chunk at position 0, which has
// the call itself; reply reports a reply chunk. next is the offset after the lists, -1 if they are
// not valid.
func (p *PDU) chunks(r *reader, at int) (long, reply bool, next int, ok bool) {
	segments := 0
	for {
		more, ok := r.present(at, "read list")
		if !ok {
			return long, false, badAt(r, at), false
		}
		at += 4
		if !more {
			break
		}
		if segments++; segments > maxSegments || !r.has(at+20) {
			return long, false, at, false
		}
		long = long || r.be(at, 4, "position") == 0
		at = p.segment(r, at+4, ForRead)
	}
	for {
		more, ok := r.present(at, "write list")
		if !ok {
			return long, false, badAt(r, at), false
		}
		at += 4
		if !more {
			break
		}
		if at, ok = p.writeChunk(r, at, &segments); !ok {
			return long, false, at, false
		}
	}
	reply, ok = r.present(at, "reply chunk")
	if !ok {
		return long, false, badAt(r, at), false
	}
	if at += 4; reply {
		if at, ok = p.writeChunk(r, at, &segments); !ok {
			return long, reply, at, false
		}
	}
	return long, reply, at, true
}

// badAt returns at if the word there was not captured, -1 if it has another value than a boolean.
func badAt(r *reader, at int) int {
	if r.has(at + 4) {
		return -1
	}
	return at
}

// present reads an XDR boolean.
func (r *reader) present(at int, name string) (is, ok bool) {
	if !r.has(at + 4) {
		return false, false
	}
	v := r.be(at, 4, name)
	return v == 1, v <= 1
}

// writeChunk parses an array of segments.
func (p *PDU) writeChunk(r *reader, at int, segments *int) (next int, ok bool) {
	if !r.has(at + 4) {
		return at, false
	}
	n := r.be(at, 4, "segments")
	at += 4
	for range n {
		if *segments++; *segments > maxSegments || !r.has(at+16) {
			return at, false
		}
		at = p.segment(r, at, ForWrite)
	}
	return at, true
}

// segment parses an RDMA segment and returns the offset after it.
func (p *PDU) segment(r *reader, at int, use Use) int {
	p.buffer(Buffer{Key: uint32(r.xbe(at, 4, "handle")), Length: uint32(r.be(at+4, 4, "length")),
		Address: r.xbe(at+8, 8, "offset"), Use: use})
	return at + 16
}

// rpc parses an RPC message at offset at (RFC 5531 section 9).
func (p *PDU) rpc(r *reader, at int, credits uint64) error {
	p.Dialect = "RPC"
	if !r.has(at + 8) {
		p.Kind, p.HasID, p.Command = Notice, false, "message"
		return nil
	}
	r.under("RPC")
	if number(r.b[at:at+4]) != p.ID {
		return ErrHeader
	}
	r.xbe(at, 4, "xid")
	kind := r.be(at+4, 4, "mtype")
	switch kind {
	case rpcCall:
		r.means("CALL")
		p.Kind = Command
		p.arg("credits", credits)
		return p.call(r, at+8)
	case rpcReply:
		r.means("REPLY")
		p.Kind = Response
		p.numBuf, p.Omitted = 0, 0 // chunks of the call, returned with the lengths that were used
		p.arg("credits", credits)
		p.reply(r, at+8)
		return nil
	}
	return ErrHeader
}

// call parses the body of a call.
func (p *PDU) call(r *reader, at int) error {
	if !r.has(at + 16) {
		p.Command = "call"
		return nil
	}
	if r.be(at, 4, "rpcvers") != rpcVersion {
		return ErrHeader
	}
	p.program = uint32(r.be(at+4, 4, "prog"))
	p.version = uint32(r.be(at+8, 4, "vers"))
	p.Code = uint32(r.be(at+12, 4, "proc"))
	at = r.auth(r.auth(at+16, "cred flavor", "cred length"), "verf flavor", "verf length")
	if p.program != nfsProgram {
		p.Command = "call"
		p.arg("program", uint64(p.program))
		p.arg("version", uint64(p.version))
		p.arg("procedure", uint64(p.Code))
		return nil
	}
	r.under("NFS")
	p.nfsCall(r, at)
	return nil
}

// auth skips a credential or verifier and returns the offset after it, or one after the captured
// bytes.
func (r *reader) auth(at int, flavor, length string) int {
	if !r.has(at + 8) {
		return len(r.b) + 1
	}
	r.be(at, 4, flavor)
	n := r.be(at+4, 4, length)
	if n > maxAuthLen {
		return len(r.b) + 1
	}
	return at + 8 + int(n+3)&^3
}

// reply parses the body of a reply.
func (p *PDU) reply(r *reader, at int) {
	if !r.has(at + 8) {
		return
	}
	if r.be(at, 4, "reply_stat") != 0 {
		r.means("MSG_DENIED")
		p.Status = Status{Known: true, Failed: true, Code: uint32(r.be(at+4, 4, "reject_stat")), Text: "MSG_DENIED"}
		return
	}
	at = r.auth(at+4, "verf flavor", "verf length")
	if !r.has(at + 4) {
		return
	}
	accepted := r.be(at, 4, "accept_stat")
	if accepted != 0 {
		p.Status = Status{Known: true, Failed: true, Code: uint32(accepted)}
		if accepted < uint64(len(acceptNames)) {
			p.Status.Text = acceptNames[accepted]
		}
		return
	}
	p.Status = Status{Known: true, Text: "SUCCESS"}
	if p.hasResult = r.has(at + 8); p.hasResult {
		p.result = uint32(number(r.b[at+4 : at+8]))
	}
}

// acceptNames are the values of accept_stat (RFC 5531 section 9).
var acceptNames = [...]string{"SUCCESS", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"}
