// Package capture writes the packets of a simulated run to a pcapng capture for Wireshark.
package capture

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/gorxe/gorxe/internal/sim"
	"github.com/gorxe/gorxe/internal/sim/scenario"
)

// maxRuns limits the number of runs in the search for the smallest failing scenario.
const maxRuns = 2000

// Write plays sc and writes its packets to w as pcapng, at the time they are sent: packets that a
// link drops are included, corruption by a link is not. Every frame has an Ethernet header with
// invented addresses.
func Write(w io.Writer, sc *scenario.Scenario) (sim.Result, error) {
	ng, err := pcapgo.NewNgWriter(w, layers.LinkTypeEthernet)
	if err != nil {
		return sim.Result{}, err
	}
	var frame []byte
	r := sim.Run(sc, func(at scenario.Time, datagram []byte) {
		frame = ethernet(frame[:0], datagram)
		info := gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(at)), CaptureLength: len(frame), Length: len(frame)}
		if e := ng.WritePacket(info, frame); err == nil {
			err = e
		}
	})
	if err == nil {
		err = ng.Flush()
	}
	return r, err
}

// ethernet appends an Ethernet header and datagram to dst. The last byte of each MAC address is
// that of the node's IP address.
func ethernet(dst, datagram []byte) []byte {
	src, to, kind := datagram[15], datagram[19], uint16(layers.EthernetTypeIPv4)
	if datagram[0]>>4 == 6 {
		src, to, kind = datagram[23], datagram[39], uint16(layers.EthernetTypeIPv6)
	}
	dst = append(dst, 2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, src, byte(kind>>8), byte(kind))
	return append(dst, datagram...)
}

// Failure shrinks the failing scenario of seed, writes a capture of it to dir and returns a
// report.
func Failure(seed uint64, dir string) string {
	sc, r := sim.Shrink(scenario.Generate(seed), maxRuns)
	if r.Err == nil {
		return fmt.Sprintf("seed %d does not fail", seed)
	}
	path := filepath.Join(dir, fmt.Sprintf("gorxe-sim-%d.pcapng", seed))
	text := fmt.Sprintf("seed %d: %v\n", seed, r.Err)
	for _, a := range sc.Acts {
		text += fmt.Sprintf("  %9d ns  connection %d end %d  %v", a.At, a.Conn, a.End, a.Kind)
		if a.Kind == scenario.ActPost {
			text += fmt.Sprintf(" %v, %d bytes, flags %#x, receive %d ns later", a.Op, a.Length(),
				uint32(a.Flags), a.RecvDelay)
		}
		text += "\n"
	}
	text += fmt.Sprintf("  %d acts and %d faults are left of it; capture: %s\n", len(sc.Acts), len(r.Faults), path)
	text += fmt.Sprintf("  to repeat: go test ./internal/sim -run TestSeed -seed %d", seed)
	if err := save(path, sc); err != nil {
		text += fmt.Sprintf("\n  no capture: %v", err)
	}
	return text
}

func save(path string, sc *scenario.Scenario) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := Write(f, sc); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
