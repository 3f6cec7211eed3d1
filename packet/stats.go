package packet

import "sync/atomic"

// stats is Stats in atomics.
type stats struct {
	txFrames, txBytes, txCalls                         atomic.Uint64
	txRefused, txNoNeighbour, txQueueFull              atomic.Uint64
	rxFrames, rxBytes, rxCalls, rxDropped, rxMalformed atomic.Uint64
}

func (s *stats) tx(calls, frames, bytes int) {
	s.txCalls.Add(uint64(calls))
	s.txFrames.Add(uint64(frames))
	s.txBytes.Add(uint64(bytes))
}

func (s *stats) rx(frames, bytes int) {
	s.rxCalls.Add(1)
	s.rxFrames.Add(uint64(frames))
	s.rxBytes.Add(uint64(bytes))
}

func (s *stats) load() Stats {
	return Stats{
		TxFrames: s.txFrames.Load(), TxBytes: s.txBytes.Load(), TxCalls: s.txCalls.Load(),
		TxRefused: s.txRefused.Load(), TxNoNeighbour: s.txNoNeighbour.Load(), TxQueueFull: s.txQueueFull.Load(),
		RxFrames: s.rxFrames.Load(), RxBytes: s.rxBytes.Load(), RxCalls: s.rxCalls.Load(),
		RxDropped: s.rxDropped.Load(), RxMalformed: s.rxMalformed.Load(),
	}
}
