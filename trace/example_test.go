package trace_test

import (
	"fmt"
	"log"
	"os"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Print the packets of a capture with the results of their ICRC checks. The file is the beginning
// of an rping between two Linux hosts.
func Example() {
	file, err := os.Open("testdata/rping.pcap")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	var decoder trace.Decoder
	for frame, err := range r.Frames() {
		if err != nil {
			log.Fatal(err)
		}
		decoder.Decode(frame, func(p *trace.Packet) {
			what := p.BTH.Opcode.String()
			if p.MAD != nil {
				what = p.MAD.Attribute.String()
			}
			fmt.Printf("%d %v → %v: %s, PSN %d, ICRC %v\n", p.Number, p.Src.Addr(), p.Dst.Addr(), what, p.BTH.PSN,
				p.ICRC.Verdict)
		})
	}
	fmt.Println(decoder.Counts.Packets, "packets")
	// Output:
	// 1 198.18.0.2 → 198.18.0.3: REQ, PSN 0, ICRC right
	// 2 198.18.0.3 → 198.18.0.2: REP, PSN 0, ICRC right
	// 3 198.18.0.2 → 198.18.0.3: RTU, PSN 1, ICRC right
	// 4 198.18.0.2 → 198.18.0.3: RC_SEND_ONLY, PSN 14337875, ICRC right
	// 5 198.18.0.3 → 198.18.0.2: RC_ACKNOWLEDGE, PSN 14337875, ICRC right
	// 5 packets
}
