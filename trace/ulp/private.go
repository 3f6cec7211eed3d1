package ulp

// Exchange is a message of the connection manager that has private data.
type Exchange uint8

const (
	Request Exchange = iota // REQ
	Reply                   // REP
	Reject                  // REJ
)

// rpcMagic is the format identifier of RFC 8797 section 4.
const rpcMagic = 0xf6ab0e18

// DecodePrivate parses the private data of a message of the connection manager, without the IP
// addresses of annex A11. It returns ErrShort or ErrHeader if b is not private data of the
// protocol. SMB Direct has none.
func (p *PDU) DecodePrivate(proto Protocol, x Exchange, b []byte) error {
	return p.private(proto, x, &reader{b: b, n: len(b)})
}

// AppendPrivateFields appends the fields that [PDU.DecodePrivate] reads to dst.
func AppendPrivateFields(dst []Field, proto Protocol, x Exchange, b []byte) []Field {
	var p PDU
	r := reader{b: b, n: len(b), record: true, fields: dst}
	_ = p.private(proto, x, &r) // the fields before an error are valid
	return r.fields
}

func (p *PDU) private(proto Protocol, x Exchange, r *reader) error {
	*p = PDU{Protocol: proto}
	switch proto {
	case NVMe:
		return p.nvmePrivate(x, r)
	case ISER:
		return p.iserPrivate(x, r)
	case NFS:
		return p.rpcPrivate(x, r)
	}
	return ErrHeader
}

// nvmePrivate parses the private data of NVMe-oF 1.1 section 7.3.3.
func (p *PDU) nvmePrivate(x Exchange, r *reader) error {
	size := [...]int{Request: 32, Reply: 32, Reject: 4}[min(x, Reject)]
	if !r.has(size) {
		return ErrShort
	}
	if number(r.b[:2]) != 0 {
		return ErrHeader // unknown record format
	}
	r.under("NVMe-oF private data")
	r.le(0, 2, "RECFMT")
	switch x {
	case Request:
		p.arg("QID", r.le(2, 2, "QID"))
		p.arg("HRQSIZE", r.le(4, 2, "HRQSIZE"))
		p.arg("HSQSIZE", r.le(6, 2, "HSQSIZE")) // a 0's based value
		r.le(8, 2, "CNTLID")
		if q, _ := p.Arg("HRQSIZE"); q == 0 {
			return ErrHeader
		}
	case Reply:
		p.arg("CRQSIZE", r.le(2, 2, "CRQSIZE"))
	default:
		code := uint32(r.le(2, 2, "STS"))
		p.Status = Status{Known: true, Failed: true, Code: code, Text: nvmeCMStatus[code]}
		r.means(p.Status.Text)
	}
	return nil
}

// iserPrivate parses the iSER CM message header: a byte of flags, and three reserved bytes.
func (p *PDU) iserPrivate(x Exchange, r *reader) error {
	if x == Reject {
		return ErrHeader
	}
	if !r.has(4) {
		return ErrShort
	}
	if r.b[0]&0x3f != 0 || !r.zero(1, 4) {
		return ErrHeader
	}
	r.under("iSER private data")
	flags := r.xbe(0, 1, "Flags")
	p.arg("ZBVA", 1-flags>>7&1)
	p.arg("SEND with invalidate", 1-flags>>6&1)
	return nil
}

// rpcPrivate parses the private data of RFC 8797.
func (p *PDU) rpcPrivate(x Exchange, r *reader) error {
	if x == Reject {
		return ErrHeader
	}
	if !r.has(8) {
		return ErrShort
	}
	if number(r.b[:4]) != rpcMagic || r.b[4] != 1 {
		return ErrHeader
	}
	r.under("RPC-over-RDMA private data")
	r.xbe(0, 4, "Format Identifier")
	r.be(4, 1, "Version")
	p.arg("SEND with invalidate", r.xbe(5, 1, "Flags")&1)
	p.arg("send size", (r.be(6, 1, "Send Size")+1)*1024)
	p.arg("receive size", (r.be(7, 1, "Receive Size")+1)*1024)
	return nil
}
