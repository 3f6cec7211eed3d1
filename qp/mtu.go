package qp

import "fmt"

// MTU is a path MTU: the maximum payload of a packet in bytes, one of 256, 512, 1024, 2048 and
// 4096.
type MTU int

const (
	MinMTU MTU = 256
	MaxMTU MTU = 4096
)

// mtuOverhead is the number of bytes of the netdev MTU that rxe reserves for headers and
// trailer. Both peers must choose the same path MTU, hence the same overhead.
const mtuOverhead = 80

// Valid reports whether m is one of the five IBA sizes.
func (m MTU) Valid() bool { return m >= MinMTU && m <= MaxMTU && m&(m-1) == 0 }

// Enum returns the value of m as ibv_mtu: 1 for 256 to 5 for 4096; 0 if m is not valid.
func (m MTU) Enum() int {
	for e := 1; e <= 5; e++ {
		if MTUFromEnum(e) == m {
			return e
		}
	}
	return 0
}

// MTUFromEnum is the inverse of [MTU.Enum]. It returns 0, which is not valid, for values
// outside 1 to 5.
func MTUFromEnum(e int) MTU {
	if e < 1 || e > 5 {
		return 0
	}
	return 128 << e
}

// MTUForLink returns the largest path MTU for a network device with an IP MTU of netdevMTU
// bytes, as rxe computes it: at most netdevMTU-80. It returns 0 if not even 256 fits.
func MTUForLink(netdevMTU int) MTU {
	for m := MaxMTU; m >= MinMTU; m /= 2 {
		if int(m) <= netdevMTU-mtuOverhead {
			return m
		}
	}
	return 0
}

// String returns the size in bytes, marked if m is not valid.
func (m MTU) String() string {
	if m.Valid() {
		return fmt.Sprint(int(m))
	}
	return fmt.Sprintf("%d (not an MTU)", int(m))
}
