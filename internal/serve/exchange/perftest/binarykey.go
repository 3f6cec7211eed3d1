package perftest

import "encoding/binary"

// BinaryKeyLen is the size of a Key in an exchange over rdma_cm: that of the C struct.
const BinaryKeyLen = 56

// Offsets of the fields in the C struct. Bytes 20 to 23 align the address; the peer ignores them
// and the last word, a GID index.
const (
	keyLIDAt      = 0
	keyOutReadsAt = 4
	keyQPNAt      = 8
	keyPSNAt      = 12
	keyRKeyAt     = 16
	keyVAddrAt    = 24
	keyGIDAt      = 32
	keySRQNAt     = 48
)

// AppendBinary appends the binary form of k, BinaryKeyLen bytes, big endian. QPN and PSN are
// truncated to 24 bits.
func (k *Key) AppendBinary(dst []byte) []byte {
	var b [BinaryKeyLen]byte
	be := binary.BigEndian
	be.PutUint32(b[keyLIDAt:], uint32(k.LID))
	be.PutUint32(b[keyOutReadsAt:], uint32(k.OutReads))
	be.PutUint32(b[keyQPNAt:], k.QPN&0xffffff)
	be.PutUint32(b[keyPSNAt:], k.PSN&0xffffff)
	be.PutUint32(b[keyRKeyAt:], k.RKey)
	be.PutUint64(b[keyVAddrAt:], k.VAddr)
	copy(b[keyGIDAt:], k.GID[:])
	be.PutUint32(b[keySRQNAt:], k.SRQN)
	return append(dst, b[:]...)
}

// DecodeBinary decodes the binary form. It rejects values that do not fit their fields.
func (k *Key) DecodeBinary(b []byte) error {
	if len(b) != BinaryKeyLen {
		return &KeyError{"length", len(b)}
	}
	be := binary.BigEndian
	got := Key{
		LID: uint16(be.Uint32(b[keyLIDAt:])), OutReads: uint16(be.Uint32(b[keyOutReadsAt:])),
		QPN: be.Uint32(b[keyQPNAt:]), PSN: be.Uint32(b[keyPSNAt:]), RKey: be.Uint32(b[keyRKeyAt:]),
		VAddr: be.Uint64(b[keyVAddrAt:]), GID: [16]byte(b[keyGIDAt:]), SRQN: be.Uint32(b[keySRQNAt:]),
	}
	for _, f := range []struct {
		name string
		at   int
		max  uint32
	}{{"LID", keyLIDAt, 0xffff}, {"OUT_READS", keyOutReadsAt, 0xffff}, {"QPN", keyQPNAt, 0xffffff},
		{"PSN", keyPSNAt, 0xffffff}} {
		if be.Uint32(b[f.at:]) > f.max {
			return &KeyError{f.name, len(b)}
		}
	}
	*k = got
	return nil
}
