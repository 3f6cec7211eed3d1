package pingpong

import (
	"encoding/hex"
	"fmt"
	"strconv"
)

// Len is the size of a Dest on the wire: "0000:000000:000000:" and 32 hex digits, including NUL.
const Len = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1

// Done is the last message of the client: the C string "done" with its NUL.
const Done = "done\x00"

// Dest is one end of a pingpong: what the other end needs to connect its queue pair.
type Dest struct {
	LID uint16 // 0 on RoCE
	QPN uint32 // 24 bits
	PSN uint32 // 24 bits: the first PSN that this end will send
	GID [16]byte
}

// Append appends the wire form of d, Len bytes. QPN and PSN are truncated to 24 bits.
func (d *Dest) Append(dst []byte) []byte {
	return fmt.Appendf(dst, "%04x:%06x:%06x:%x\x00", d.LID, d.QPN&0xffffff, d.PSN&0xffffff, d.GID[:])
}

// DecodeError is the error of a text that is not in the format of the tools. It does not quote
// the text: QPN and PSN suffice to forge packets, and errors are logged.
type DecodeError struct {
	Field string
	Len   int // of the text, in bytes
}

// Error describes the field and the length.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("bad %s in an address of %d bytes: an ibv_*_pingpong peer sends LID:QPN:PSN:GID", e.Field, e.Len)
}

// Decode decodes the wire form, which must be exactly Len bytes: fixed fields, hex digits of
// either case, one NUL at the end.
func (d *Dest) Decode(b []byte) error {
	if len(b) != Len || b[Len-1] != 0 {
		return &DecodeError{"length", len(b)}
	}
	if b[4] != ':' || b[11] != ':' || b[18] != ':' {
		return &DecodeError{"layout", len(b)}
	}
	lid, ok := hexField(b[0:4])
	if !ok {
		return &DecodeError{"LID", len(b)}
	}
	qpn, ok := hexField(b[5:11])
	if !ok {
		return &DecodeError{"QPN", len(b)}
	}
	psn, ok := hexField(b[12:18])
	if !ok {
		return &DecodeError{"PSN", len(b)}
	}
	var gid [16]byte
	if _, err := hex.Decode(gid[:], b[19:51]); err != nil {
		return &DecodeError{"GID", len(b)}
	}
	*d = Dest{LID: uint16(lid), QPN: qpn, PSN: psn, GID: gid}
	return nil
}

// hexField decodes a field of only hex digits; strconv alone would accept signs and underscores.
func hexField(b []byte) (uint32, bool) {
	for _, c := range b {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(string(b), 16, 32)
	return uint32(v), err == nil
}
