package bth

// PSN is a packet sequence number of 24 bits, which wraps modulo 2^24 (IBA 9.7.1). Values above
// [MaxPSN] do not occur on the wire; the methods accept them as operands and return reduced
// results, except Diff, which returns a distance.
type PSN uint32

// MaxPSN is the largest packet sequence number; the next one is 0.
const MaxPSN PSN = 1<<24 - 1

// Add returns the PSN n packets after p.
func (p PSN) Add(n uint32) PSN { return (p + PSN(n)) & MaxPSN }

// Sub returns the PSN n packets before p.
func (p PSN) Sub(n uint32) PSN { return (p - PSN(n)) & MaxPSN }

// Diff returns p-q modulo 2^24 as a signed distance in [-2^23, 2^23). If p and q are exactly
// 2^23 apart, each is before the other, as in Linux rxe.
func (p PSN) Diff(q PSN) int32 { return int32((p-q)<<8) >> 8 }

// Before reports whether p precedes q: p.Diff(q) < 0.
func (p PSN) Before(q PSN) bool { return p.Diff(q) < 0 }
