package packet

import "sync/atomic"

// Counters holds the counts of [Stats] as atomics, for the implementation of a link. The zero
// value is ready to use.
type Counters struct {
	TxFrames, TxBytes, TxCalls                         atomic.Uint64
	TxRefused, TxNoNeighbour, TxQueueFull              atomic.Uint64
	RxFrames, RxBytes, RxCalls, RxDropped, RxMalformed atomic.Uint64
}

// AddTx counts sent frames, their total bytes of UDP payload, and the calls into the host that sent
// them.
func (s *Counters) AddTx(calls, frames, bytes int) {
	s.TxCalls.Add(uint64(calls))
	s.TxFrames.Add(uint64(frames))
	s.TxBytes.Add(uint64(bytes))
}

// AddRx counts one receive call, its frames and their total bytes of UDP payload.
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
