package scenario

// Memory layout of every node. Messages are sent from the first MemSource bytes, which are never
// written; all writes go to the rest.
const (
	MemBase   = 0x10000 // address of the first byte in every region
	MemSize   = 96 << 10
	MemSource = 40 << 10
)

// Limits of each queue pair.
const (
	MaxSGE    = 5   // SGEs of a work request
	MaxInline = 256 // bytes of an inline message
	MaxQueue  = 256 // work requests of each queue
)

// InfiniteRNR is the RNR retry count that means retry without limit (IBA 9.7.5.2.8).
const InfiniteRNR = 7
