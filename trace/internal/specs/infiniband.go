package specs

import "encoding/hex"

var (
	gid1 = join(uint64(0xfe80000000000000), uint64(0x0002c90300a1b2c3))
	gid2 = join(uint64(0xfe80000000000000), uint64(0x0002c90300a1b2c4))
	gid4 = join(uint64(0), uint16(0), uint16(0xffff), ip1) // of an IPv4 address (IBA A16)
	gid5 = join(uint64(0), uint16(0), uint16(0xffff), ip2)
)

// grh returns a global route header (IBA 8.3) and the packet after it, whose last four bytes become
// the ICRC.
func grh(src, dst, packet []byte) []byte {
	b := join(uint32(6<<28|8<<20|0x12345), uint16(len(packet)), 0x1b, 64, src, dst, packet)
	m := append([]byte{}, b...)
	m[0] |= 0x0f
	for _, i := range []int{1, 2, 3, 7} {
		m[i] = 0xff
	}
	copy(b[len(b)-4:], icrc(m, 40, nil)[len(b)-4:])
	return b
}

// local returns an InfiniBand packet (IBA 7.7): LRH, body and VCRC. global tells that the body
// begins with a GRH; otherwise its last four bytes become the ICRC, over the LRH, too.
func local(vl, sl int, dlid, slid uint16, global bool, body []byte) []byte {
	lnh := 2
	if global {
		lnh = 3
	}
	b := join(vl<<4, sl<<4|lnh, dlid, uint16((8+len(body))/4), slid, body)
	if !global {
		m := append([]byte{}, b[:len(b)-4]...)
		m[0] |= 0xf0
		m[8+4] = 0xff
		putLE(b, crc32(m))
	}
	v := crc16(b)
	return append(b, byte(v), byte(v>>8))
}

// conversation returns the packets of a WRITE of 1,100 bytes, a READ of 40 bytes and a datagram,
// with four bytes for the ICRC. The second value is the sender.
func conversation() (packets [][]byte, from []int) {
	end := []byte{0, 0, 0, 0}
	add := func(sender int, parts ...any) {
		packets = append(packets, join(append(parts, end)...))
		from = append(from, sender)
	}
	add(0, bth(0x06, 0x40, 0x22, 100), uint64(0x7f0000001000), uint32(0xabcd), uint32(1100), pattern(1024))
	add(0, bth(0x08, 0x40, 0x22, 101|ackReq), pattern(76))
	add(1, bth(0x11, 0x40, 0x11, 101), 0x1f, []byte{0, 0, 1})
	add(0, bth(0x0c, 0x40, 0x22, 102|ackReq), uint64(0x7f0000001000), uint32(0xabcd), uint32(41))
	add(1, bth(0x10, 0x70, 0x11, 102), 0x1f, []byte{0, 0, 2}, pattern(44)) // pad 3
	add(0, bth(0x64, 0x40, 0x33, 7), uint32(0x11111111), uint32(0x44), pattern(16))
	return packets, from
}

// rocev1: IBA A16.
func rocev1() []byte {
	var frames [][]byte
	packets, from := conversation()
	for _, ends := range [][2][]byte{{gid1, gid2}, {gid4, gid5}} {
		for i, p := range packets {
			frames = append(frames, ether(0x8915, grh(ends[from[i]], ends[1-from[i]], p)))
		}
	}
	return pcap(ethernet, frames...)
}

// sample is the sample packet of IBA 7.8.3, whose ICRC is given there as 0x9625b75a.
const sample = "7012375c000e17d20a20248700" + "87b1b3000dec2a01710a1c015d400238f27a05" +
	"0000000ebb884d85fd5cfba4728bc0690ed400009625b75a"

func samplePacket() []byte {
	b, err := hex.DecodeString(sample)
	if err != nil {
		return nil
	}
	v := crc16(b)
	return append(b, byte(v), byte(v>>8))
}

func localPackets() [][]byte {
	frames := [][]byte{samplePacket()}
	packets, from := conversation()
	lids := [2]uint16{5, 9}
	for i, p := range packets {
		frames = append(frames, local(1, 2, lids[1-from[i]], lids[from[i]], false, p))
	}
	gids := [2][]byte{gid1, gid2}
	for i, p := range packets {
		frames = append(frames, local(0, 0, lids[1-from[i]], lids[from[i]], true, grh(gids[from[i]], gids[1-from[i]],
			p)))
	}
	return frames
}

// infiniband: IBA 7.7, 7.8 and 8.3. One VCRC is wrong, one packet is raw.
func infiniband() []byte {
	frames := localPackets()
	last := append([]byte{}, frames[3]...)
	last[len(last)-1] ^= 0xff
	raw := join(0, 0, uint16(5), uint16(6), uint16(9), pattern(16), uint16(0))
	return pcap(infiniBand, append(frames, last, raw)...)
}

// erfRecords: Endace, "ERF types reference guide": type 21 (InfiniBand), with and without an
// extension header, and type 2 (Ethernet).
func erfRecords() []byte {
	record := func(kind, extensions int, b []byte) []byte {
		n := 16 + 8*extensions + len(b)
		h := join(uint64(0), kind, 4, uint16(n), uint16(0), uint16(len(b)))
		if extensions > 0 {
			h[8] |= 0x80
		}
		for i := range extensions {
			e := make([]byte, 8)
			e[0] = 3
			if i < extensions-1 {
				e[0] |= 0x80
			}
			h = append(h, e...)
		}
		return append(h, b...)
	}
	p := localPackets()
	return pcap(erf, record(21, 0, p[1]), record(21, 2, p[2]), record(21, 1, p[9]),
		record(2, 0, join(uint16(0), ether(0x0800, roce2(1)))))
}
