package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"strconv"
)

// State is the state of a connection or of a request for a service ID, as Linux names them;
// where a side waits longer because of an MRA is no state of its own.
type State uint8

const (
	StateREQSent     State = iota // active: waits for REP
	StateREQRcvd                  // passive: waits for the program
	StateREPRcvd                  // active: waits for the program
	StateREPSent                  // passive: waits for RTU
	StateEstablished              // both
	StateDREQSent                 // waits for DREP
	StateTimewait                 // over: answers what is left on the way
	StateSIDRREQSent              // waits for SIDR_REP
	StateSIDRREQRcvd              // waits for the program
	StateSIDRREPSent              // answered: answers the same request again

	numStates = iota
)

var stateNames = [numStates]string{
	"REQ_SENT", "REQ_RCVD", "REP_RCVD", "REP_SENT", "ESTABLISHED", "DREQ_SENT", "TIMEWAIT",
	"SIDR_REQ_SENT", "SIDR_REQ_RCVD", "SIDR_REP_SENT",
}

// String returns the state's name, such as "REQ_SENT".
func (s State) String() string {
	if int(s) < numStates {
		return stateNames[s]
	}
	return "state " + strconv.Itoa(int(s))
}

// A reaction is what a message does to a connection that it belongs to.
type reaction uint8

const (
	outOfPlace reaction = iota // dropped
	ignored                    // duplicate: nobody waits for an answer
	again                      // duplicate: what was sent last goes out again
	mra                        // duplicate, the program has not answered: MRA
	stale                      // REQ of a connection that is over: REJ
	over                       // RTU of a connection that is over: DREQ
	replied                    // REP: the program decides
	longer                     // MRA: the deadline moves
	refused                    // REJ: it ends
	lost                       // REJ of a queue pair that may be in use: it ends with a rest
	ready                      // RTU: established
	release                    // DREQ: DREP, and it ends with a rest
	released                   // DREP: it ends with a rest
	denied                     // DREP: the peer does not know the connection, if it was asked
	resolved                   // SIDR_REP: the request ends
)

// reactions says what each message does in each state. Linux differs: it drops a duplicate REQ in
// REQ_RCVD unless the program asked for the MRA, and one in REP_SENT; it takes no DREQ in REQ_SENT
// (one that has overtaken its REP) and REP_RCVD, but a REJ in ESTABLISHED; it answers no RTU in
// TIMEWAIT; and it ends a connection as stale without asking.
var reactions = [numStates][numMessages]reaction{
	StateREQSent:     {iMRA: longer, iREJ: refused, iREP: replied, iDREQ: release},
	StateREQRcvd:     {iREQ: mra, iREJ: refused},
	StateREPRcvd:     {iREP: mra, iREJ: refused, iDREQ: release},
	StateREPSent:     {iREQ: again, iMRA: longer, iREJ: lost, iRTU: ready, iDREQ: release},
	StateEstablished: {iREQ: ignored, iREP: again, iRTU: ignored, iDREQ: release, iDREP: denied},
	StateDREQSent:    {iREJ: lost, iDREQ: release, iDREP: released},
	StateTimewait:    {iREQ: stale, iREP: ignored, iRTU: over, iDREQ: again, iDREP: ignored},
	StateSIDRREQSent: {iSIDRREP: resolved},
	StateSIDRREQRcvd: {iSIDRREQ: ignored},
	StateSIDRREPSent: {iSIDRREQ: again},
}

// Places of messages in tables: the attribute less that of REQ.
const (
	iREQ = iota
	iMRA
	iREJ
	iREP
	iRTU
	iDREQ
	iDREP
	iSIDRREQ
	iSIDRREP

	numMessages = int(mad.AttrAPR-mad.AttrREQ) + 1
)
