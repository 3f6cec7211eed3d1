package rings

import (
	"encoding/binary"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Offsets in struct rxe_send_wqe. The fields between wr and dma are for internal use by the
// kernel.
const (
	sendID     = 0
	sendOpcode = 12
	sendFlags  = 16
	sendImm    = 20 // big-endian immediate data, or the key to invalidate in host byte order

	rdmaAddr = 24
	rdmaKey  = 32

	atomicAddr    = 24
	atomicCompare = 32
	atomicSwap    = 40
	atomicKey     = 48

	udQPN  = 24
	udQKey = 28
	udAH   = 36

	windowAddr   = 24
	windowLength = 32
	windowLKey   = 40
	windowKey    = 44 // current key of the window
	windowNewKey = 48
	windowAccess = 52

	flushAddr   = 24
	flushLength = 32
	flushKey    = 36
	flushType   = 40
	flushLevel  = 41

	sendDMA    = 184
	sendHeader = sendDMA + dmaHeader // offset of the SGEs or the inline data
)

// Offsets in struct rxe_dma_info.
const (
	dmaLength = 0
	dmaNumSGE = 12
	dmaHeader = 24 // offset of the SGEs or the inline data
)

// Offsets in struct rxe_sge.
const (
	sgeAddr   = 0
	sgeLength = 8
	sgeLKey   = 12
	sgeSize   = 16
)

// atomicBytes is the operand size of ATOMIC_WRITE in bytes.
const atomicBytes = 8

// sentFlags are the supported flags. Like Linux, the ring ignores the others.
const sentFlags = qp.Fence | qp.Signaled | qp.Solicited | qp.Inline

// target is the member of the union wr of struct rxe_send_wr that is used.
type target uint8

const (
	targetNone target = iota // none for a connected queue pair; member ud for UD
	targetRDMA
	targetAtomic
	targetWindow
	targetFlush
)

// extra is the meaning of the union ex of struct rxe_send_wr.
type extra uint8

const (
	extraNone extra = iota
	extraImm
	extraKey
)

// source is the location of the request's data.
type source uint8

const (
	sourceSG    source = iota // SGEs, or inline data with the flag Inline
	sourceNone                // no data: SGEs are ignored, as in Linux
	sourceEight               // 8 bytes, in place of the first SGE
)

// A sendForm describes which fields of an element are valid for an opcode.
type sendForm struct {
	known  bool
	target target
	extra  extra
	source source
}

var sendForms = [...]sendForm{
	qp.WRWrite:       {true, targetRDMA, extraNone, sourceSG},
	qp.WRWriteImm:    {true, targetRDMA, extraImm, sourceSG},
	qp.WRSend:        {true, targetNone, extraNone, sourceSG},
	qp.WRSendImm:     {true, targetNone, extraImm, sourceSG},
	qp.WRRead:        {true, targetRDMA, extraNone, sourceSG},
	qp.WRCmpSwap:     {true, targetAtomic, extraNone, sourceSG},
	qp.WRFetchAdd:    {true, targetAtomic, extraNone, sourceSG},
	qp.WRLocalInv:    {true, targetNone, extraKey, sourceNone},
	qp.WRBindMW:      {true, targetWindow, extraNone, sourceNone},
	qp.WRSendInv:     {true, targetNone, extraKey, sourceSG},
	qp.WRFlush:       {true, targetFlush, extraNone, sourceNone},
	qp.WRAtomicWrite: {true, targetRDMA, extraNone, sourceEight},
}

// host is the byte order of the processor, which is that of the program too.
var host = binary.NativeEndian

// decode fills wr from the private copy of a slot. It returns false if the slot does not hold a
// valid request; wr.ID is set in any case.
func (r *SendRing) decode(wr *qp.SendWR) bool {
	e := r.copied
	*wr = qp.SendWR{ID: host.Uint64(e[sendID:]), SGList: wr.SGList[:0], InlineData: wr.InlineData[:0]}
	op := host.Uint32(e[sendOpcode:])
	if op >= uint32(len(sendForms)) || !sendForms[op].known {
		return false
	}
	form := &sendForms[op]
	wr.Opcode = qp.WROpcode(op)
	wr.Flags = qp.SendFlags(host.Uint32(e[sendFlags:])) & sentFlags
	if r.cfg.SigAll {
		wr.Flags |= qp.Signaled
	}
	switch form.extra {
	case extraImm:
		wr.Imm = binary.BigEndian.Uint32(e[sendImm:])
	case extraKey:
		wr.Imm = host.Uint32(e[sendImm:])
	}
	return r.decodeTarget(wr, form.target) && r.decodeData(wr, form.source)
}

// decodeTarget decodes the target of the request. It returns false if the address handle does not
// exist.
func (r *SendRing) decodeTarget(wr *qp.SendWR, t target) bool {
	e := r.copied
	switch t {
	case targetNone:
		if !r.cfg.Datagram {
			return true
		}
		wr.RemoteQPN, wr.RemoteQKey = bth.QPN(host.Uint32(e[udQPN:])), host.Uint32(e[udQKey:])
		ah, ok := r.cfg.AH(host.Uint32(e[udAH:]))
		wr.AH = ah
		return ok
	case targetRDMA:
		wr.RemoteAddr, wr.RKey = host.Uint64(e[rdmaAddr:]), host.Uint32(e[rdmaKey:])
	case targetAtomic:
		wr.RemoteAddr, wr.RKey = host.Uint64(e[atomicAddr:]), host.Uint32(e[atomicKey:])
		wr.CompareAdd, wr.Swap = host.Uint64(e[atomicCompare:]), host.Uint64(e[atomicSwap:])
	case targetWindow:
		r.bind = mr.Bind{
			Key: host.Uint32(e[windowKey:]), NewKey: host.Uint32(e[windowNewKey:]), LKey: host.Uint32(e[windowLKey:]),
			Addr: host.Uint64(e[windowAddr:]), Length: host.Uint64(e[windowLength:]),
			// LOCAL_WRITE has no meaning for a window. rxe ignores it, and programs set it.
			Access: mr.Access(host.Uint32(e[windowAccess:])) &^ mr.LocalWrite,
		}
		wr.Bind = &r.bind
	case targetFlush:
		wr.RemoteAddr, wr.RKey = host.Uint64(e[flushAddr:]), host.Uint32(e[flushKey:])
		wr.Flush = qp.Flush{
			Length: host.Uint32(e[flushLength:]),
			Type:   qp.FlushType(e[flushType]), Level: qp.FlushLevel(e[flushLevel]),
		}
	}
	return true
}

// decodeData decodes the SGEs or inline data of the request, and reports whether their number or
// length is within the limits.
func (r *SendRing) decodeData(wr *qp.SendWR, s source) bool {
	dma, data := r.copied[sendDMA:sendHeader], r.copied[sendHeader:]
	switch {
	case s == sourceNone:
	case s == sourceEight:
		wr.Flags |= qp.Inline
		wr.InlineData = append(wr.InlineData, data[:atomicBytes]...)
	case wr.Flags&qp.Inline != 0:
		n := host.Uint32(dma[dmaLength:])
		if uint64(n) > uint64(r.cfg.MaxInline) {
			return false
		}
		wr.InlineData = append(wr.InlineData, data[:n]...)
	default:
		n := host.Uint32(dma[dmaNumSGE:])
		if uint64(n) > uint64(r.cfg.MaxSGE) {
			return false
		}
		wr.SGList = slices.Grow(wr.SGList, r.cfg.MaxSGE)
		for ; n > 0; n-- {
			wr.SGList = append(wr.SGList, sgeOf(data))
			data = data[sgeSize:]
		}
	}
	return true
}

// sgeOf decodes the struct rxe_sge at the start of b.
func sgeOf(b []byte) qp.SGE {
	return qp.SGE{Addr: host.Uint64(b[sgeAddr:]), Length: host.Uint32(b[sgeLength:]), LKey: host.Uint32(b[sgeLKey:])}
}
