package ulptraffic

import "encoding/binary"

// NFS over RDMA: RFC 8166 section 4, RFC 8797, RFC 5531 section 9, RFC 1813, RFC 5661.

// words returns XDR words.
func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// segment is an RDMA segment.
type segment struct {
	handle, length uint32
	offset         uint64
}

func (s segment) words() []uint32 {
	return []uint32{s.handle, s.length, uint32(s.offset >> 32), uint32(s.offset)}
}

// rpcRDMA returns an RPC-over-RDMA header with a read chunk at a position, a write chunk and a
// reply chunk, each nil if absent.
func rpcRDMA(xid, proc uint32, position uint32, read, write, reply []segment) []byte {
	v := []uint32{xid, 1, 32, proc}
	for _, s := range read {
		v = append(append(v, 1, position), s.words()...)
	}
	v = append(v, 0)
	if write != nil {
		v = append(v, 1, uint32(len(write)))
		for _, s := range write {
			v = append(v, s.words()...)
		}
	}
	v = append(v, 0)
	if reply == nil {
		return words(append(v, 0)...)
	}
	v = append(v, 1, uint32(len(reply)))
	for _, s := range reply {
		v = append(v, s.words()...)
	}
	return words(v...)
}

// rpcCall returns a call to NFS with a credential AUTH_SYS.
func rpcCall(xid, version, procedure uint32, args ...uint32) []byte {
	v := []uint32{xid, 0, 2, 100003, version, procedure}
	v = append(v, 1, 24, 0, 4, 0x686f7374, 0, 0, 0) // stamp, "host", uid, gid, no gids
	v = append(v, 0, 0)                             // AUTH_NONE
	return words(append(v, args...)...)
}

// rpcReply returns an accepted reply.
func rpcReply(xid uint32, results ...uint32) []byte {
	return words(append([]uint32{xid, 1, 0, 0, 0, 0}, results...)...)
}

// handle is a file handle.
var handle = []uint32{8, 0x01020304, 0x05060708}

func args(parts ...[]uint32) (v []uint32) {
	for _, p := range parts {
		v = append(v, p...)
	}
	return v
}

func nfs(w *wire) {
	private := []byte{0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3}
	c := w.connect(20049, private, private)
	msg := func(header, rpc []byte) []byte { return append(header, rpc...) }
	c.send(0, msg(rpcRDMA(0x5001, 0, 0, nil, nil, nil), rpcCall(0x5001, 3, 0)))
	c.send(1, msg(rpcRDMA(0x5001, 0, 0, nil, nil, nil), rpcReply(0x5001)))
	// NFSv3 READ: a write chunk of two segments.
	chunk := []segment{{0x9101, 4096, 0x7c0000001000}, {0x9102, 4096, 0x7c0000009000}}
	c.send(0, msg(rpcRDMA(0x5002, 0, 0, nil, chunk, nil),
		rpcCall(0x5002, 3, 6, args(handle, []uint32{0, 65536, 8192})...)))
	w.after(150_000)
	c.write(1, 0x7c0000001000, 0x9101, 4096)
	c.write(1, 0x7c0000009000, 0x9102, 4096)
	c.sendInvalidating(1, 0x9101, msg(rpcRDMA(0x5002, 0, 0, nil, chunk, nil),
		rpcReply(0x5002, 0, 0, 8192, 1, 8192)))
	// NFSv3 WRITE: a read chunk.
	c.send(0, msg(rpcRDMA(0x5003, 0, 96, []segment{{0x9103, 4096, 0x7c0000011000}}, nil, nil),
		rpcCall(0x5003, 3, 7, args(handle, []uint32{0, 0, 4096, 2, 4096})...)))
	c.read(1, 0x7c0000011000, 0x9103, 4096)
	w.after(300_000)
	c.send(1, msg(rpcRDMA(0x5003, 0, 0, nil, nil, nil), rpcReply(0x5003, 0, 0, 0, 4096, 2, 1, 2)))
	c.send(0, msg(rpcRDMA(0x5004, 0, 0, nil, nil, nil), rpcCall(0x5004, 3, 1, handle...)))
	c.send(1, msg(rpcRDMA(0x5004, 0, 0, nil, nil, nil), rpcReply(0x5004, 70))) // GETATTR: STALE
	// NFSv3 READDIRPLUS: the reply is in a reply chunk.
	reply := []segment{{0x9105, 32768, 0x7c0000021000}}
	c.send(0, msg(rpcRDMA(0x5005, 0, 0, nil, nil, reply), rpcCall(0x5005, 3, 17,
		args(handle, []uint32{0, 0, 0, 0, 4096, 32768})...)))
	c.write(1, 0x7c0000021000, 0x9105, 2000)
	c.send(1, rpcRDMA(0x5005, 1, 0, nil, nil, []segment{{0x9105, 2000, 0x7c0000021000}}))
	// NFSv4.1 COMPOUND: SEQUENCE, PUTFH, READ, GETATTR.
	sequence := []uint32{53, 1, 2, 3, 4, 17, 0, 0, 0}
	chunk = []segment{{0x9106, 4096, 0x7c0000031000}}
	c.send(0, msg(rpcRDMA(0x5006, 0, 0, nil, chunk, nil), rpcCall(0x5006, 4, 1, args([]uint32{0, 1, 4}, sequence,
		[]uint32{22}, handle, []uint32{25, 0, 0, 0, 0, 0, 8192, 4096, 9, 1, 0x18})...)))
	c.write(1, 0x7c0000031000, 0x9106, 4096)
	c.send(1, msg(rpcRDMA(0x5006, 0, 0, nil, chunk, nil), rpcReply(0x5006, args(
		[]uint32{0, 0, 4, 53, 0, 1, 2, 3, 4, 17, 0, 0, 0, 0}, []uint32{22, 0, 25, 0, 1, 4096, 9, 0, 1, 0, 0})...)))
	// A header with chunk lists that the server does not support.
	c.send(0, msg(rpcRDMA(0x5007, 0, 8, []segment{{0x9107, 16, 0x7c0000041000}}, nil, nil),
		rpcCall(0x5007, 3, 3, handle...)))
	c.send(1, words(0x5007, 1, 32, 4, 2))
	c.disconnect()
}
