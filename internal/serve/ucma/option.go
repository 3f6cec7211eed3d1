//go:build linux

package ucma

import (
	"encoding/binary"
	"fmt"

	"github.com/gorxe/gorxe/internal/uapi"
)

// options are the options of an identifier. Zero values are the defaults.
type options struct {
	tos       uint8
	reuseAddr bool
	afOnly    bool
	timeout   uint8 // code n of the local ACK timeout, 4.096 µs × 2^n
	timed     bool  // timeout is set
}

// defaultTimeout is the code of rdma_cm's default local ACK timeout: 0.5 s.
const defaultTimeout = packetLifeTime + 1

func (o *options) ackTimeout() uint8 {
	if o.timed {
		return o.timeout
	}
	return defaultTimeout
}

// maxOption is the maximum size of an option in bytes.
const maxOption = 4

func (r *request) fetchOption() error {
	q, err := decode[uapi.UCMSetOption](r)
	if err != nil {
		return err
	}
	if q.OptLen > maxOption {
		return nil // no supported option is that long
	}
	r.option = make([]byte, q.OptLen)
	if err := r.caller.Read(q.OptVal, r.option); err != nil {
		return fmt.Errorf("reading an option at %#x of the program: %w: %w", q.OptVal, uapi.EFAULT, err)
	}
	return nil
}

func (r *request) setOption(q *uapi.UCMSetOption) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	if uapi.OptionLevel(q.Level) != uapi.OptionLevelID {
		return nil, fmt.Errorf("option %d of level %v: %w", q.OptName, uapi.OptionLevel(q.Level), uapi.ENOSYS)
	}
	name, value := uapi.OptionID(q.OptName), r.option
	size := map[uapi.OptionID]uint32{
		uapi.OptionIDTOS: 1, uapi.OptionIDReuseAddr: 4, uapi.OptionIDAFOnly: 4, uapi.OptionIDAckTimeout: 1,
	}[name]
	switch {
	case size == 0:
		return nil, fmt.Errorf("option %v: %w", name, uapi.ENOSYS)
	case q.OptLen != size:
		return nil, fmt.Errorf("option %v of %d bytes, it has %d: %w", name, q.OptLen, size, uapi.EINVAL)
	}
	switch name {
	case uapi.OptionIDTOS:
		i.tos = value[0]
	case uapi.OptionIDReuseAddr:
		if err := i.in(idle, addrBound, addrResolved, routeResolved); err != nil {
			return nil, err
		}
		i.reuseAddr = binary.LittleEndian.Uint32(value) != 0
	case uapi.OptionIDAFOnly:
		if err := i.in(idle, addrBound); err != nil {
			return nil, err
		}
		i.afOnly = binary.LittleEndian.Uint32(value) != 0
	case uapi.OptionIDAckTimeout:
		if value[0] > 31 {
			return nil, fmt.Errorf("ACK timeout %d, the largest is 31: %w", value[0], uapi.EINVAL)
		}
		i.timeout, i.timed = value[0], true
	}
	return nil, nil
}
