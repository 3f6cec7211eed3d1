package respond

import "sync/atomic"

// reason is why something that a client wanted was not done, or why its session ended early.
type reason uint8

const (
	notHere      reason = iota // the TCP connection came to an address that is no device's
	notAdmitted                // not among the device's peers
	tooMany                    // sessions, in all or of the peer
	tooFast                    // connections of the peer's address or network: see paces
	noMemory                   // left for sessions
	unknown                    // first bytes that no tool writes
	switchedOff                // of a tool that is not answered on this port
	badItem                    // of the exchange
	tooManyItems               // of the exchange: more than any client sends
	foreignGID                 // of another host than the client's
	refused                    // what a queue pair needs could not be had
	slow                       // an item that took too long
	nothing                    // came over the queue pairs
	silent                     // for too long
	failed                     // a queue pair ended in error
	hungUp                     // in the middle of the exchange
	displacedBy                // another session, after the last message
	stopped                    // by the daemon
	wrongPayload               // in what the client wrote or sent
	reasons
)

var reasonNames = [reasons]string{
	"refused_not_here", "refused_not_admitted", "refused_too_many", "refused_too_fast", "refused_no_memory", "refused_unknown", "refused_switched_off",
	"bad_item", "too_many_items", "refused_foreign_gid", "refused_queue_pair", "slow", "no_packet", "silent", "failed", "hung_up", "displaced", "stopped",
	"wrong_payload",
}

type counters struct {
	sessions [kinds]atomic.Uint64 // that began
	ended    [kinds]atomic.Uint64 // as they should
	why      [reasons]atomic.Uint64

	checkedMessages, checkedBytes atomic.Uint64 // that were the payload
}

// Counters calls f with the name and the value of every counter: how many sessions of each tool
// began and how many ended well, for what reasons clients were refused or ended, and how many
// messages and bytes were the payload.
func (r *Responder) Counters(f func(name string, value uint64)) {
	for k := range kinds {
		f("respond_sessions_"+k.String(), r.count.sessions[k].Load())
		f("respond_completed_"+k.String(), r.count.ended[k].Load())
	}
	for i, name := range reasonNames {
		f("respond_ended_"+name, r.count.why[i].Load())
	}
	f("respond_checked_messages", r.count.checkedMessages.Load())
	f("respond_checked_bytes", r.count.checkedBytes.Load())
}
