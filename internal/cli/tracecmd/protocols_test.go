package tracecmd

import (
	"strings"
	"testing"
)

func TestTraceNamesTheProtocolsOfOtherFrames(t *testing.T) {
	const dir = "../../../trace/testdata/specs/"
	for _, tt := range []struct{ file, want string }{
		{"others.pcap", "no RoCEv2 packets in 10 frames\n" +
			"others.pcap: 10 frames of other protocols: LLDP 3, UDP to port 53 2, ARP 1, EtherType 0x1234 1, ICMP 1, STP 1, TCP 1\n"},
		{"pause.pcap", "5 frames of other protocols: PFC 3, pause 2\n"},
		{"iwarp.pcap", "no RoCEv2 packets in 18 frames\niwarp.pcap: 18 frames of other protocols: iWARP 18\n"},
	} {
		r := newWorld().Run(t.Context(), "trace "+dir+tt.file)
		got := strings.ReplaceAll(r.Stderr.String(), dir, "")
		if r.Code != 0 || got != tt.file+": "+tt.want {
			t.Errorf("%s: %v", tt.file, r)
		}
	}
}

func TestTraceWritesALineForAPauseFrame(t *testing.T) {
	r := newWorld().Run(t.Context(), "trace ../../../trace/testdata/specs/pause.pcap")
	line, _, _ := strings.Cut(r.Stdout.String(), "\n")
	want := "      1      0.000000  02:00:00:00:00:01 → 01:80:c2:00:00:01  " +
		"PFC: pause class 3 for 65535 quanta (335.54µs at 100 Gbit/s)"
	if r.Code != 0 || line != want {
		t.Errorf("%q, want %q\n%v", line, want, r)
	}
}

func TestTraceSelectsPacketsByTheirTunnel(t *testing.T) {
	for _, tt := range []struct {
		filter string
		lines  int
	}{{"vni==300", 10}, {"vni==301&&tunnel==geneve", 10}, {"vni==1", 0}} {
		r := newWorld().Run(t.Context(),
			"trace --filter "+tt.filter+" ../../../trace/testdata/tunnels/nested.pcap.gz")
		if n := strings.Count(r.Stdout.String(), "\n"); r.Code != 0 || n != tt.lines {
			t.Errorf("%s: %d lines\n%v", tt.filter, n, r)
		}
	}
}
