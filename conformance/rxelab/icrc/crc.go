// Package icrc checks the invariant CRC of RoCEv2 packets in captures. It is independent of the
// code under test: it shares no code with the packages that compute the ICRC for gorxe, and
// derives it from the polynomial. [Check] reads a capture and returns a [Summary].
package icrc

// polynomial is the CRC-32 polynomial (IEEE 802.3), bit-reflected. The ICRC uses it (IBA volume
// 1, 7.8.1).
const polynomial = 0xedb88320

// table holds the remainder of every byte, computed bit by bit.
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

// register is the shift register of the CRC. It starts with all ones and is complemented at the
// end.
type register uint32

func (r register) feed(b []byte) register {
	for _, c := range b {
		r = register(table[byte(r)^c]) ^ r>>8
	}
	return r
}

func (r register) sum() uint32 { return ^uint32(r) }

const start register = 0xffffffff
