package rings

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/qp"
)

// Offsets in struct ib_uverbs_wc, whose layout is that of struct ibv_wc. The fields for LIDs
// and the P_Key index are 0 on RoCE.
const (
	wcID        = 0
	wcStatus    = 8
	wcOpcode    = 12
	wcVendorErr = 16
	wcByteLen   = 20
	wcImm       = 24 // big-endian immediate data, or the invalidated key in host byte order
	wcQPN       = 28
	wcSrcQP     = 32
	wcFlags     = 36
	wcSL        = 44
	wcPort      = 46
	wcSize      = 48
)

// port is the number of the only port.
const port = 1

// encodeWC encodes wc to b. Status, opcode and flags have the values of libibverbs, because
// librxe passes the bytes through unchanged; the flag of an invalidated key is therefore 8.
func encodeWC(b *[wcSize]byte, wc *qp.WC) {
	*b = [wcSize]byte{}
	host.PutUint64(b[wcID:], wc.WRID)
	host.PutUint32(b[wcStatus:], uint32(wc.Status))
	host.PutUint32(b[wcOpcode:], uint32(wc.Opcode))
	host.PutUint32(b[wcVendorErr:], wc.VendorErr)
	host.PutUint32(b[wcByteLen:], wc.ByteLen)
	if wc.Flags&qp.WithInv != 0 {
		host.PutUint32(b[wcImm:], wc.Imm)
	} else {
		binary.BigEndian.PutUint32(b[wcImm:], wc.Imm)
	}
	host.PutUint32(b[wcQPN:], uint32(wc.QPN))
	host.PutUint32(b[wcSrcQP:], uint32(wc.SrcQP))
	host.PutUint32(b[wcFlags:], uint32(wc.Flags))
	b[wcSL], b[wcPort] = wc.SL, port
}
