package nic

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// Failure says why a queue pair went to ERR although nobody moved it there. The zero Failure says that it did not.
type Failure struct {
	Status qp.WCStatus  // of the completion that told of it, or qp.WCSuccess
	Event  qp.EventType // of a request of the peer that was refused, where there was no completion
}

// None is true of a queue pair that has not failed.
func (f Failure) None() bool { return f == Failure{} }

// Failure returns the queue pair's first failure since it was in RESET. It is there before the completion that tells of
// it can be polled.
func (q *QP) Failure() Failure {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return q.failure
}

// failed notes the first failure of q. The lock is held.
func (q *QP) failed(f Failure) {
	if q.failure.None() {
		if q.failure = f; q.onFailure != nil {
			q.onFailure()
		}
	}
}

// completesInError notes that queue pair n, whose shard's lock is held, has a completion that failed.
func (d *Device) completesInError(n bth.QPN, status qp.WCStatus) {
	if q := d.shardOf(n).qps.Get(n); q != nil {
		q.failed(Failure{Status: status})
	}
}

// failsQP tells the asynchronous events after which the queue pair is in ERR.
func failsQP(t qp.EventType) bool {
	return t == qp.EventQPFatal || t == qp.EventQPReqErr || t == qp.EventQPAccessErr
}

// OnFailure has call called when q fails, by the goroutine that hands out the manager's events, with no lock held.
func (g *GSI) OnFailure(q *QP, call func()) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.onFailure = func() { g.arrived.later(call) }
}

// later has call called when the manager's events are handed out.
func (a *arrivals) later(call func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	a.kick.wake()
}

// takeCalls returns what is to be called.
func (a *arrivals) takeCalls() []func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	return calls
}
