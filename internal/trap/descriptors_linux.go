//go:build linux && (amd64 || arm64)

package trap

import (
	"fmt"
	"iter"
	"math"
)

const (
	// reservedDescriptors is how many descriptor numbers a window has.
	reservedDescriptors = 64
	// selectLimit is FD_SETSIZE: select(2) cannot handle descriptors from this number up. It is a
	// power of two.
	selectLimit = 1024
	// loweredLimit is the end of the lower spare window (192 to 255), for programs that lower their
	// soft limit below 1024.
	loweredLimit = 256
	// channelDescriptors is how many numbers of a window belong to [SlotChannel].
	channelDescriptors = reservedDescriptors * 3 / 8
)

// Descriptors holds the descriptor numbers that are reserved for objects in the programs. The
// filter contains these numbers, so [Serve] needs the same Descriptors as [Start].
//
// A program that has its own files on these numbers, or that has changed its limit, gets numbers of
// the spare windows: 192 to 255, and the last 64 of each 1024. More spare numbers would trap more
// file operations of a program with thousands of descriptors.
type Descriptors struct {
	Lo, Hi int // first and last number of the preferred window, which is used first
	// Channel is the first number of [SlotChannel] in the preferred window; the numbers from Lo to
	// Channel-1 belong to [SlotControl].
	Channel int
	// WriteLo is the first number on which write is trapped: Channel, or Lo to trap doorbells on
	// control descriptors too. In spare windows the same slots are trapped.
	WriteLo int
}

// DescriptorsFor returns the numbers to reserve in programs with this soft RLIMIT_NOFILE: the
// highest 64 below 1024, 256 or 192, whichever is the largest that the limit allows. For a limit
// below 192 they are the highest 64 below the limit; for a limit below 128, the upper half of the
// numbers below it. A limit below 32 is [ErrFewDescriptors].
func DescriptorsFor(limit uint64) (Descriptors, error) {
	if limit < 32 {
		return Descriptors{}, fmt.Errorf("%w: it is %d", ErrFewDescriptors, limit)
	}
	top := int(min(limit, selectLimit))
	// With a limit between two of these, the numbers below it would overlap a spare window.
	for _, t := range []int{selectLimit, loweredLimit, loweredLimit - reservedDescriptors} {
		if top >= t {
			top = t
			break
		}
	}
	n := min(reservedDescriptors, top/2)
	d := Descriptors{Lo: top - n, Hi: top - 1, Channel: top - n*channelDescriptors/reservedDescriptors}
	d.WriteLo = d.Channel
	return d, nil
}

// A window is a range of reserved numbers: lo to channel-1 belong to [SlotControl], channel to hi
// to [SlotChannel].
type window struct{ lo, channel, hi int }

// windowBelow returns the window whose numbers end below top.
func windowBelow(top int) window {
	return window{top - reservedDescriptors, top - channelDescriptors, top - 1}
}

// slot returns the first and the last number of s in the window.
func (w window) slot(s Slot) (lo, hi int) {
	if s == SlotControl {
		return w.lo, w.channel - 1
	}
	return w.channel, w.hi
}

func (w window) contains(fd int) bool { return w.lo <= fd && fd <= w.hi }

// preferred returns the window that is used first.
func (d Descriptors) preferred() window { return window{d.Lo, d.Channel, d.Hi} }

// windows yields the windows in the order of their use, up to the largest descriptor number.
func (d Descriptors) windows() iter.Seq[window] {
	return func(yield func(window) bool) {
		if !yield(d.preferred()) || !yield(windowBelow(loweredLimit)) {
			return
		}
		for top := selectLimit; top <= math.MaxInt32; top += selectLimit {
			if w := windowBelow(top); w != d.preferred() && !yield(w) {
				return
			}
		}
	}
}

// windowOf returns the window that contains fd, or false if fd is not reserved.
func (d Descriptors) windowOf(fd int) (window, bool) {
	next := windowBelow(fd/selectLimit*selectLimit + selectLimit)
	for _, w := range []window{d.preferred(), windowBelow(loweredLimit), next} {
		if w.contains(fd) {
			return w, true
		}
	}
	return window{}, false
}

// Contains reports whether fd is a reserved number.
func (d Descriptors) Contains(fd int) bool {
	_, ok := d.windowOf(fd)
	return ok
}

// slotOf returns the slot of a reserved number.
func (d Descriptors) slotOf(fd int) Slot {
	if w, _ := d.windowOf(fd); fd < w.channel {
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
	// SlotLowest is the lowest free number. ioctl on it is trapped, write and fstat are not.
	SlotLowest Slot = iota
	// SlotControl is a reserved number. ioctl and fstat on it are trapped, write only if WriteLo
	// is Lo.
	SlotControl
	// SlotChannel is a reserved number. ioctl, fstat and write on it are trapped.
	SlotChannel
)
