package cm_test

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/cm/mad"
)

// A REQ for TCP port 7174, that of rping, encoded and decoded as by the receiver.
func Example() {
	h := mad.IPHeader{
		SourcePort: 34384, Source: netip.MustParseAddr("198.18.0.2"), Destination: netip.MustParseAddr("198.18.0.3"),
	}
	private, err := h.Append(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := mad.Message{
		TransactionID: 1, Attribute: mad.AttrREQ,
		REQ: mad.REQ{
			LocalCommID: 0x8acc1d22, ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7174), LocalQPN: 17,
			StartingPSN: 1000, RemoteCMResponseTimeout: 20, LocalCMResponseTimeout: 20, PathMTU: 3,
			PrivateData: append(private, "hello"...),
		},
	}
	var b [mad.Len]byte
	if err := m.Encode(&b); err != nil {
		fmt.Println(err)
		return
	}

	var got mad.Message
	if err := got.Decode(b[:]); err != nil {
		fmt.Println(err)
		return
	}
	var from mad.IPHeader
	consumer, err := from.Decode(got.REQ.PrivateData)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Attribute, "to", got.REQ.ServiceID, "from", netip.AddrPortFrom(from.Source, from.SourcePort))
	fmt.Printf("%q of %d bytes\n", consumer[:5], len(consumer))
	fmt.Println("queue pair", got.REQ.LocalQPN, "PSN", got.REQ.StartingPSN)
	// Output:
	// REQ to TCP port 7174 from 198.18.0.2:34384
	// "hello" of 56 bytes
	// queue pair 17 PSN 1000
}

// Counters by reason, and a description for display.
func ExampleReason() {
	var refused [mad.NumReasons]uint64
	hostile := make([]byte, mad.Len)

	var m mad.Message
	refused[mad.ReasonOf(m.Decode(hostile))]++
	for r, n := range refused {
		if n > 0 {
			fmt.Println(mad.Reason(r), n)
		}
	}
	fmt.Println(mad.Explain(hostile))
	// Output:
	// base_version 1
	// cm: message refused: base version of the MAD is not 1: got 0
}

// How long the sender of a REQ waits for the REP with the timeouts of Linux.
func ExampleReplyTimeout() {
	ns := mad.ReplyTimeout(18, 20)
	fmt.Printf("%.1f s\n", float64(ns)/1e9)
	// Output:
	// 6.4 s
}
