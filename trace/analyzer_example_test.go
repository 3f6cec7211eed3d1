package trace_test

import (
	"fmt"
	"os"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Print what went wrong in a capture: the findings that cost time, and the totals of connections.
func ExampleAnalyzer() {
	file, err := os.Open("testdata/loss_write.pcap.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	analyzer := trace.NewAnalyzer(trace.Options{
		Flow: func(f *trace.Flow) {
			fmt.Printf("%s, path MTU %d: %d packets, %d lost, %d retransmitted\n", f.Service, f.MTU, f.Packets,
				f.LostBefore, f.Again)
		},
	})
	var decoder trace.Decoder
	for frame, err := range r.Frames() {
		if err != nil {
			fmt.Println(err)
			return
		}
		decoder.Decode(frame, func(p *trace.Packet) {
			analyzer.Add(p)
			for _, f := range p.Findings {
				if p.Number < 80 && f.Level >= trace.Warning {
					fmt.Printf("%d: %s: %s\n", p.Number, f.Kind, f.Text)
				}
			}
		})
	}
	analyzer.Finish()

	// Output:
	// 45: gap: PSN 9803639 is missing before this packet: lost before the capture point, or missed by the capture
	// 47: gap: PSN 9803642 is missing before this packet: lost before the capture point, or missed by the capture
	// 66: gap: PSN 9803661 is missing before this packet: lost before the capture point, or missed by the capture
	// 68: nak_sequence: PSN 9803639 is missing at the responder: it was lost before frame 45, which arrived instead; all earlier PSNs are acknowledged
	// 72: again_after_nak: PSN 9803639 is retransmitted because of the sequence NAK in frame 68; it was not captured before
	// RC, path MTU 4096: 480 packets, 13 lost, 227 retransmitted
}
