package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"strings"
)

// Verdict is the result of [Manager.Receive]. Verdicts are consecutive from 0 to [NumVerdicts]-1.
type Verdict uint8

const (
	VerdictTaken             Verdict = iota // accepted
	VerdictDuplicate                        // received before; answered again if its sender waits for an answer
	VerdictMalformed                        // see Counters.Malformed
	VerdictUnsupported                      // LAP and APR: alternate paths
	VerdictUnknownConnection                // belongs to no connection of this side
	VerdictWrongPeer                        // belongs to a connection, but comes from another address
	VerdictWrongQPN                         // DREQ for another queue pair
	VerdictOutOfPlace                       // not valid in this state
	VerdictNotAllowed                       // rejected or dropped: see Config.Allow
	VerdictNoListener                       // rejected: no listener
	VerdictRefused                          // rejected: no program could accept it, see mad.REQ.Check
	VerdictStale                            // rejected (RTU: dropped): another connection uses the peer's queue pair
	VerdictSuspect                          // dropped for the same reason; a probe for the other connection was sent
	VerdictBacklog                          // dropped: too many requests wait for the program
	VerdictBacklogPeer                      // dropped: the backlog is full, and the peer has its share of it
	VerdictHalfOpenPeer                     // dropped: too many half-open connections of the peer, none in REP_SENT
	VerdictHalfOpen                         // dropped: too many half-open connections, none that the peer may displace

	// NumVerdicts is the number of verdicts.
	NumVerdicts = int(iota)
)

var verdictNames = [NumVerdicts]string{
	"taken", "duplicate", "malformed", "unsupported", "unknown_connection", "wrong_peer", "wrong_qpn", "out_of_place",
	"not_allowed", "no_listener", "refused", "stale", "suspect", "backlog", "backlog_peer",
	"half_open_peer", "half_open",
}

// String returns the verdict as a counter name, such as "no_listener".
func (v Verdict) String() string {
	if int(v) < NumVerdicts {
		return verdictNames[v]
	}
	return "unknown"
}

// Counters holds the counters of a [Manager]. Arrays by message are indexed by the attribute
// minus that of REQ.
type Counters struct {
	Received, Duplicates [numMessages]uint64
	Sent, Retries        [numMessages]uint64 // Sent includes retransmissions
	Verdicts             [NumVerdicts]uint64
	// Malformed counts messages that could not be decoded, and requests whose IP header or GID
	// was rejected; see [Counters.CountBadAddress].
	Malformed [mad.NumReasons]uint64
	// Forgotten counts ended connections that were removed early: see Config.MaxTimewait.
	Forgotten uint64
	// Displaced counts half-open connections that were displaced: see Config.MaxHalfOpen.
	Displaced uint64
	// Ignored counts requests that the program did not answer: see [Manager.Ignore].
	Ignored uint64
}

// Each calls f for each counter with its name, such as "cm_rx_msgs_req". Counters that Linux has
// under /sys/class/infiniband/*/ports/1/ have the same names.
func (c *Counters) Each(f func(name string, value uint64)) {
	for _, group := range []struct {
		name   string
		values *[numMessages]uint64
	}{{"cm_rx_msgs_", &c.Received}, {"cm_rx_duplicates_", &c.Duplicates}, {"cm_tx_msgs_", &c.Sent},
		{"cm_tx_retries_", &c.Retries}} {
		for i, v := range group.values {
			f(group.name+strings.ToLower((mad.AttrREQ+mad.Attribute(i)).String()), v)
		}
	}
	for v, n := range c.Verdicts {
		f("cm_verdict_"+Verdict(v).String(), n)
	}
	for r, n := range c.Malformed[1:] {
		f("cm_malformed_"+mad.Reason(r+1).String(), n)
	}
	f("cm_forgotten", c.Forgotten)
	f("cm_displaced", c.Displaced)
	f("cm_ignored", c.Ignored)
}

// CountBadAddress counts a request that the caller rejects because of err, an error of
// [mad.IPHeader.Decode], [mad.IPHeader.Check], [mad.IPHeader.CheckSender] or [mad.REQ.CheckSender].
// The caller decodes the IP header, because not every service has one. If Config.Local is set, the
// manager calls and counts REQ.CheckSender itself.
func (c *Counters) CountBadAddress(err error) { c.Malformed[mad.ReasonOf(err)]++ }

func (c *Counters) verdict(v Verdict) Verdict {
	c.Verdicts[v]++
	return v
}
