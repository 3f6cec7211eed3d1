package bth

// PSN is a packet sequence number: 24 bits, counted modulo 2^24 (IBA 9.7).
// Values above [MaxPSN] do not occur on the wire; the methods reduce their
// results and accept unreduced operands.
type PSN uint32

// MaxPSN is the largest packet sequence number; the next one is 0.
const MaxPSN PSN = 1<<24 - 1

// Add returns the PSN n packets after p.
func (p PSN) Add(n uint32) PSN { return (p + PSN(n)) & MaxPSN }

// Sub returns the PSN n packets before p.
func (p PSN) Sub(n uint32) PSN { return (p - PSN(n)) & MaxPSN }

// Diff returns p-q as a signed distance in [-2^23, 2^23). Two PSNs exactly
// 2^23 apart are each that far behind the other, as in Linux rxe.
func (p PSN) Diff(q PSN) int32 { return int32((p-q)<<8) >> 8 }

// Before reports whether p is older than q: p.Diff(q) < 0.
func (p PSN) Before(q PSN) bool { return p.Diff(q) < 0 }
