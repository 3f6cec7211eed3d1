package packet

import "sync/atomic"

// Counters holds the counts of [Stats] as atomics, for the implementation of a link. The zero
// value is ready to use.
type Counters struct {
	TxFrames, TxBytes, TxCalls                         atomic.Uint64
	TxRefused, TxNoNeighbour, TxQueueFull              atomic.Uint64
	RxFrames, RxBytes, RxCalls, RxDropped, RxMalformed atomic.Uint64
}

// AddTx counts frames and their bytes that were sent with the given number of calls into the
// host.
func (s *Counters) AddTx(calls, frames, bytes int) {
	s.TxCalls.Add(uint64(calls))
	s.TxFrames.Add(uint64(frames))
	s.TxBytes.Add(uint64(bytes))
}

// AddRx counts the frames of one receive call and their bytes.
func (s *Counters) AddRx(frames, bytes int) {
	s.RxCalls.Add(1)
	s.RxFrames.Add(uint64(frames))
	s.RxBytes.Add(uint64(bytes))
}

// Load returns the current counts.
func (s *Counters) Load() Stats {
	return Stats{
		TxFrames: s.TxFrames.Load(), TxBytes: s.TxBytes.Load(), TxCalls: s.TxCalls.Load(),
		TxRefused: s.TxRefused.Load(), TxNoNeighbour: s.TxNoNeighbour.Load(), TxQueueFull: s.TxQueueFull.Load(),
		RxFrames: s.RxFrames.Load(), RxBytes: s.RxBytes.Load(), RxCalls: s.RxCalls.Load(),
		RxDropped: s.RxDropped.Load(), RxMalformed: s.RxMalformed.Load(),
	}
}
