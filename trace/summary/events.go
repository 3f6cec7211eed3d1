package summary

import (
	"cmp"

	"github.com/gorxe/gorxe/trace"
)

// eventsOf converts the events of a packet.
func eventsOf(e trace.Events) Events {
	return Events{
		Again: e.Again, Duplicates: e.Duplicates, LostBefore: e.LostBefore, LostBehind: e.LostBehind, NAKs: e.NAKs,
		RNRs: e.RNRs, CNPs: e.CNPs, CE: e.CE, Timeouts: e.Timeouts, Undecided: e.Undecided,
	}
}

// flowEvents returns the counters of f.
func flowEvents(f *trace.Flow) Events {
	return Events{
		Again: int64(f.Again), Duplicates: int64(f.Duplicates), LostBefore: int64(f.LostBefore),
		LostBehind: int64(f.LostBehind), NAKs: int64(f.NAKs), RNRs: int64(f.RNRs), CNPs: int64(f.CNPs),
		CE: int64(f.CE), Timeouts: int64(f.Timeouts), Undecided: int64(f.Undecided),
	}
}

func (e *Events) add(o *Events) {
	e.Again += o.Again
	e.Duplicates += o.Duplicates
	e.LostBefore += o.LostBefore
	e.LostBehind += o.LostBehind
	e.NAKs += o.NAKs
	e.RNRs += o.RNRs
	e.CNPs += o.CNPs
	e.CE += o.CE
	e.Timeouts += o.Timeouts
	e.Undecided += o.Undecided
}

// any reports whether there is an event.
func (e *Events) any() bool { return *e != Events{} }

// compare compares by what costs the most: timeouts, then retransmissions of unknown cause, losses,
// RNR NAKs, NAKs, retransmitted packets, CNPs and marked packets.
func (e *Events) compare(o *Events) int {
	return cmp.Or(
		cmp.Compare(e.Timeouts, o.Timeouts), cmp.Compare(e.Undecided, o.Undecided), cmp.Compare(e.Lost(), o.Lost()),
		cmp.Compare(e.RNRs, o.RNRs), cmp.Compare(e.NAKs, o.NAKs), cmp.Compare(e.Again, o.Again),
		cmp.Compare(e.CNPs, o.CNPs), cmp.Compare(e.CE, o.CE), cmp.Compare(e.Duplicates, o.Duplicates),
	)
}
