package ulp

// Lengths in bytes of SMB Direct messages (MS-SMBD section 2.2) and of the SMB2 header (MS-SMB2
// section 2.2.1).
const (
	smbdRequestLen  = 20 // SMBDirect Negotiate Request
	smbdResponseLen = 32 // SMBDirect Negotiate Response
	smbdDataLen     = 20 // SMBDirect Data Transfer without data; data begin at an offset of 24
	smbdVersion     = 0x0100
	smb2HeaderLen   = 64
)

// smbDirect parses an SMB Direct message.
func (p *PDU) smbDirect(c Context, r *reader) error {
	if r.n < smbdDataLen {
		return ErrHeader
	}
	if !r.has(smbdDataLen) {
		return ErrShort
	}
	// A negotiation has versions where a Data Transfer has numbers of credits, and other values
	// where a Data Transfer has flags and reserved bytes.
	versions := r.le(0, 2, "") == smbdVersion && r.le(2, 2, "") == smbdVersion
	switch {
	case versions && r.n == smbdRequestLen && r.le(6, 2, "") != 0:
		p.smbdRequest(r)
		return nil
	case versions && r.n == smbdResponseLen && r.has(smbdResponseLen) && r.le(4, 2, "") == smbdVersion:
		p.smbdResponse(r)
		return nil
	}
	return p.smbdTransfer(c, r)
}

func (p *PDU) smbdRequest(r *reader) {
	r.under("SMB Direct")
	p.Command = "Negotiate Request"
	r.xle(0, 2, "MinVersion")
	r.xle(2, 2, "MaxVersion")
	p.arg("credits requested", r.le(6, 2, "CreditsRequested"))
	p.arg("preferred send size", r.le(8, 4, "PreferredSendSize"))
	p.arg("receive size", r.le(12, 4, "MaxReceiveSize"))
	p.arg("fragmented size", r.le(16, 4, "MaxFragmentedSize"))
}

func (p *PDU) smbdResponse(r *reader) {
	r.under("SMB Direct")
	p.Command = "Negotiate Response"
	r.xle(0, 2, "MinVersion")
	r.xle(2, 2, "MaxVersion")
	r.xle(4, 2, "NegotiatedVersion")
	r.le(8, 2, "CreditsRequested")
	p.arg("credits granted", r.le(10, 2, "CreditsGranted"))
	p.ntStatus(uint32(r.xle(12, 4, "Status")))
	r.means(p.Status.Text)
	p.arg("READ and WRITE size", r.le(16, 4, "MaxReadWriteSize"))
	r.le(20, 4, "PreferredSendSize")
	p.arg("receive size", r.le(24, 4, "MaxReceiveSize"))
	p.arg("fragmented size", r.le(28, 4, "MaxFragmentedSize"))
}

// smbdTransfer parses a Data Transfer, and the SMB2 header if the SEND begins an SMB2 message.
func (p *PDU) smbdTransfer(c Context, r *reader) error {
	offset, n := r.le(12, 4, ""), r.le(16, 4, "")
	if r.le(4, 2, "") > 1 || r.le(6, 2, "") != 0 || n > 0 && (offset < 24 || offset%8 != 0) ||
		n > 0 && offset+n > uint64(r.n) {
		return ErrHeader
	}
	r.under("SMB Direct")
	r.le(0, 2, "CreditsRequested")
	granted := r.le(2, 2, "CreditsGranted")
	r.xle(4, 2, "Flags")
	p.More = uint32(r.le(8, 4, "RemainingDataLength"))
	r.le(12, 4, "DataOffset")
	r.le(16, 4, "DataLength")
	at := int(offset)
	switch {
	case n == 0:
		p.Kind, p.Command = Notice, "Data Transfer without data"
		p.arg("credits granted", granted)
	case c.Continued:
		p.Kind, p.Command = Data, "Data Transfer, continued"
		p.length(n)
	case !r.has(at + 4):
		return ErrShort
	default:
		return p.smb2(r, at, n)
	}
	return nil
}

// Flags in the SMB2 header (MS-SMB2 section 2.2.1.2).
const (
	smb2ToClient = 1 // a response
	smb2Async    = 2
)

const (
	smb2Read        = 0x08
	smb2Write       = 0x09
	smb2Cancel      = 0x0c
	smb2OplockBreak = 0x12

	statusPending = 0x00000103 // of an interim response
	noMessageID   = 1<<64 - 1  // of an oplock break notification
)

var smb2Names = [...]string{
	"NEGOTIATE", "SESSION_SETUP", "LOGOFF", "TREE_CONNECT", "TREE_DISCONNECT", "CREATE", "CLOSE", "FLUSH", "READ",
	"WRITE", "LOCK", "IOCTL", "CANCEL", "ECHO", "QUERY_DIRECTORY", "CHANGE_NOTIFY", "QUERY_INFO", "SET_INFO",
	"OPLOCK_BREAK",
}

// smb2 parses an SMB2 message of which n bytes at offset at are in the SEND.
func (p *PDU) smb2(r *reader, at int, n uint64) error {
	switch number(r.b[at : at+4]) {
	case 0xfd534d42:
		p.Kind, p.Dialect, p.Command = Notice, "SMB3", "encrypted message"
		p.length(n + uint64(p.More))
		return nil
	case 0xfc534d42:
		p.Kind, p.Dialect, p.Command = Notice, "SMB3", "compressed message"
		p.length(n + uint64(p.More))
		return nil
	case 0xfe534d42:
	default:
		return ErrHeader
	}
	if n < smb2HeaderLen {
		return ErrHeader
	}
	if !r.has(at + smb2HeaderLen) {
		return ErrShort
	}
	r.under("SMB2 header")
	if r.le(at+4, 2, "StructureSize") != smb2HeaderLen {
		return ErrHeader
	}
	flags := r.le(at+16, 4, "")
	answer := flags&smb2ToClient != 0
	status := uint32(0)
	if answer {
		status = uint32(r.xle(at+8, 4, "Status"))
		p.ntStatus(status)
		r.means(p.Status.Text)
	}
	p.Dialect, p.Code = "SMB2", uint32(r.le(at+12, 2, "Command"))
	if int(p.Code) < len(smb2Names) {
		p.Command = smb2Names[p.Code]
		r.means(p.Command)
	}
	r.le(at+14, 2, "Credits")
	r.xle(at+16, 4, "Flags")
	next := r.le(at+20, 4, "NextCommand")
	p.ID, p.HasID = r.le(at+24, 8, "MessageId"), true
	switch {
	case p.ID == noMessageID, p.Code == smb2Cancel:
		p.Kind, p.HasID = Notice, false
	case answer && status == statusPending && flags&smb2Async != 0:
		p.Kind = Interim
		p.Status = Status{}
	case answer:
		p.Kind = Response
	default:
		p.Kind = Command
	}
	if next != 0 { // only the first command of a compounded chain is followed
		p.arg("next header at", next)
	}
	body := at + smb2HeaderLen
	switch {
	case p.Kind == Command && p.Code == smb2Read:
		p.smb2Transfer(r, at, body, ForWrite)
	case p.Kind == Command && p.Code == smb2Write:
		p.smb2Transfer(r, at, body, ForRead)
	case p.Kind == Response && !p.Status.Failed && p.Code == smb2Read && r.has(body+12):
		r.under("SMB2 READ")
		p.length(r.le(body+4, 4, "DataLength") + r.le(body+8, 4, "DataRemaining"))
	case p.Kind == Response && !p.Status.Failed && p.Code == smb2Write && r.has(body+8):
		r.under("SMB2 WRITE")
		p.length(r.le(body+4, 4, "Count"))
	}
	return nil
}

// smb2Transfer parses a READ or WRITE Request (MS-SMB2 sections 2.2.19 and 2.2.21), whose channel
// information lists the buffers in the client's memory (MS-SMBD section 2.2.3.1).
func (p *PDU) smb2Transfer(r *reader, header, body int, use Use) {
	if !r.has(body + 48) {
		return
	}
	// Offsets in the body: of Channel and the field after it, and of the channel information.
	channelAt, infoAt := body+36, body+44
	r.under("SMB2 READ")
	if use == ForRead {
		channelAt, infoAt = body+32, body+40
		r.under("SMB2 WRITE")
	}
	n := r.le(body+4, 4, "Length")
	r.le(body+8, 8, "Offset")
	channel := r.le(channelAt, 4, "Channel")
	if remaining := r.le(channelAt+4, 4, "RemainingBytes"); use == ForRead && channel != 0 {
		n = remaining
	}
	p.length(n)
	at, size := r.le(infoAt, 2, "ChannelInfoOffset"), r.le(infoAt+2, 2, "ChannelInfoLength")
	if channel != 1 && channel != 2 || at < smb2HeaderLen {
		return
	}
	r.under("SMB Direct buffer descriptor")
	for at := header + int(at); size >= 16 && r.has(at+16); at, size = at+16, size-16 {
		p.buffer(Buffer{Address: r.xle(at, 8, "Offset"), Key: uint32(r.xle(at+8, 4, "Token")),
			Length: uint32(r.le(at+12, 4, "Length")), Use: use})
	}
}

// ntStatus sets the status (MS-ERREF section 2.3.1).
func (p *PDU) ntStatus(code uint32) {
	p.Status = Status{Known: true, Failed: code>>30 == 3, Code: code, Text: ntNames[code]}
}

var ntNames = map[uint32]string{
	0x00000000: "STATUS_SUCCESS", 0x00000103: "STATUS_PENDING", 0x0000010c: "STATUS_NOTIFY_ENUM_DIR",
	0x80000005: "STATUS_BUFFER_OVERFLOW", 0x80000006: "STATUS_NO_MORE_FILES",
	0xc0000002: "STATUS_NOT_IMPLEMENTED", 0xc000000d: "STATUS_INVALID_PARAMETER",
	0xc000000f: "STATUS_NO_SUCH_FILE", 0xc0000010: "STATUS_INVALID_DEVICE_REQUEST",
	0xc0000011: "STATUS_END_OF_FILE", 0xc0000016: "STATUS_MORE_PROCESSING_REQUIRED",
	0xc0000022: "STATUS_ACCESS_DENIED", 0xc0000023: "STATUS_BUFFER_TOO_SMALL",
	0xc0000034: "STATUS_OBJECT_NAME_NOT_FOUND", 0xc0000035: "STATUS_OBJECT_NAME_COLLISION",
	0xc0000043: "STATUS_SHARING_VIOLATION", 0xc0000054: "STATUS_FILE_LOCK_CONFLICT",
	0xc0000055: "STATUS_LOCK_NOT_GRANTED", 0xc000006d: "STATUS_LOGON_FAILURE",
	0xc000007f: "STATUS_DISK_FULL", 0xc000009a: "STATUS_INSUFFICIENT_RESOURCES",
	0xc00000ba: "STATUS_FILE_IS_A_DIRECTORY", 0xc00000bb: "STATUS_NOT_SUPPORTED",
	0xc00000c9: "STATUS_NETWORK_NAME_DELETED", 0xc00000cc: "STATUS_BAD_NETWORK_NAME",
	0xc0000101: "STATUS_DIRECTORY_NOT_EMPTY", 0xc0000120: "STATUS_CANCELLED",
	0xc0000128: "STATUS_FILE_CLOSED", 0xc0000185: "STATUS_IO_DEVICE_ERROR",
	0xc0000203: "STATUS_USER_SESSION_DELETED", 0xc000020c: "STATUS_CONNECTION_DISCONNECTED",
	0xc000035c: "STATUS_NETWORK_SESSION_EXPIRED",
}
