package qp

import "fmt"

// MTU is a path MTU: the largest payload of one packet in bytes, one of 256, 512, 1024,
// 2048 and 4096.
type MTU int

const (
	MinMTU MTU = 256
	MaxMTU MTU = 4096
)

// mtuOverhead is what rxe keeps free of the netdev's MTU for the headers in front of and
// behind the payload. Both ends must agree on the path MTU, hence on this number.
const mtuOverhead = 80

// Valid is true for the five sizes IBA knows.
func (m MTU) Valid() bool { return m >= MinMTU && m <= MaxMTU && m&(m-1) == 0 }

// Enum is the number IBA and ibv_mtu give the size: 1 for 256 to 5 for 4096; 0 when m is
// not valid.
func (m MTU) Enum() int {
	for e := 1; e <= 5; e++ {
		if MTUFromEnum(e) == m {
			return e
		}
	}
	return 0
}

// MTUFromEnum is the inverse of Enum; it gives 0, which is not valid, for a number
// outside 1 to 5.
func MTUFromEnum(e int) MTU {
	if e < 1 || e > 5 {
		return 0
	}
	return 128 << e
}

// MTUForLink is the largest path MTU for a network device whose MTU is netdevMTU bytes of
// IP, as rxe finds it: not above netdevMTU-80. It is 0 when not even 256 fits.
func MTUForLink(netdevMTU int) MTU {
	for m := MaxMTU; m >= MinMTU; m /= 2 {
		if int(m) <= netdevMTU-mtuOverhead {
			return m
		}
	}
	return 0
}

// String is the size in bytes, with a remark when it is not valid.
func (m MTU) String() string {
	if m.Valid() {
		return fmt.Sprint(int(m))
	}
	return fmt.Sprintf("%d (not an MTU)", int(m))
}
