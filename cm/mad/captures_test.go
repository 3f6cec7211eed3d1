package mad_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/gopacket/pcapgo"
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/rxetraffic"
)

// The golden messages are all messages of the captures.
func TestGoldenMessagesAreThoseOfTheCaptures(t *testing.T) {
	found := map[string]map[int][]byte{}
	n := 0
	for _, file := range rxetraffic.Unpack(t) {
		mads := madsOf(t, file)
		found[filepath.Base(file)] = mads
		n += len(mads)
	}
	all := readGolden(t, "testdata/rxe.txt")
	if n != len(all) {
		t.Errorf("%d messages in the captures, %d in testdata", n, len(all))
	}
	for _, g := range all {
		if !bytes.Equal(found[g.file][g.frame], g.mad) {
			t.Errorf("%s frame %d is not the golden message but %x", g.file, g.frame, found[g.file][g.frame])
		}
	}
}

// madsOf returns the datagrams to queue pair 1 in an Ethernet capture, by frame
// number counted from 1.
func madsOf(t *testing.T, file string) map[int][]byte {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	mads := map[int][]byte{}
	for frame := 1; ; frame++ {
		data, _, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return mads
		}
		if err != nil {
			t.Fatalf("%s frame %d: %v", file, frame, err)
		}
		if len(data) < 14 {
			continue
		}
		_, packet, err := bth.SeedIP(data[14:])
		if err != nil {
			continue
		}
		var p bth.Packet
		if p.Decode(packet) == nil && p.Opcode == bth.UDSendOnly && p.DestQP == bth.GSI {
			mads[frame] = p.Payload
		}
	}
}
