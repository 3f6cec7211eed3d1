package ulp

// Lengths in bytes.
const (
	iserHeaderLen = 28 // iSER control header for InfiniBand (RFC 7145 section 9.1)
	iscsiBHSLen   = 48 // basic header segment (RFC 7143 section 11.2)
)

// iSER header types in the upper four bits of the first byte (RFC 7145 section 9).
const (
	iserControl    = 0x1 // followed by an iSCSI control-type PDU
	iserHello      = 0x2
	iserHelloReply = 0x3
)

// Flags in the lower four bits of a control header (RFC 7145 section 9.2).
const (
	iserWSV = 0x8 // the Write STag is valid
	iserRSV = 0x4 // the Read STag is valid
)

// iscsiNoTag is the reserved initiator task tag of PDUs without a response (RFC 7143).
const iscsiNoTag = 0xffffffff

// iSCSI opcodes (RFC 7143 section 11.2.1.2).
const (
	iscsiNopOut        = 0x00
	iscsiCommand       = 0x01
	iscsiTaskMgmt      = 0x02
	iscsiLogin         = 0x03
	iscsiText          = 0x04
	iscsiLogout        = 0x06
	iscsiNopIn         = 0x20
	iscsiResponse      = 0x21
	iscsiTaskMgmtReply = 0x22
	iscsiLoginReply    = 0x23
	iscsiTextReply     = 0x24
	iscsiLogoutReply   = 0x26
	iscsiReject        = 0x3f
)

var iscsiNames = [64]string{
	iscsiNopOut: "NOP-Out", iscsiCommand: "SCSI Command", iscsiTaskMgmt: "Task Management", iscsiLogin: "Login",
	iscsiText: "Text", 0x05: "SCSI Data-Out", iscsiLogout: "Logout", 0x10: "SNACK",
	iscsiNopIn: "NOP-In", iscsiResponse: "SCSI", iscsiTaskMgmtReply: "Task Management",
	iscsiLoginReply: "Login", iscsiTextReply: "Text", 0x25: "SCSI Data-In", iscsiLogoutReply: "Logout",
	0x31: "Ready To Transfer", 0x32: "Asynchronous Message", iscsiReject: "Reject",
}

// iser parses an iSER message.
func (p *PDU) iser(r *reader) error {
	if !r.has(4) {
		return ErrShort
	}
	switch r.b[0] >> 4 {
	case iserControl:
		return p.iserPDU(r)
	case iserHello, iserHelloReply: // for iWARP; the Hello exchange is not used over InfiniBand
		r.under("iSER header")
		p.Code = uint32(r.xbe(0, 1, "Opcode and Flags"))
		r.be(1, 1, "MaxVer and MinVer")
		p.Command = "Hello"
		if p.Code>>4 == iserHelloReply {
			p.Command = "HelloReply"
		}
		return nil
	}
	return ErrHeader
}

// iserPDU parses a control header and the iSCSI PDU after it.
func (p *PDU) iserPDU(r *reader) error {
	if r.b[0]&3 != 0 || !r.zero(1, 4) || r.n < iserHeaderLen+iscsiBHSLen {
		return ErrHeader
	}
	if !r.has(iserHeaderLen + iscsiBHSLen) {
		return ErrShort
	}
	r.under("iSER header")
	flags := r.xbe(0, 1, "Opcode and Flags")
	w := Buffer{Key: uint32(r.xbe(4, 4, "Write STag")), Address: r.xbe(8, 8, "Write Base Offset"), Use: ForRead}
	d := Buffer{Key: uint32(r.xbe(16, 4, "Read STag")), Address: r.xbe(20, 8, "Read Base Offset"), Use: ForWrite}

	const at = iserHeaderLen
	r.under("iSCSI BHS")
	op := r.xbe(at, 1, "Opcode") & 0x3f
	p.Code, p.Dialect, p.Command = uint32(op), "iSCSI", iscsiNames[op]
	if p.Command == "" {
		return ErrHeader
	}
	r.means(p.Command)
	r.xbe(at+1, 1, "Flags")
	if op == iscsiResponse {
		r.xbe(at+2, 1, "Response")
		p.Status = scsiStatus(uint8(r.xbe(at+3, 1, "Status")), r.b[at+2])
		r.means(p.Status.Text)
	}
	r.be(at+4, 1, "TotalAHSLength")
	r.be(at+5, 3, "DataSegmentLength")
	if op == iscsiCommand {
		r.xbe(at+8, 8, "LUN")
	}
	p.ID = r.xbe(at+16, 4, "InitiatorTaskTag")
	p.HasID = p.ID != iscsiNoTag
	switch op {
	case iscsiCommand:
		p.scsi(r, at, flags, w, d)
	case iscsiLoginReply:
		p.Status = loginStatus(uint32(r.xbe(at+36, 2, "Status-Class and Status-Detail")))
		r.means(p.Status.Text)
	}
	switch {
	case !p.HasID:
		p.Kind = Notice
	case op < 0x20:
		p.Kind = Command
	case op == iscsiReject || op == 0x25 || op == 0x31 || op == 0x32:
		p.Kind, p.HasID = Notice, false
	default:
		p.Kind = Response
	}
	return nil
}

// scsi reads the rest of a SCSI Command (RFC 7143 section 11.3), whose BHS is at offset at.
func (p *PDU) scsi(r *reader, at int, flags uint64, w, d Buffer) {
	n := r.be(at+20, 4, "ExpectedDataTransferLength")
	r.be(at+24, 4, "CmdSN")
	p.Dialect = "SCSI"
	p.Code = uint32(r.xbe(at+32, 1, "CDB, operation code"))
	p.Command = scsiNames[p.Code]
	r.means(p.Command)
	if n > 0 {
		p.length(n)
	}
	// A bidirectional command has its read length in an AHS: the length of that buffer is unknown.
	w.Length, d.Length = uint32(n), uint32(n)
	if flags&iserWSV != 0 {
		p.buffer(w)
	}
	if flags&iserRSV != 0 {
		p.buffer(d)
	}
	cdb := r.b[at+32:]
	switch p.Code {
	case 0x28, 0x2a, 0x2e, 0x2f:
		p.arg("LBA", number(cdb[2:6]))
		p.arg("blocks", number(cdb[7:9]))
	case 0x88, 0x8a, 0x8e, 0x8f:
		p.arg("LBA", number(cdb[2:10]))
		p.arg("blocks", number(cdb[10:14]))
	}
}

// number reads a big-endian number.
func number(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// scsiStatus returns the status of a SCSI Response: the SCSI status, if the response code is 0
// (command completed at target).
func scsiStatus(status, response uint8) Status {
	if response != 0 {
		return Status{Known: true, Failed: true, Code: uint32(response) << 8, Text: "Target Failure"}
	}
	return Status{Known: true, Failed: status != 0, Code: uint32(status), Text: scsiStatusNames[status]}
}

// loginStatus returns the status of a Login Response: class<<8 | detail (RFC 7143 section
// 11.13.5).
func loginStatus(code uint32) Status {
	s := Status{Known: true, Failed: code>>8 != 0, Code: code, Text: loginNames[code]}
	return s
}

var loginNames = map[uint32]string{
	0x0000: "Success", 0x0101: "Target moved temporarily", 0x0102: "Target moved permanently",
	0x0200: "Initiator error", 0x0201: "Authentication failure", 0x0202: "Authorization failure",
	0x0203: "Not found", 0x0204: "Target removed", 0x0205: "Unsupported version",
	0x0206: "Too many connections", 0x0207: "Missing parameter", 0x0208: "Cannot include in session",
	0x0209: "Session type not supported", 0x020a: "Session does not exist",
	0x020b: "Invalid during login", 0x0300: "Target error", 0x0301: "Service unavailable",
	0x0302: "Out of resources",
}

// scsiStatusNames are the status codes of SAM-5 section 5.3.1.
var scsiStatusNames = [256]string{
	0x00: "GOOD", 0x02: "CHECK CONDITION", 0x04: "CONDITION MET", 0x08: "BUSY", 0x18: "RESERVATION CONFLICT",
	0x28: "TASK SET FULL", 0x30: "ACA ACTIVE", 0x40: "TASK ABORTED",
}

// scsiNames are operation codes of SPC-4 and SBC-3.
var scsiNames = [256]string{
	0x00: "TEST UNIT READY", 0x03: "REQUEST SENSE", 0x04: "FORMAT UNIT", 0x08: "READ(6)", 0x0a: "WRITE(6)",
	0x12: "INQUIRY", 0x15: "MODE SELECT(6)", 0x1a: "MODE SENSE(6)", 0x1b: "START STOP UNIT",
	0x25: "READ CAPACITY(10)", 0x28: "READ(10)", 0x2a: "WRITE(10)", 0x2e: "WRITE AND VERIFY(10)",
	0x2f: "VERIFY(10)", 0x35: "SYNCHRONIZE CACHE(10)", 0x41: "WRITE SAME(10)", 0x42: "UNMAP",
	0x55: "MODE SELECT(10)", 0x5a: "MODE SENSE(10)", 0x5e: "PERSISTENT RESERVE IN",
	0x5f: "PERSISTENT RESERVE OUT", 0x83: "THIRD-PARTY COPY OUT", 0x84: "THIRD-PARTY COPY IN",
	0x88: "READ(16)", 0x89: "COMPARE AND WRITE", 0x8a: "WRITE(16)", 0x8e: "WRITE AND VERIFY(16)",
	0x8f: "VERIFY(16)", 0x91: "SYNCHRONIZE CACHE(16)", 0x93: "WRITE SAME(16)", 0x9e: "SERVICE ACTION IN(16)",
	0xa0: "REPORT LUNS", 0xa3: "MAINTENANCE IN", 0xa4: "MAINTENANCE OUT", 0xa8: "READ(12)", 0xaa: "WRITE(12)",
}
