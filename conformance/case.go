package conformance

import (
	"fmt"
	"strings"
)

// Case is one rule with the script that tests it.
type Case struct {
	ID    string // chapter and number, such as "psn/3"; never given to another rule
	Level Level
	// Rule is the rule in one sentence, Source where it is stated: a compliance statement or
	// section of the IBA, or the file of a respected implementation if the IBA is silent.
	Rule, Source string
	Program      Program // what the device runs
	Raw          bool    // needs a raw link
	// Run is the script. It ends the case early with a method of T such as Fail, and passes if it
	// returns.
	Run func(t *T)
}

// Chapter returns the part of the ID before the slash.
func (c *Case) Chapter() string {
	chapter, _, _ := strings.Cut(c.ID, "/")
	return chapter
}

// Pointers returns the cases of several tables, in order.
func Pointers(tables ...[]Case) []*Case {
	var all []*Case
	for _, t := range tables {
		for i := range t {
			all = append(all, &t[i])
		}
	}
	return all
}

// Level is how binding a rule is.
type Level uint8

const (
	Shall    Level = iota // a violation is a failure
	Should                // a violation is a warning
	Observed              // the specification leaves it open: the case reports what the device does
)

func (l Level) String() string { return [...]string{"shall", "should", "observed"}[min(l, Observed)] }

// Chapters returns the chapters in the order of reports.
func Chapters() []string {
	return []string{"header", "icrc", "psn", "responder", "requester", "rnr", "atomic", "uc", "ud", "cm", "congestion"}
}

// Program is a stock program that the device runs.
type Program uint8

const (
	Pingpong      Program = iota // ibv_rc_pingpong: SEND and receive, no remote access
	WriteServer                  // ib_write_bw: a region with the right to WRITE
	ReadServer                   // ib_read_bw: a region with the right to READ
	AtomicServer                 // ib_atomic_bw: a region with the right to atomics
	SendServer                   // ib_send_bw: receives
	UCWriteServer                // ib_write_bw -c UC
	UCSendServer                 // ib_send_bw -c UC
	UDSendServer                 // ib_send_bw -c UD
	RPing                        // rping -s -P: reads from and writes to the tester
	WriteClient                  // ib_write_bw as client of the tester
	ReadClient                   // ib_read_bw as client of the tester
	SendClient                   // ib_send_bw as client of the tester
	CMServer                     // ucmatose -s: accepts connections
	// UCPingpong (ibv_uc_pingpong) and UDPingpong (ibv_ud_pingpong) answer each message with one
	// from the memory into which they receive: the answer shows that, and where, the data arrived.
	UCPingpong
	UDPingpong
	// UCWriteLatServer (ib_write_lat -c UC) sends message 1 unasked, and message n+1 when the last
	// byte of its region is n modulo 256: that message shows that a WRITE was executed.
	UCWriteLatServer
	WriteServerTClass // ib_write_bw with traffic class TClass
	LongSendClient    // ib_send_bw as client of the tester, with long messages
	// AtomicWriteClient and FlushClient post an ATOMIC WRITE and a FLUSH over pyverbs.
	AtomicWriteClient
	FlushClient
	Programs // number of programs
)

var programNames = [Programs]string{"ibv_rc_pingpong", "ib_write_bw", "ib_read_bw", "ib_atomic_bw", "ib_send_bw",
	"ib_write_bw -c UC", "ib_send_bw -c UC", "ib_send_bw -c UD", "rping -s -P", "ib_write_bw TESTER",
	"ib_read_bw TESTER", "ib_send_bw TESTER", "ucmatose -s", "ibv_uc_pingpong", "ibv_ud_pingpong",
	"ib_write_lat -c UC", "ib_write_bw --tclass", "ib_send_bw TESTER -s 122880",
	"ATOMIC WRITE over pyverbs", "FLUSH over pyverbs"}

// TClass is the traffic class of WriteServerTClass: DSCP 26, ECN 0.
const TClass = 0x68

func (p Program) String() string {
	if p < Programs {
		return programNames[p]
	}
	return fmt.Sprintf("program %d", uint8(p))
}
