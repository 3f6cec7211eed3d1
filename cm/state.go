package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"strconv"
)

// State is the state of a connection or of a request for a service ID, with the names of Linux. An
// MRA, which makes a side wait longer, does not change the state.
type State uint8

const (
	StateREQSent     State = iota // active: waits for REP
	StateREQRcvd                  // passive: waits for the program
	StateREPRcvd                  // active: waits for the program
	StateREPSent                  // passive: waits for RTU
	StateEstablished              // connected
	StateDREQSent                 // waits for DREP
	StateTimewait                 // ended: answers messages still in flight
	StateSIDRREQSent              // waits for SIDR_REP
	StateSIDRREQRcvd              // waits for the program
	StateSIDRREPSent              // answered: repeats the answer to the same request

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

// A reaction is the effect of a message on its connection.
type reaction uint8

const (
	outOfPlace      reaction = iota // dropped
	ignored                         // duplicate that needs no answer
	retransmit                      // duplicate: retransmit the last message
	mra                             // duplicate, the program has not answered: MRA
	stale                           // REQ of an ended connection: REJ
	disconnectAgain                 // RTU of an ended connection: DREQ
	replied                         // REP: the program decides
	extend                          // MRA: extend the deadline
	refused                         // REJ: the connection ends
	toTimewait                      // REJ for a queue pair that may be in use: TIMEWAIT
	ready                           // RTU: established
	release                         // DREQ: DREP and TIMEWAIT
	released                        // DREP: TIMEWAIT
	probeAnswer                     // DREP: the peer does not have the connection, if it answers a probe
	resolved                        // SIDR_REP: the request ends
)

// reactions defines the effect of each message in each state. Linux differs: it drops a duplicate
// REQ in REP_SENT, and in REQ_RCVD unless the program requested the MRA; it accepts no DREQ in
// REQ_SENT (where the DREQ has overtaken the REP) and REP_RCVD, but it accepts a REJ in
// ESTABLISHED; it does not answer an RTU in TIMEWAIT; and it ends a connection as stale without a
// probe.
var reactions = [numStates][numMessages]reaction{
	StateREQSent:     {iMRA: extend, iREJ: refused, iREP: replied, iDREQ: release},
	StateREQRcvd:     {iREQ: mra, iREJ: refused},
	StateREPRcvd:     {iREP: mra, iREJ: refused, iDREQ: release},
	StateREPSent:     {iREQ: retransmit, iMRA: extend, iREJ: toTimewait, iRTU: ready, iDREQ: release},
	StateEstablished: {iREQ: ignored, iREP: retransmit, iRTU: ignored, iDREQ: release, iDREP: probeAnswer},
	StateDREQSent:    {iREJ: toTimewait, iDREQ: release, iDREP: released},
	StateTimewait:    {iREQ: stale, iREP: ignored, iRTU: disconnectAgain, iDREQ: retransmit, iDREP: ignored},
	StateSIDRREQSent: {iSIDRREP: resolved},
	StateSIDRREQRcvd: {iSIDRREQ: ignored},
	StateSIDRREPSent: {iSIDRREQ: retransmit},
}

// Indexes of messages in tables: the attribute minus that of REQ.
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
