package perftest

import (
	"fmt"
	"strconv"
)

// KeyLen is the size of a Key on the wire: "LID:OUT:QPN:PSN:RKEY:VADDR:", 16 GID bytes "xx:",
// "SRQN:" and a NUL.
const KeyLen = 5 + 5 + 7 + 7 + 9 + 17 + 16*3 + 9 + 1

// keyLenNoGID is the size of a key of an InfiniBand peer without a GID index.
const keyLenNoGID = 59

// Key is the address of one queue pair: what the peer needs to connect to it and to access its
// memory.
type Key struct {
	LID      uint16 // 0 on RoCE
	OutReads uint16 // READs that the end accepts as responder; the peer's initiator depth
	QPN      uint32 // 24 bits
	PSN      uint32 // 24 bits: the first PSN that this end will send
	RKey     uint32
	// VAddr is the address that the peer writes or reads: this queue pair's receive half of the
	// buffer.
	VAddr uint64
	GID   [16]byte
	SRQN  uint32 // XRC and DC only
}

// Append appends the wire form of k, KeyLen bytes. QPN and PSN are truncated to 24 bits.
func (k *Key) Append(dst []byte) []byte {
	dst = fmt.Appendf(dst, "%04x:%04x:%06x:%06x:%08x:%016x:",
		k.LID, k.OutReads, k.QPN&0xffffff, k.PSN&0xffffff, k.RKey, k.VAddr)
	for _, b := range k.GID {
		dst = fmt.Appendf(dst, "%02x:", b)
	}
	return fmt.Appendf(dst, "%08x:\x00", k.SRQN)
}

// KeyError is the error of a key that is not in perftest's format. It does not quote the key,
// which contains the R_Key of the peer's memory: errors are logged.
type KeyError struct {
	Field string
	Len   int // of the text, in bytes
}

// Error describes the field and the length.
func (e *KeyError) Error() string {
	return fmt.Sprintf("bad %s in a key of %d bytes", e.Field, e.Len)
}

var keyFields = [...]struct {
	name  string
	width int
}{{"LID", 4}, {"OUT_READS", 4}, {"QPN", 6}, {"PSN", 6}, {"RKEY", 8}, {"VADDR", 16}}

// Decode decodes the wire form, which must be exactly KeyLen bytes of fixed fields; hex digits
// may be of either case.
func (k *Key) Decode(b []byte) error {
	if len(b) == keyLenNoGID {
		return &KeyError{"GID (none there: give the peer a GID index with -x)", len(b)}
	}
	if len(b) != KeyLen || b[KeyLen-1] != 0 {
		return &KeyError{"length", len(b)}
	}
	rest := b
	field := func(width int) (uint64, bool) {
		text, sep := rest[:width], rest[width]
		rest = rest[width+1:]
		for _, c := range text {
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return 0, false
			}
		}
		v, err := strconv.ParseUint(string(text), 16, 64)
		return v, err == nil && sep == ':'
	}
	var v [len(keyFields)]uint64
	for i, f := range keyFields {
		var ok bool
		if v[i], ok = field(f.width); !ok {
			return &KeyError{f.name, len(b)}
		}
	}
	var gid [16]byte
	for i := range gid {
		x, ok := field(2)
		if !ok {
			return &KeyError{"GID", len(b)}
		}
		gid[i] = byte(x)
	}
	srqn, ok := field(8)
	if !ok {
		return &KeyError{"SRQN", len(b)}
	}
	*k = Key{LID: uint16(v[0]), OutReads: uint16(v[1]), QPN: uint32(v[2]), PSN: uint32(v[3]),
		RKey: uint32(v[4]), VAddr: v[5],
		GID: gid, SRQN: uint32(srqn)}
	return nil
}
