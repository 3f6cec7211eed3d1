// Package specs writes captures of protocols that no tool at hand produces, from their
// specifications. It shares no code with the decoder: CRCs are computed bit by bit. Each file tells
// its sources. The test of the package compares the captures with those in trace/testdata/specs,
// and writes them with -update.
package specs

import (
	"encoding/binary"
	"sort"
)

// Link types of the captures.
const (
	ethernet   = 1
	erf        = 197
	infiniBand = 247
)

// Capture is a capture file.
type Capture struct {
	Name string
	Data []byte // pcap
}

// Captures returns all captures, by name.
func Captures() []Capture {
	var all []Capture
	for name, make := range map[string]func() []byte{
		"rocev1": rocev1, "infiniband": infiniband, "erf": erfRecords, "iwarp": iwarpStream, "iwarp_nocrc": iwarpNoCRC,
		"uet": ultraEthernet, "pause": pauseFrames, "vxlan_gpe": vxlanGPE, "geneve_options": geneveOptions,
		"mpls_pseudowire": mplsPseudowire, "erspan3_subheader": erspanSubheader, "others": others,
	} {
		all = append(all, Capture{name, make()})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// pcap returns a capture of frames, one each millisecond.
func pcap(link uint32, frames ...[]byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0)
	b = le.AppendUint32(b, link)
	for i, f := range frames {
		for _, v := range []int{1700000000, i * 1000, len(f), len(f)} {
			b = le.AppendUint32(b, uint32(v))
		}
		b = append(b, f...)
	}
	return b
}

// join concatenates parts: byte slices, bytes as int, and big-endian uint16, uint32 and uint64.
func join(parts ...any) (b []byte) {
	be := binary.BigEndian
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case uint16:
			b = be.AppendUint16(b, p)
		case uint32:
			b = be.AppendUint32(b, p)
		case uint64:
			b = be.AppendUint64(b, p)
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

// bitwise returns the CRC of b with a polynomial given least significant bit first, and all ones as
// initial value; complemented.
func bitwise(polynomial, ones uint32, b []byte) uint32 {
	v := ones
	for _, c := range b {
		v ^= uint32(c)
		for range 8 {
			if v&1 != 0 {
				v = v>>1 ^ polynomial
			} else {
				v >>= 1
			}
		}
	}
	return v ^ ones
}

func crc32(b []byte) uint32  { return bitwise(0xedb88320, 0xffffffff, b) } // IEEE 802.3, of the ICRC
func crc32c(b []byte) uint32 { return bitwise(0x82f63b78, 0xffffffff, b) } // RFC 3385, of MPA
func crc16(b []byte) uint16  { return uint16(bitwise(0xd008, 0xffff, b)) } // IBA 7.8.2, of the VCRC

// pattern returns n bytes that differ.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + 3)
	}
	return b
}
