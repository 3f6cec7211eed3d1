package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// Flush has the parameters of a WRFlush. With Level FlushRange it flushes Length bytes at
// SendWR.RemoteAddr, with FlushRegion the whole region of SendWR.RKey; address and length are then
// ignored (IBA annex A19).
type Flush struct {
	Length uint32 // bytes, up to 2^31
	Type   FlushType
	Level  FlushLevel
}

// FlushType is the set of effects of a flush. The values are those of ibv_placement_type and of
// the FETH.
type FlushType uint8

const (
	FlushToGlobal     FlushType = 1 << 0 // globally visible
	FlushToPersistent FlushType = 1 << 1 // persistent across a power loss
)

// Valid reports whether t is a non-empty set of the types above.
func (t FlushType) Valid() bool { return t != 0 && t&^(FlushToGlobal|FlushToPersistent) == 0 }

// Access returns the access rights that a flush of this type requires from the region and the
// queue pair of the responder.
func (t FlushType) Access() (need mr.Access) {
	if t&FlushToGlobal != 0 {
		need |= mr.FlushGlobal
	}
	if t&FlushToPersistent != 0 {
		need |= mr.FlushPersistent
	}
	return need
}

// FlushLevel selects what is flushed. The values are those of ibv_selectivity_level.
type FlushLevel uint8

const (
	FlushRange  FlushLevel = 0 // Length bytes at RemoteAddr
	FlushRegion FlushLevel = 1 // the whole memory region
)

// LocalWork holds the parameters of a work request that changes the key table.
type LocalWork struct {
	Bind mr.Bind    // of a WRBindMW
	Reg  mr.FastReg // of a WRRegMR
}

// copyLocal copies the parameters of wr that change the key table to w: those of the binding of a
// memory window or of a fast registration.
func (w *SendWQE) copyLocal(wr *SendWR) {
	if wr.Bind == nil && wr.Reg == nil {
		return
	}
	if w.Local == nil {
		w.Local = new(LocalWork)
	}
	if wr.Bind != nil {
		w.Local.Bind = *wr.Bind
	}
	if wr.Reg != nil {
		w.Local.Reg = *wr.Reg
	}
}

// checkMemory checks the parameters of a flush or of a request that changes the key table.
func (wr *SendWR) checkMemory() error {
	if wrOpcodes[wr.Opcode].flags&wrNoData != 0 && len(wr.SGList) > 0 {
		return fmt.Errorf("qp: %w: %v has no data and takes no SGEs, not %d", ErrBadWR, wr.Opcode, len(wr.SGList))
	}
	switch {
	case wr.Opcode == WRBindMW && wr.Bind == nil:
		return fmt.Errorf("qp: %w: %v needs Bind, the window and where to bind it", ErrBadWR, wr.Opcode)
	case wr.Opcode == WRRegMR && wr.Reg == nil:
		return fmt.Errorf("qp: %w: %v needs Reg, the region and its memory", ErrBadWR, wr.Opcode)
	case wr.Opcode != WRFlush:
		return nil
	case !wr.Flush.Type.Valid():
		return fmt.Errorf("qp: %w: flush of type %#x; it is global (1), persistent (2) or both (3)",
			ErrBadWR, uint8(wr.Flush.Type))
	case wr.Flush.Level > FlushRegion:
		return fmt.Errorf("qp: %w: flush of level %d; it is a range (0) or the whole region (1)",
			ErrBadWR, uint8(wr.Flush.Level))
	case wr.Flush.Length > MaxMessage:
		return fmt.Errorf("qp: %w: flush of %d bytes, the limit is %d",
			ErrTooLarge, wr.Flush.Length, uint32(MaxMessage))
	}
	return nil
}

// IsLocal reports whether the queue pair executes the operation without sending a packet.
func (o WROpcode) IsLocal() bool { return o.Valid() && wrOpcodes[o].flags&wrLocal != 0 }
