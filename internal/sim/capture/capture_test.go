package capture

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/gopacket/pcapgo"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
)

func TestCaptureHoldsEveryPacketWithItsICRC(t *testing.T) {
	var file bytes.Buffer
	r, err := Write(&file, scenario.Generate(3))
	if err != nil {
		t.Fatal(err)
	}
	ng, err := pcapgo.NewNgReader(&file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for ; ; n++ {
		frame, _, err := ng.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seed, payload, err := bth.SeedIP(frame[14:])
		if err != nil || !bth.CheckICRC(seed, payload) {
			t.Fatalf("frame %d: wrong ICRC, or %v", n, err)
		}
	}
	if n == 0 || n != r.Stats.Packets {
		t.Errorf("%d frames in the capture, %d packets in the run", n, r.Stats.Packets)
	}
}
