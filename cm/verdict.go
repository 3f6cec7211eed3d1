package cm

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
	VerdictStale                     // refused: the peer's queue pair belongs to another connection
	VerdictBacklog                   // dropped: too many wait for the program
	VerdictHalfOpenPeer              // dropped: too many half-open connections of the peer
	VerdictHalfOpen                  // dropped: too many half-open connections

	// NumVerdicts is the number of verdicts.
	NumVerdicts = int(iota)
)

var verdictNames = [NumVerdicts]string{
	"taken", "duplicate", "malformed", "unsupported", "unknown_connection", "wrong_peer", "wrong_qpn", "out_of_place",
	"not_allowed", "no_listener", "stale", "backlog", "half_open_peer", "half_open",
}

// String returns the verdict as a counter name, such as "no_listener".
func (v Verdict) String() string {
	if int(v) < NumVerdicts {
		return verdictNames[v]
	}
	return "unknown"
}

// Counters are what a [Manager] has counted. The first three are by message: the place of
// each is its attribute less that of REQ, see [MessageNames].
type Counters struct {
	Received, Sent, Retries [numMessages]uint64
	Verdicts                [NumVerdicts]uint64
	Malformed               [NumReasons]uint64
	// Forgotten counts ended connections that were forgotten early to make room for others.
	Forgotten uint64
}

// MessageNames are the names of messages in the order of [Counters].
func MessageNames() [numMessages]string { return attributeNames }

func (c *Counters) verdict(v Verdict) Verdict {
	c.Verdicts[v]++
	return v
}
