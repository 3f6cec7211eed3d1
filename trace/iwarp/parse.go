package iwarp

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	startLen   = 20 // MPA start frame without private data
	keyLen     = 16
	maxPrivate = 512

	startMarkers  = 0x80
	startCRC      = 0x40
	startRejected = 0x20
	startEnhanced = 0x10

	lengthLen   = 2 // ULPDU_Length
	crcLen      = 4
	taggedLen   = 14
	untaggedLen = 18
	readLen     = 28
	termLen     = 4
	atomicLen   = 52

	// maxHeaders is the number of bytes of an FPDU that decode reads.
	maxHeaders = lengthLen + untaggedLen + atomicLen

	ddpTagged   = 0x80
	ddpLast     = 0x40
	ddpReserved = 0x3c
	ddpVersion  = 0x03

	version = 1 // of DDP and RDMAP (RFC 5041, section 4.1; RFC 5040, section 4.1)
)

const (
	requestKey = "MPA ID Req Frame"
	replyKey   = "MPA ID Rep Frame"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// isStart reports whether b begins with an MPA start frame.
func isStart(b []byte) bool {
	return len(b) >= startLen && (string(b[:keyLen]) == requestKey || string(b[:keyLen]) == replyKey) &&
		binary.BigEndian.Uint16(b[18:]) <= maxPrivate
}

// decodeStart decodes the start frame at b; isStart is true.
func (m *Message) decodeStart(b []byte) {
	flags := b[keyLen]
	n := int(binary.BigEndian.Uint16(b[18:]))
	*m = Message{Kind: Request, Len: startLen + n, Start: Start{
		Markers: flags&startMarkers != 0, CRC: flags&startCRC != 0, Rejected: flags&startRejected != 0,
		Enhanced: flags&startEnhanced != 0 && b[keyLen+1] >= 2, Revision: b[keyLen+1], PrivateLen: n,
	}}
	if string(b[:keyLen]) == replyKey {
		m.Kind = Reply
	}
	s := &m.Start
	if s.Enhanced = s.Enhanced && n >= 4 && len(b) >= startLen+4; s.Enhanced {
		s.IRD = binary.BigEndian.Uint16(b[startLen:]) & 0x3fff
		s.ORD = binary.BigEndian.Uint16(b[startLen+2:]) & 0x3fff
	}
}

// fpduLen returns the length of the FPDU whose ULPDU_Length is n: with the length field, pad and
// CRC.
func fpduLen(n int) int { return (lengthLen+n+3)&^3 + crcLen }

// headersNeeded returns the number of bytes at the beginning of an FPDU that decode needs for all
// fields; b begins with the FPDU. It returns lengthLen+2 if b is too short to tell.
func headersNeeded(b []byte) int {
	if len(b) < lengthLen+2 {
		return lengthLen + 2
	}
	n := lengthLen + untaggedLen
	switch {
	case b[2]&ddpTagged != 0:
		n = lengthLen + taggedLen
	case Opcode(b[3]&15) == ReadRequest:
		n += readLen
	case Opcode(b[3]&15) == Terminate:
		n += termLen
	case Opcode(b[3]&15) == AtomicRequest:
		n += atomicLen
	case Opcode(b[3]&15) == Immediate || Opcode(b[3]&15) == ImmediateSolicited:
		n += 8
	}
	return min(n, lengthLen+int(binary.BigEndian.Uint16(b)))
}

// plausible reports whether b begins with an FPDU with valid DDP and RDMAP headers.
func plausible(b []byte) bool {
	if len(b) < lengthLen+2 {
		return false
	}
	n, ddp, rdmap := int(binary.BigEndian.Uint16(b)), b[2], b[3]
	op := Opcode(rdmap & 15)
	tagged := ddp&ddpTagged != 0
	switch {
	case ddp&ddpVersion != version || ddp&ddpReserved != 0 || rdmap>>6 != version || rdmap>>4&3 != 0:
		return false
	case int(op) >= numOpcodes || op.tagged() != tagged:
		return false
	case tagged:
		return n >= taggedLen
	}
	return n >= untaggedLen
}

// checkCRC checks the CRC of the FPDU that b begins with. It returns NotChecked if b does not
// contain the whole FPDU.
func checkCRC(b []byte) CRC {
	if len(b) < lengthLen {
		return NotChecked
	}
	end := fpduLen(int(binary.BigEndian.Uint16(b)))
	if len(b) < end {
		return NotChecked
	}
	// The CRC is sent like that of iSCSI, least significant byte first (RFC 5044, section 4.4).
	if crc32.Checksum(b[:end-crcLen], castagnoli) == binary.LittleEndian.Uint32(b[end-crcLen:]) {
		return Right
	}
	return Wrong
}

// decode decodes the FPDU that b begins with, as far as b has its headers; plausible is true.
func (m *Message) decode(b []byte) {
	be := binary.BigEndian
	n := int(be.Uint16(b))
	*m = Message{Kind: FPDU, Len: n}
	u := &m.ULPDU
	u.Tagged, u.Last, u.Opcode = b[2]&ddpTagged != 0, b[2]&ddpLast != 0, Opcode(b[3]&15)
	b = b[lengthLen:min(len(b), lengthLen+n)]
	if u.Tagged {
		u.Payload = n - taggedLen
		if len(b) >= taggedLen {
			u.STag, u.Offset = be.Uint32(b[2:]), be.Uint64(b[6:])
		}
		return
	}
	u.Payload = n - untaggedLen
	if len(b) < untaggedLen {
		return
	}
	u.InvalidateSTag, u.QN, u.MSN, u.MO = be.Uint32(b[2:]), be.Uint32(b[6:]), be.Uint32(b[10:]), be.Uint32(b[14:])
	u.details(b[untaggedLen:])
}

// details decodes the headers behind the DDP header.
func (u *ULPDU) details(b []byte) {
	be := binary.BigEndian
	switch {
	case u.MO != 0: // a later segment of the message
	case u.Opcode == ReadRequest && len(b) >= readLen:
		u.HasDetails = true
		u.Read = Read{be.Uint32(b), be.Uint64(b[4:]), be.Uint32(b[12:]), be.Uint32(b[16:]), be.Uint64(b[20:])}
	case u.Opcode == Terminate && len(b) >= termLen:
		u.HasDetails = true
		u.Term = Term{b[0] >> 4, b[0] & 15, b[1]}
	case u.Opcode == AtomicRequest && len(b) >= atomicLen:
		u.HasDetails = true
		u.Atomic = Atomic{Op: b[3] & 15, ID: be.Uint32(b[4:]), STag: be.Uint32(b[8:]), Offset: be.Uint64(b[12:]),
			SwapAdd: be.Uint64(b[20:]), Compare: be.Uint64(b[36:])}
	case (u.Opcode == Immediate || u.Opcode == ImmediateSolicited) && len(b) >= 8:
		u.HasDetails, u.Immediate = true, be.Uint64(b)
	}
}
