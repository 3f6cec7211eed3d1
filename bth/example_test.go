package bth_test

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// A single-packet SEND, built and sealed, and decoded as the receiver does it.
func Example() {
	p := bth.Packet{
		Opcode: bth.RCSendOnly, MigReq: true, PKey: 0xffff, DestQP: 17, AckReq: true, PSN: 1000,
		Payload: []byte("hello"),
	}
	packet := p.Append(nil)

	outer := bth.Header4{
		Src: [4]byte{198, 18, 0, 2}, Dst: [4]byte{198, 18, 0, 3}, FlagsFragment: 0x4000,
		SrcPort: 49152, DstPort: 4791, UDPLen: bth.UDPHeaderLen + len(packet) + bth.ICRCLen,
	}
	packet = bth.AppendICRC(packet, bth.ICRC(outer.Seed(), packet))
	fmt.Printf("%x\n", packet)

	var q bth.Packet
	if err := q.Decode(packet); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(q.Opcode, "to queue pair", q.DestQP, "PSN", q.PSN, "pad", q.Pad)
	fmt.Printf("%s\n", q.Payload)
	fmt.Println("ICRC good:", bth.CheckICRC(outer.Seed(), packet))
	// Output:
	// 0470ffff00000011800003e868656c6c6f000000faed3980
	// RC_SEND_ONLY to queue pair 17 PSN 1000 pad 3
	// hello
	// ICRC good: true
}

// A UDP socket does not report the IPv4 identification, which the ICRC covers.
func ExampleSolveID() {
	p := bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 17, PSN: 1000,
		AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 1}}
	packet := p.Append(nil)
	outer := bth.Header4{
		Src: [4]byte{198, 18, 0, 3}, Dst: [4]byte{198, 18, 0, 2}, ID: 0xbeef, FlagsFragment: 0x4000,
		SrcPort: 49152, DstPort: 4791, UDPLen: bth.UDPHeaderLen + len(packet) + bth.ICRCLen,
	}
	packet = bth.AppendICRC(packet, bth.ICRC(outer.Seed(), packet))

	outer.ID = 0 // the receiver does not know it
	id, ok := bth.SolveID(&outer, packet)
	fmt.Printf("%#04x %t\n", id, ok)

	packet[9]++ // corrupt the PSN
	_, ok = bth.SolveID(&outer, packet)
	fmt.Println(ok)
	// Output:
	// 0xbeef true
	// false
}

// The response opcodes of the table, with the length of their headers.
func ExampleOpcodes() {
	for o := range bth.Opcodes() {
		if info := o.Info(); info.Response() {
			fmt.Println(uint8(o), o, info.HeaderLen)
		}
	}
	// Output:
	// 13 RC_RDMA_READ_RESPONSE_FIRST 16
	// 14 RC_RDMA_READ_RESPONSE_MIDDLE 12
	// 15 RC_RDMA_READ_RESPONSE_LAST 16
	// 16 RC_RDMA_READ_RESPONSE_ONLY 16
	// 17 RC_ACKNOWLEDGE 16
	// 18 RC_ATOMIC_ACKNOWLEDGE 24
}

// Counters by reason, and a description for display.
func ExampleReason() {
	var refused [bth.NumReasons]uint64
	hostile := make([]byte, 40) // the UDP payload of the datagram that panics Linux rxe
	hostile[0] = 0x1f

	var p bth.Packet
	refused[bth.ReasonOf(p.Decode(hostile))]++
	for r, n := range refused {
		if n > 0 {
			fmt.Println(bth.Reason(r), n)
		}
	}
	fmt.Println(bth.Explain(hostile))
	// Output:
	// unknown_opcode 1
	// bth: packet refused: opcode not valid for RoCEv2: got 0x1f
}
