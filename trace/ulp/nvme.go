package ulp

// Lengths of NVMe capsules in bytes (NVMe-oF 1.1 section 2).
const (
	nvmeCommandLen  = 64 // submission queue entry; data in the capsule follow
	nvmeResponseLen = 16 // completion queue entry; the RDMA transport adds no data
)

// nvmeFabrics is the opcode of all Fabrics commands (NVMe-oF 1.1 section 3).
const nvmeFabrics = 0x7f

// nvmeConnect is the type of the Fabrics command Connect (NVMe-oF 1.1 section 3.3).
const nvmeConnect = 0x01

// nvme parses a command capsule of the host or a response capsule of the controller.
func (p *PDU) nvme(c Context, r *reader) error {
	if !c.Client {
		return p.nvmeResponse(r)
	}
	if r.n < nvmeCommandLen {
		return ErrHeader
	}
	if !r.has(nvmeCommandLen) {
		return ErrShort
	}
	r.under("NVMe command")
	p.Kind, p.HasID = Command, true
	p.Code = uint32(r.xbe(0, 1, "Opcode (OPC)"))
	switch {
	case p.Code == nvmeFabrics:
		p.Dialect = "Fabrics"
	case c.Queue == 0:
		p.Dialect, p.Command = "admin", nvmeAdminNames[p.Code]
	case c.Queue > 0:
		p.Dialect, p.Command = "I/O", nvmeIONames[p.Code]
	}
	r.means(p.Command)
	direction := p.Code & 3 // NVMe base specification 1.4, figure 139
	psdt := r.u8(1, "") >> 6
	r.be(1, 1, "FUSE and PSDT")
	p.ID = r.le(2, 2, "Command Identifier (CID)")
	if p.Code == nvmeFabrics {
		p.Code = uint32(r.xbe(4, 1, "Fabrics Command Type (FCTYPE)"))
		p.Command = nvmeFabricsNames[p.Code]
		r.means(p.Command)
		direction = p.Code & 3
	} else {
		if nsid := r.le(4, 4, "Namespace Identifier (NSID)"); nsid != 0 {
			p.arg("NSID", nsid)
		}
	}
	use := [4]Use{AnyUse, ForRead, ForWrite, AnyUse}[direction]
	if psdt != 0 { // PRPs, PSDT 0, are not allowed in NVMe-oF
		p.nvmeSGL(r, 24, use, true)
	}
	p.nvmeArgs(r)
	return nil
}

// nvmeArgs reads command dwords 10 to 15.
func (p *PDU) nvmeArgs(r *reader) {
	switch {
	case p.Dialect == "Fabrics" && p.Code == nvmeConnect:
		r.le(40, 2, "Record Format (RECFMT)")
		p.arg("QID", r.le(42, 2, "Queue ID (QID)"))
		p.arg("SQSIZE", r.le(44, 2, "Submission Queue Size (SQSIZE)"))
		r.xbe(46, 1, "Connect Attributes (CATTR)")
		p.arg("KATO", r.le(48, 4, "Keep Alive Timeout (KATO)"))
	case p.Dialect == "Fabrics" && (p.Code == 0x00 || p.Code == 0x04):
		r.xbe(40, 1, "Attributes (ATTRIB)")
		offset := r.xle(44, 4, "Offset (OFST)")
		r.means(nvmeProperties[offset])
		p.hexArg("offset", offset)
		if p.Code == 0x00 {
			p.hexArg("value", r.xle(48, 8, "Value (VALUE)"))
		}
	case p.Dialect == "I/O" && nvmeHasLBA[p.Code]:
		p.arg("LBA", r.le(40, 8, "Starting LBA (SLBA)"))
		p.arg("blocks", r.le(48, 2, "Number of Logical Blocks (NLB)")+1) // NLB is a 0's based value
	case p.Dialect == "admin" && p.Code == 0x06:
		p.arg("CNS", r.be(40, 1, "Controller or Namespace Structure (CNS)"))
	case p.Dialect == "admin" && (p.Code == 0x09 || p.Code == 0x0a):
		p.arg("FID", r.be(40, 1, "Feature Identifier (FID)"))
	case p.Dialect == "admin" && p.Code == 0x02:
		p.arg("LID", r.be(40, 1, "Log Page Identifier (LID)"))
	}
}

// NVMe SGL descriptor identifiers: type in the upper, subtype in the lower four bits (NVMe base
// specification 1.4 section 4.4, NVMe-oF 1.1 section 7.3.2).
const (
	sglInCapsule   = 0x01 // data block at an offset in the capsule
	sglLastSegment = 0x31 // descriptors at an offset in the capsule
	sglKeyed       = 0x40 // keyed data block, address
	sglKeyedInval  = 0x4f // keyed data block, address; the response invalidates the key
)

// nvmeSGL reads the SGL descriptor at offset at. first is false for one in a segment.
func (p *PDU) nvmeSGL(r *reader, at int, use Use, first bool) {
	if !r.has(at + 16) {
		return
	}
	r.under("NVMe SGL descriptor")
	address := r.xle(at, 8, "Address")
	switch id := r.b[at+15]; id {
	case sglKeyed, sglKeyedInval:
		n := r.le(at+8, 3, "Length")
		key := r.xle(at+11, 4, "Key")
		p.buffer(Buffer{Address: address, Length: uint32(n), Key: uint32(key), Use: use})
		if n > 0 {
			p.length(p.Length + n)
		}
	case sglInCapsule:
		if n := r.le(at+8, 4, "Length"); n > 0 {
			p.length(p.Length + n)
		}
	case sglLastSegment:
		n := r.le(at+8, 4, "Length")
		r.sglID(at)
		if at := nvmeCommandLen + address; first && n%16 == 0 && address < uint64(len(r.b)) {
			for end := at + n; at < end && at+16 <= uint64(len(r.b)); at += 16 {
				p.nvmeSGL(r, int(at), use, false)
			}
		}
		r.under("NVMe command")
		return
	}
	r.sglID(at)
	r.under("NVMe command")
}

func (r *reader) sglID(at int) { r.xbe(at+15, 1, "SGL Identifier") }

// nvmeResponse parses a response capsule.
func (p *PDU) nvmeResponse(r *reader) error {
	if r.n != nvmeResponseLen {
		return ErrHeader
	}
	if !r.has(nvmeResponseLen) {
		return ErrShort
	}
	r.under("NVMe completion")
	p.Kind, p.HasID = Response, true
	r.xle(0, 4, "Command Specific (DW0)")
	r.xle(4, 4, "Command Specific (DW1)")
	r.le(8, 2, "SQ Head Pointer (SQHD)")
	p.ID = r.le(12, 2, "Command Identifier (CID)")
	p.Status.Known = true
	p.Status.Code = uint32(r.xle(14, 2, "Status (STS)")) >> 1 & 0x7ff // SC, SCT
	p.Status.Failed = p.Status.Code != 0
	p.Status.Text = nvmeStatus[p.Status.Code]
	r.means(p.Status.Text)
	return nil
}
