package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"strings"
)

// Verdict is what a [Manager] made of a MAD. Verdicts are dense from 0 to [NumVerdicts]-1.
type Verdict uint8

const (
	VerdictTaken             Verdict = iota
	VerdictDuplicate                 // heard before; answered again where somebody waits
	VerdictMalformed                 // see Counters.Malformed
	VerdictUnsupported               // LAP and APR: alternate paths
	VerdictUnknownConnection         // it names no connection of this side
	VerdictWrongPeer                 // it names one, and comes from another address
	VerdictWrongQPN                  // a DREQ that names another queue pair
	VerdictOutOfPlace                // nothing to do with it in this state
	VerdictNotAllowed                // refused or dropped: see Config.Allow
	VerdictNoListener                // refused: nobody listens
	VerdictRefused                   // refused: no program could accept it, see REQ.Check
	VerdictStale                     // refused, or an RTU dropped: the peer's queue pair belongs to another connection
	VerdictSuspect                   // dropped: likewise, and the peer was asked for that connection
	VerdictBacklog                   // dropped: too many wait for the program
	VerdictBacklogPeer               // dropped: the backlog is full, and the peer has its share of it
	VerdictHalfOpenPeer              // dropped: too many half-open connections of the peer, and none in REP_SENT
	VerdictHalfOpen                  // dropped: too many half-open connections, and none in REP_SENT that the peer may displace

	// NumVerdicts is the number of verdicts.
	NumVerdicts = int(iota)
)

var verdictNames = [NumVerdicts]string{
	"taken", "duplicate", "malformed", "unsupported", "unknown_connection", "wrong_peer", "wrong_qpn", "out_of_place",
	"not_allowed", "no_listener", "refused", "stale", "suspect", "backlog", "backlog_peer", "half_open_peer", "half_open",
}

// String returns the verdict as a counter name, such as "no_listener".
func (v Verdict) String() string {
	if int(v) < NumVerdicts {
		return verdictNames[v]
	}
	return "unknown"
}

// Counters are what a [Manager] has counted, by message where they are arrays of one: the place
// of each is its attribute less that of REQ.
type Counters struct {
	Received, Duplicates [numMessages]uint64
	Sent, Retries        [numMessages]uint64 // Sent counts those that are sent again, too
	Verdicts             [NumVerdicts]uint64
	// Malformed counts what could not be read, and requests whose IP header or GID was refused;
	// see [Counters.Distrusted].
	Malformed [mad.NumReasons]uint64
	// Forgotten counts what ended and was forgotten early: see Config.MaxTimewait.
	Forgotten uint64
	// Displaced counts half-open connections that were displaced: see Config.MaxHalfOpen.
	Displaced uint64
	// Ignored counts requests that the program left without an answer: see [Manager.Ignore].
	Ignored uint64
}

// Each calls f for each counter with its name, such as "cm_rx_msgs_req": those that Linux has
// under /sys/class/infiniband/*/ports/1/ are named as there.
func (c *Counters) Each(f func(name string, value uint64)) {
	for _, group := range []struct {
		name   string
		values *[numMessages]uint64
	}{{"cm_rx_msgs_", &c.Received}, {"cm_rx_duplicates_", &c.Duplicates}, {"cm_tx_msgs_", &c.Sent}, {"cm_tx_retries_", &c.Retries}} {
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

// Distrusted counts a request that is refused for what [IPHeader.Decode], [IPHeader.Check],
// [IPHeader.CheckSender] or [REQ.CheckSender] says of its addresses. The program reads the IP header,
// which not every service has; the manager checks the REQ itself where it has Config.Local.
func (c *Counters) Distrusted(err error) { c.Malformed[mad.ReasonOf(err)]++ }

func (c *Counters) verdict(v Verdict) Verdict {
	c.Verdicts[v]++
	return v
}
