package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// Flush is what a WRFlush flushes: Length bytes at RemoteAddr, or all of the region of
// RKey, in which case address and length mean nothing (IBA A19).
type Flush struct {
	Length uint32 // bytes, up to 2^31
	Type   FlushType
	Level  FlushLevel
}

// FlushType is a set of what a flush is to bring about. Values are those of
// ibv_placement_type and of the FETH.
type FlushType uint8

const (
	FlushToGlobal     FlushType = 1 << 0 // visible to all
	FlushToPersistent FlushType = 1 << 1 // safe from a loss of power
)

// Valid is true for a set of the types above that is not empty.
func (t FlushType) Valid() bool { return t != 0 && t&^(FlushToGlobal|FlushToPersistent) == 0 }

// Access is the right that a flush of this type needs on the region and on the queue pair
// at the peer.
func (t FlushType) Access() (need mr.Access) {
	if t&FlushToGlobal != 0 {
		need |= mr.FlushGlobal
	}
	if t&FlushToPersistent != 0 {
		need |= mr.FlushPersistent
	}
	return need
}

// FlushLevel says how much is flushed. Values are those of ibv_selectivity_level.
type FlushLevel uint8

const (
	FlushRange  FlushLevel = 0 // Length bytes at RemoteAddr
	FlushRegion FlushLevel = 1 // the whole memory region
)

// LocalWork is what a work request asks of the queue pair's own key table.
type LocalWork struct {
	Bind mr.Bind    // of a WRBindMW
	Reg  mr.FastReg // of a WRRegMR
}

// keep copies what wr asks of the key table into w.
func (w *SendWQE) keep(wr *SendWR) {
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

// checkMemory holds a request that works on keys or flushes against its rules.
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
		return fmt.Errorf("qp: %w: flush of type %#x; it is global (1), persistent (2) or both (3)", ErrBadWR, uint8(wr.Flush.Type))
	case wr.Flush.Level > FlushRegion:
		return fmt.Errorf("qp: %w: flush of level %d; it is a range (0) or the whole region (1)", ErrBadWR, uint8(wr.Flush.Level))
	case wr.Flush.Length > MaxMessage:
		return fmt.Errorf("qp: %w: flush of %d bytes, the limit is %d", ErrTooLarge, wr.Flush.Length, uint32(MaxMessage))
	}
	return nil
}

// IsLocal is true for the operations that a queue pair does on its own: nothing of them
// goes over the wire.
func (o WROpcode) IsLocal() bool { return o.Valid() && wrOpcodes[o].flags&wrLocal != 0 }
