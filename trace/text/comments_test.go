package text_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/text"
)

func TestTheCommentsOnAFrameOfSeveralPacketsAreWrittenOnce(t *testing.T) {
	packet := bth.Packet{Opcode: bth.RCWriteMiddle, DestQP: 0x11, Payload: make([]byte, 256)}
	next := packet
	next.PSN++
	var out bytes.Buffer
	w := text.NewWriter(&out, text.Options{Fields: true})
	var d trace.Decoder
	packets := 0
	for number := 1; number <= 2; number++ {
		f := frameOf(number, 0, packet, next)
		f.Comments = []string{"of somebody"}
		d.Decode(f, func(p *trace.Packet) {
			packets++
			if err := w.Packet(p); err != nil {
				t.Error(err)
			}
		})
	}
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "comment: of somebody"); n != 2 || packets != 4 {
		t.Errorf("two frames, %d packets, the comment %d times:\n%s", packets, n, &out)
	}
}
