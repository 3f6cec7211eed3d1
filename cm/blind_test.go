package cm

import (
	"encoding/binary"
	"fmt"
	"github.com/gorxe/gorxe/cm/mad"
	"testing"
)

// lives are scripts that lead to a connection #1 in each state. The peer's ID is 0x22.
var lives = [numStates]string{
	StateREQSent: `
		connect
		> A REQ #1`,
	StateREQRcvd: `
		listen 7
		< REQ 0x22
		event REQUESTED #1 qpn=0x33`,
	StateREPRcvd: `
		connect
		> A REQ #1
		< REP 0x22 #1
		event REPLIED #1 qpn=0x33`,
	StateREPSent: `
		listen 7
		< REQ 0x22
		event REQUESTED #1 qpn=0x33
		accept #1
		> A REP #1 0x22`,
	StateEstablished: `
		connect
		> A REQ #1
		< REP 0x22 #1
		event REPLIED #1 qpn=0x33
		ready #1
		> A RTU #1 0x22`,
	StateDREQSent: `
		connect
		> A REQ #1
		< REP 0x22 #1
		event REPLIED #1 qpn=0x33
		ready #1
		> A RTU #1 0x22
		disconnect #1
		> A DREQ #1 0x22 qpn=0x33`,
	StateTimewait: `
		connect
		> A REQ #1
		< REP 0x22 #1
		event REPLIED #1 qpn=0x33
		ready #1
		> A RTU #1 0x22
		< DREQ 0x22 #1
		> A DREP #1 0x22
		event DISCONNECTED #1 DREQ`,
	StateSIDRREQSent: `
		resolve
		> A SIDR_REQ #1`,
	StateSIDRREQRcvd: `
		listen 7 udp
		< SIDR_REQ 0x22
		event SIDR_REQUESTED #1`,
	StateSIDRREPSent: `
		listen 7 udp
		< SIDR_REQ 0x22
		event SIDR_REQUESTED #1
		answer #1
		> A SIDR_REP 0x22 0`,
}

// forged returns a message of each kind with the receiver's and the sender's ID, from the peer's
// address, with the peer's GUID and queue pair, and the receiver's queue pair.
func forged(a mad.Attribute, receiver, sender mad.CommID) *mad.Message {
	guid := binary.BigEndian.AppendUint64(nil, 0x77)
	return &mad.Message{
		Attribute: a,
		REQ: mad.REQ{LocalCommID: sender, ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 9), LocalCAGUID: 0x77,
			LocalQPN: 0x33},
		MRA:     mad.MRA{LocalCommID: sender, RemoteCommID: receiver, ServiceTimeout: 24},
		REJ:     mad.REJ{LocalCommID: sender, RemoteCommID: receiver, Reason: mad.RejectTimeout, ARI: guid},
		REP:     mad.REP{LocalCommID: sender, RemoteCommID: receiver, LocalQPN: 0x34, LocalCAGUID: 0x77},
		RTU:     mad.RTU{LocalCommID: sender, RemoteCommID: receiver},
		DREQ:    mad.DREQ{LocalCommID: sender, RemoteCommID: receiver, RemoteQPN: 0x11},
		DREP:    mad.DREP{LocalCommID: sender, RemoteCommID: receiver},
		SIDRREQ: mad.SIDRREQ{RequestID: sender, ServiceID: mad.IPServiceID(mad.PortSpaceUDP, 9)},
		SIDRREP: mad.SIDRREP{RequestID: receiver, QPN: 0x34},
	}
}

// An attacker that does not see our ID of a connection, but knows everything else in a message,
// the address, the GUID, the queue pairs and the peer's ID, cannot change the connection.
func TestWhoDoesNotKnowOurIDChangesNothing(t *testing.T) {
	for state := range State(numStates) {
		for a := mad.AttrREQ; a <= mad.AttrSIDRREP; a++ {
			for _, receiver := range []mad.CommID{0, 1, 0xffffffff} {
				for _, sender := range []mad.CommID{0, 0x22, 0x23} {
					switch {
					case sender == 0x22 && (a == mad.AttrREQ || a == mad.AttrSIDRREQ):
						continue // the request itself again
					case sender == 0x22 && a == mad.AttrREJ && state == StateREQRcvd:
						continue // the peer gives up its REQ without knowing our ID
					}
					t.Run(fmt.Sprintf("%v in %v, IDs %#x and %#x", a, state, uint32(receiver), uint32(sender)),
						func(t *testing.T) {
							holds(t, state, forged(a, receiver, sender))
						})
				}
			}
		}
	}
}

// An attacker that knows our ID, but not the peer's, cannot change the connection either if the
// peer has an ID.
func TestWhoDoesNotKnowThePeersIDChangesNothing(t *testing.T) {
	for state := range State(numStates) {
		if state == StateREQSent || state == StateSIDRREQSent {
			continue
		}
		for a := mad.AttrMRA; a <= mad.AttrDREP; a++ {
			for _, sender := range []mad.CommID{0, 0x23} {
				t.Run(fmt.Sprintf("%v in %v, ID %#x", a, state, uint32(sender)), func(t *testing.T) {
					holds(t, state, forged(a, our(1), sender))
				})
			}
		}
	}
}

// An attacker that knows our ID of an unanswered request, but not its transaction ID, which every
// answer returns, cannot change it either.
func TestWhoDoesNotKnowTheTransactionIDAnswersNoRequest(t *testing.T) {
	for _, state := range []State{StateREQSent, StateSIDRREQSent} {
		for _, a := range []mad.Attribute{mad.AttrMRA, mad.AttrREJ, mad.AttrREP, mad.AttrDREP, mad.AttrRTU,
			mad.AttrSIDRREP} {
			for name, tid := range map[string]uint64{
				"none": 0, "our ID": uint64(our(1)), "that of another request": New(Config{}).transaction(our(2)),
				"half of it": New(Config{}).transaction(our(2))&^0xffffffff | uint64(our(1)),
			} {
				t.Run(fmt.Sprintf("%v in %v, transaction ID: %s", a, state, name), func(t *testing.T) {
					msg := forged(a, our(1), 0x22)
					msg.TransactionID = tid
					holds(t, state, msg)
				})
			}
		}
	}
}

// holds delivers a message 100 times to a connection in a state, which must not change.
func holds(t *testing.T, state State, msg *mad.Message) {
	t.Helper()
	s := runScript(t, Config{}, lives[state])
	before := *s.m.conns[our(1)]
	if before.state != state {
		t.Fatalf("the script leads to %v", before.state)
	}
	var b [mad.Len]byte
	if err := msg.Encode(&b); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		s.m.Receive(s.now, peerNamed("A"), b[:])
	}
	for e := (Event{}); s.m.NextEvent(&e); {
		t.Errorf("the program hears %v", e.Kind)
	}
	c := s.m.conns[our(1)]
	if c == nil {
		t.Fatal("the connection is gone")
	}
	after := *c
	// Probes of the peer are not part of the state.
	after.probes, after.probe, after.probeEnd = before.probes, before.probe, before.probeEnd
	if after != before {
		t.Errorf("the connection is %+v, was %+v", after, before)
	}
}

// Silence for an ID in use would reveal to a host at its own address which IDs are in use.
func TestNoAnswerTellsWhetherAnIDIsInUse(t *testing.T) {
	for state := range State(numStates) {
		for a := mad.AttrMRA; a <= mad.AttrSIDRREP; a++ {
			if a == mad.AttrSIDRREQ {
				continue
			}
			t.Run(fmt.Sprintf("%v in %v", a, state), func(t *testing.T) {
				var answers [2][]byte
				for i, id := range []mad.CommID{our(1), our(99)} {
					s := runScript(t, Config{}, lives[state])
					var b [mad.Len]byte
					if err := forged(a, id, 0x22).Encode(&b); err != nil {
						t.Fatal(err)
					}
					s.m.Receive(s.now, peerNamed("B"), b[:])
					for o := (Outgoing{}); s.m.NextSend(&o); {
						if o.Peer != peerNamed("B") {
							t.Errorf("%v is told", o.Peer)
						}
						// Everything except the ID.
						var m mad.Message
						if err := m.Decode(o.MAD[:]); err != nil {
							t.Fatal(err)
						}
						answers[i] = fmt.Appendf(answers[i], "%v %d;", m.Attribute, m.REJ.Reason)
					}
				}
				if string(answers[0]) != string(answers[1]) {
					t.Errorf("one in use is answered with %q, another with %q", answers[0], answers[1])
				}
			})
		}
	}
}
