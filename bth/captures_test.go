package bth_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/gorxe/gorxe/internal/rxetraffic"
)

const rocePort = 4791

func TestEveryPacketOfEveryCapture(t *testing.T) {
	files := rxetraffic.Unpack(t)
	total := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			n := 0
			for frame, ip := range roceDatagrams(t, file) {
				n++
				if checkDatagram(t, ip); t.Failed() {
					t.Fatalf("frame %d: %x", frame, ip)
				}
			}
			if n == 0 {
				t.Errorf("no RoCE packet in %s", file)
			}
			t.Logf("%d packets", n)
			total += n
		})
	}
	if total == 0 {
		t.Errorf("no RoCE packet in %d files", len(files))
	}
}

func TestGoldenPacketsStandInTheCaptures(t *testing.T) {
	read := map[string]map[int][]byte{}
	for _, g := range readGolden(t, "testdata/rxe.txt") {
		if read[g.file] == nil {
			read[g.file] = roceDatagrams(t, rxetraffic.Unpack(t, strings.TrimSuffix(g.file, ".pcap"))[0])
		}
		if !bytes.Equal(read[g.file][g.frame], g.ip) {
			t.Errorf("%s frame %d is not the golden packet", g.file, g.frame)
		}
	}
}

// roceDatagrams returns the IP datagrams to the RoCE port in an Ethernet capture, by frame
// number, starting at 1.
func roceDatagrams(t *testing.T, file string) map[int][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if r.LinkType() != layers.LinkTypeEthernet {
		t.Fatalf("%s: link type %v, want Ethernet", file, r.LinkType())
	}
	datagrams := map[int][]byte{}
	for frame := 1; ; frame++ {
		data, ci, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return datagrams
		}
		if err != nil {
			t.Fatalf("%s frame %d: %v", file, frame, err)
		}
		if ci.CaptureLength != ci.Length {
			t.Fatalf("%s frame %d: captured %d of %d bytes", file, frame, ci.CaptureLength, ci.Length)
		}
		if ip := roceDatagram(data); ip != nil {
			datagrams[frame] = ip
		}
	}
}

// roceDatagram returns the IP datagram in an Ethernet frame without the frame's padding, or nil
// if it is not UDP to the RoCE port.
func roceDatagram(frame []byte) []byte {
	if len(frame) < 14+20+8 {
		return nil
	}
	ip := frame[14:]
	var total, udp int
	switch etherType := uint16(frame[12])<<8 | uint16(frame[13]); {
	case etherType == 0x0800 && ip[9] == 17:
		total, udp = int(ip[2])<<8|int(ip[3]), 20
	case etherType == 0x86dd && ip[6] == 17:
		total, udp = 40+(int(ip[4])<<8|int(ip[5])), 40
	default:
		return nil
	}
	if int(ip[udp+2])<<8|int(ip[udp+3]) != rocePort {
		return nil
	}
	return ip[:total]
}
