package specs

// mpaStart returns an MPA start frame (RFC 5044, section 7.1; RFC 6581, section 9).
func mpaStart(key string, flags, revision int, private []byte) []byte {
	return join(key, flags, revision, uint16(len(private)), private)
}

// fpdu returns an FPDU (RFC 5044, section 4): length, ULPDU, pad to 4 bytes, CRC32c.
func fpdu(crc bool, ulpdu []byte) []byte {
	b := join(uint16(len(ulpdu)), ulpdu)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	b = append(b, 0, 0, 0, 0)
	if crc {
		putLE(b, crc32c(b[:len(b)-4]))
	}
	return b
}

// tagged and untagged return DDP segments (RFC 5041, section 4) with an RDMAP control byte (RFC
// 5040, section 4.1).
func tagged(last bool, opcode int, stag uint32, offset uint64, payload []byte) []byte {
	control := 0x81
	if last {
		control |= 0x40
	}
	return join(control, 0x40|opcode, stag, offset, payload)
}

func untagged(opcode int, invalidate, queue, msn, offset uint32, payload []byte) []byte {
	return join(0x41, 0x40|opcode, invalidate, queue, msn, offset, payload)
}

// stream builds the segments of one connection.
type stream struct {
	frames [][]byte
	next   [2]uint32 // sequence numbers
}

func (s *stream) frame(from int, seq uint32, payload []byte) []byte {
	ports, ips := [2]uint16{40000, 7174}, [2][]byte{ip1, ip2}
	return ether(0x0800, ipv4(6, ips[from], ips[1-from], tcp(ports[from], ports[1-from], seq, s.next[1-from], payload)))
}

// send adds a segment.
func (s *stream) send(from int, payload []byte) {
	s.frames = append(s.frames, s.frame(from, s.next[from], payload))
	s.next[from] += uint32(len(payload))
}

// iwarpStream: a connection with CRCs: all operations; FPDUs that share segments and FPDUs that
// segments divide, also within headers; a repeated segment; a missing one.
func iwarpStream() []byte {
	s := &stream{next: [2]uint32{0xffffff00, 5000}}
	s.send(0, mpaStart("MPA ID Req Frame", 0x50, 2, join(uint16(0x8010), uint16(0x4008), "hello")))
	s.send(1, mpaStart("MPA ID Rep Frame", 0x50, 2, join(uint16(0x8010), uint16(0x4008))))
	s.send(0, fpdu(true, untagged(3, 0, 0, 1, 0, pattern(33))))
	s.send(0, fpdu(true, tagged(false, 0, 0x1234, 0x1000, pattern(64))))
	again := s.frames[len(s.frames)-1]
	s.send(0, join(fpdu(true, tagged(true, 0, 0x1234, 0x1040, pattern(61))), fpdu(true, untagged(5, 0, 0, 2, 0,
		pattern(5)))))
	s.frames = append(s.frames, again)
	s.send(0, fpdu(true, untagged(1, 0, 1, 1, 0,
		join(uint32(0x5678), uint64(0x2000), uint32(100), uint32(0x9abc), uint64(0x3000)))))
	long := fpdu(true, tagged(true, 2, 0x5678, 0x2000, pattern(100)))
	s.send(1, long[:9]) // within the headers
	s.send(1, long[9:60])
	s.send(1, long[60:])
	s.send(0, fpdu(true, untagged(4, 0xdeadbeef, 0, 3, 0, pattern(8))))
	s.next[0] += 200 // missing
	s.send(0, pattern(40))
	s.send(0, fpdu(true, untagged(6, 0xdeadbeef, 0, 9, 0, pattern(8))))
	s.send(0, fpdu(true, untagged(10, 0, 1, 2, 0, join(uint32(2), uint32(7), uint32(0x9abc), uint64(0x3000), uint64(1),
		uint64(0xffffffffffffffff), uint64(0), uint64(0xffffffffffffffff)))))
	s.send(1, fpdu(true, untagged(11, 0, 3, 1, 0, join(uint32(7), uint64(42)))))
	s.send(0, fpdu(true, untagged(8, 0, 0, 10, 0, join(uint64(0x11)))))
	broken := fpdu(true, untagged(3, 0, 0, 11, 0, pattern(8)))
	broken[len(broken)-1] ^= 1
	s.send(0, broken)
	s.send(1, fpdu(true, untagged(7, 0, 2, 1, 0, join(0x01, 0x02, uint16(0)))))
	return pcap(ethernet, s.frames...)
}

// iwarpNoCRC: a connection without CRCs, and one that rejects.
func iwarpNoCRC() []byte {
	s := &stream{next: [2]uint32{100, 200}}
	s.send(0, mpaStart("MPA ID Req Frame", 0, 1, nil))
	s.send(1, mpaStart("MPA ID Rep Frame", 0, 1, nil))
	s.send(0, fpdu(false, untagged(3, 0, 0, 1, 0, pattern(33))))
	s.next[0] += 100 // missing
	s.send(0, fpdu(false, untagged(3, 0, 0, 3, 0, pattern(30))))
	s.send(1, mpaStart("MPA ID Rep Frame", 0x20, 1, nil))
	return pcap(ethernet, s.frames...)
}
