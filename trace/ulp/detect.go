package ulp

import "bytes"

// Detect returns the protocol of a connection from b, the captured beginning of a SEND of n bytes,
// if only one protocol has such a SEND; otherwise None. One of these is enough:
//
//   - NVMe over Fabrics: a Fabrics Connect command, the first capsule of every queue: opcode 0x7f,
//     type 1, SGL, record format 0, reserved bytes zero, and a data block of 1,024 bytes
//     (NVMe-oF 1.1 section 3.3)
//   - iSER: a Login Request, the first PDU of every connection, with a key InitiatorName (RFC 7145
//     section 9.2, RFC 7143 sections 6.3 and 11.12)
//   - SMB Direct: a Negotiate Request of version 1.0 with valid sizes (MS-SMBD sections 2.2.1 and
//     3.1.5.2), or a Data Transfer whose data begin with an SMB2 header
//   - NFS over RDMA: an RPC-over-RDMA message of version 1 with an RPC call to the program 100003,
//     whose XID is the same in both headers (RFC 8166 section 4.2)
//
// The sender of the SEND is the client, except for an SMB2 response: see [FromClient].
func Detect(b []byte, n int) Protocol {
	var p PDU
	switch {
	case len(b) < smbdDataLen:
	case nvmeConnects(b, n):
		return NVMe
	case iserLogin(b, n):
		return ISER
	case smbdNegotiates(b, n):
		return SMBDirect
	case p.Decode(SMBDirect, Context{}, b, n) == nil && p.Dialect == "SMB2" && p.Command != "":
		return SMBDirect
	case p.Decode(NFS, Context{}, b, n) == nil && p.Kind == Command && p.program == nfsProgram &&
		p.version >= 2 && p.version <= 4:
		return NFS
	}
	return None
}

// FromClient reports whether the client sent the SEND b that [Detect] recognized as proto.
func FromClient(proto Protocol, b []byte, n int) bool {
	if proto != SMBDirect {
		return true
	}
	var p PDU
	return p.Decode(SMBDirect, Context{}, b, n) == nil && p.Kind != Response && p.Kind != Interim &&
		p.Code != smb2OplockBreak
}

func nvmeConnects(b []byte, n int) bool {
	const connectDataLen = 1024
	var p PDU
	r := reader{b: b, n: n}
	if n < nvmeCommandLen || !r.has(nvmeCommandLen) || b[0] != nvmeFabrics || b[4] != nvmeConnect ||
		b[1]>>6 == 0 || !r.zero(5, 24) || !r.zero(40, 42) || !r.zero(52, nvmeCommandLen) {
		return false
	}
	return p.Decode(NVMe, Context{Client: true}, b, n) == nil && p.Length == connectDataLen
}

func iserLogin(b []byte, n int) bool {
	const data = iserHeaderLen + iscsiBHSLen
	var p PDU
	if p.Decode(ISER, Context{}, b, n) != nil || p.Code != iscsiLogin || p.Dialect != "iSCSI" {
		return false
	}
	size := int(number(b[iserHeaderLen+5 : iserHeaderLen+8]))
	return b[iserHeaderLen] == 0x40|iscsiLogin && b[iserHeaderLen+4] == 0 && data+size <= n &&
		bytes.Contains(b[data:min(data+size, len(b))], []byte("InitiatorName="))
}

// Limits of MS-SMBD section 3.1.5.2.
const (
	minReceiveSize    = 128
	minFragmentedSize = 131072
)

func smbdNegotiates(b []byte, n int) bool {
	var p PDU
	if n != smbdRequestLen || p.Decode(SMBDirect, Context{}, b, n) != nil || p.Command != "Negotiate Request" {
		return false
	}
	credits, _ := p.Arg("credits requested")
	receive, _ := p.Arg("receive size")
	fragmented, _ := p.Arg("fragmented size")
	return credits > 0 && receive >= minReceiveSize && fragmented >= minFragmentedSize
}
