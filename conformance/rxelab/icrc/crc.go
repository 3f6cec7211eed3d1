// Package icrc checks the invariant CRC of RoCEv2 packets in captures, independently of the code under test: it shares no line
// with the packages that compute it for gorxe, and works from the polynomial.
package icrc

// polynomial is that of CRC-32 (IEEE 802.3), bit-reflected: IBA volume 1, 7.8.1 uses it for the ICRC.
const polynomial = 0xedb88320

// table holds the remainder of every byte, worked out bit by bit.
var table = func() (t [256]uint32) {
	for i := range t {
		r := uint32(i)
		for range 8 {
			low := r & 1
			r >>= 1
			if low == 1 {
				r ^= polynomial
			}
		}
		t[i] = r
	}
	return t
}()

// register is the shift register of the CRC; it starts with all ones and is complemented at the end.
type register uint32

func (r register) feed(b []byte) register {
	for _, c := range b {
		r = register(table[byte(r)^c]) ^ r>>8
	}
	return r
}

func (r register) sum() uint32 { return ^uint32(r) }

const start register = 0xffffffff
