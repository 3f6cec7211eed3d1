package bth

// RETH is the RDMA extended transport header (IBA 9.3.3).
type RETH struct {
	VA     uint64 // remote address of the first byte
	RKey   uint32
	DMALen uint32 // length of the whole operation in bytes, 0 to 2^31
}

// AtomicETH is the atomic extended transport header (IBA 9.3.4).
type AtomicETH struct {
	VA      uint64 // remote address, a multiple of 8
	RKey    uint32
	SwapAdd uint64 // value to store (compare and swap) or to add (fetch and add)
	Compare uint64 // value to compare with; not used by fetch and add
}

// AETH is the acknowledge extended transport header (IBA 9.3.5).
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // message sequence number, 24 bits
}

// DETH is the datagram extended transport header (IBA 9.3.2).
type DETH struct {
	QKey  uint32
	SrcQP QPN
}

// FETH is the flush extended transport header (IBA annex A19).
type FETH struct {
	Type  uint8 // placement type, bits 3:0: 1 global visibility, 2 persistence
	Level uint8 // selectivity level, bits 5:4: 0 the range of the RETH, 1 the whole memory region
}
