//go:build linux && (amd64 || arm64)

package trap

import "fmt"

const (
	// reservedDescriptors is how many descriptor numbers are reserved where the limit allows.
	reservedDescriptors = 64
	// selectLimit is FD_SETSIZE: programs that use select cannot handle numbers from it up.
	selectLimit = 1024
)

// Descriptors are the descriptor numbers reserved for objects in the programs. They are part of
// the filter, so [Serve] needs the same ones as [Start].
type Descriptors struct {
	Lo, Hi int // first and last reserved number
	// Channel is the first number of [SlotChannel]; the numbers below are those of [SlotControl].
	Channel int
	// WriteLo is the first number whose write is trapped: Channel, or Lo to trap the doorbells
	// on control descriptors too.
	WriteLo int
}

// DescriptorsFor returns the numbers to reserve in programs with this soft RLIMIT_NOFILE: the
// highest 64 below 1024, or below the limit if that is lower; half of the numbers if the limit
// is below 128. A limit below 32 is [ErrFewDescriptors].
func DescriptorsFor(limit uint64) (Descriptors, error) {
	if limit < 32 {
		return Descriptors{}, fmt.Errorf("%w: it is %d", ErrFewDescriptors, limit)
	}
	top := int(min(limit, selectLimit))
	n := min(reservedDescriptors, top/2)
	d := Descriptors{Lo: top - n, Hi: top - 1, Channel: top - n*3/8}
	d.WriteLo = d.Channel
	return d, nil
}

// Contains reports whether fd is reserved.
func (d Descriptors) Contains(fd int) bool { return d.Lo <= fd && fd <= d.Hi }

// slot returns the numbers of s, first and last.
func (d Descriptors) slot(s Slot) (lo, hi int) {
	if s == SlotControl {
		return d.Lo, d.Channel - 1
	}
	return d.Channel, d.Hi
}

// slotOf returns the slot of a reserved number.
func (d Descriptors) slotOf(fd int) Slot {
	if fd < d.Channel {
		return SlotControl
	}
	return SlotChannel
}

func (d Descriptors) valid() bool {
	return 3 <= d.Lo && d.Lo < d.Channel && d.Channel <= d.Hi && d.Lo <= d.WriteLo && d.WriteLo <= d.Hi
}

// A Slot selects the number of a descriptor that is installed in a program.
type Slot uint8

const (
	// SlotLowest is the lowest free number: ioctl on it is trapped, write and fstat are not.
	SlotLowest Slot = iota
	// SlotControl is a reserved number: ioctl and fstat are trapped, write if WriteLo is Lo.
	SlotControl
	// SlotChannel is a reserved number: ioctl, fstat and write are trapped.
	SlotChannel
)
