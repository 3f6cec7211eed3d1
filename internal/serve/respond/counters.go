package respond

import "sync/atomic"

// reason is why a client was rejected, or why its session ended early.
type reason uint8

const (
	noDevice     reason = iota // TCP connection to an address of no device
	notAdmitted                // not among the device's peers
	tooMany                    // limit of sessions, in total or of the peer
	tooFast                    // connection rate of the peer's address or network: see paces
	noMemory                   // no memory left for sessions
	unknownTool                // first bytes of no known tool
	switchedOff                // tool that is not answered on this port
	badItem                    // invalid item of the exchange
	tooManyItems               // more items of the exchange than any client sends
	foreignGID                 // GID of another host than the client's
	refusedQP                  // objects of a queue pair could not be created
	itemTimeout                // timeout of an item
	noPacket                   // no packet arrived at the queue pairs
	noProgress                 // no progress for too long
	failed                     // a queue pair failed
	hungUp                     // client closed the connection during the exchange
	displacedBy                // displaced by another session, after the last message
	stopped                    // by the daemon
	wrongPayload               // in the client's WRITEs or SENDs
	reasons
)

var reasonNames = [reasons]string{
	"refused_not_here", "refused_not_admitted", "refused_too_many", "refused_too_fast", "refused_no_memory",
	"refused_unknown", "refused_switched_off",
	"bad_item", "too_many_items", "refused_foreign_gid", "refused_queue_pair", "slow", "no_packet", "silent", "failed",
	"hung_up", "displaced", "stopped",
	"wrong_payload",
}

type counters struct {
	sessions [kinds]atomic.Uint64 // started
	ended    [kinds]atomic.Uint64 // ended normally
	why      [reasons]atomic.Uint64

	checkedMessages, checkedBytes atomic.Uint64 // with the right payload
}

// Counters calls f with the name and value of every counter: sessions of each tool that started
// and ended normally, clients that were rejected and sessions that ended early by reason, and
// messages and bytes with the right payload.
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
