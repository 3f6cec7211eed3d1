package rping

import "encoding/binary"

// messageLen is the length of every SEND.
const messageLen = 16

// buffer is the contents of a SEND: a buffer of its sender.
type buffer struct {
	addr uint64
	rkey uint32
	size uint32
}

func (b *buffer) encode(p []byte) {
	binary.BigEndian.PutUint64(p, b.addr)
	binary.BigEndian.PutUint32(p[8:], b.rkey)
	binary.BigEndian.PutUint32(p[12:], b.size)
}

func (b *buffer) decode(p []byte) {
	b.addr = binary.BigEndian.Uint64(p)
	b.rkey = binary.BigEndian.Uint32(p[8:])
	b.size = binary.BigEndian.Uint32(p[12:])
}
