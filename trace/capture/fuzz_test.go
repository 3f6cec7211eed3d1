package capture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace/capture"
)

// FuzzReader checks that any file is read to its end or to an error with a position; frames are
// numbered, and no longer than on the wire.
func FuzzReader(f *testing.F) {
	pcap, _, _ := pcapOf(binary.BigEndian, 0xa1b23c4d, time.Nanosecond, 1)
	section, _, _ := sectionOf(binary.LittleEndian, 1)
	big, _, _ := sectionOf(binary.BigEndian, 1)
	for _, b := range [][]byte{pcap, section, append(big, section...), zipped(pcap), section[:len(section)-7]} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := capture.Open(bytes.NewReader(b))
		if err != nil {
			return
		}
		var frame capture.Frame
		for n := 1; ; n++ {
			err := c.Next(&frame)
			var at *capture.ReadError
			if errors.Is(err, io.EOF) {
				return
			}
			if errors.As(err, &at) {
				if at.Frame != n || at.Offset < 0 {
					t.Fatalf("frame %d: %+v", n, at)
				}
				return
			}
			if err != nil {
				t.Fatalf("frame %d: an error without its place: %v", n, err)
			}
			if frame.Number != n || frame.Length < len(frame.Data) {
				t.Fatalf("frame %d: %+v", n, frame)
			}
		}
	})
}
