package filter_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/filter"
)

// Expressions with Wireshark's fields select the same frames as in Wireshark.
func TestDisplayFiltersAgreeWithTshark(t *testing.T) {
	shark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	for _, tt := range []struct{ file, text string }{
		{"rcops", "infiniband.bth.opcode == 17 and infiniband.aeth.syndrome >= 32"},
		{"rcops", "infiniband.bth.opcode in {6, 10..12} || infiniband.atomiceth"},
		{"rcops", "infiniband.aeth.syndrome.opcode == 3"},
		{"rcops", "infiniband && !(infiniband.reth.r_key != 0x65eb)"},
		{"rcops", "infiniband.reth.va != 0x3d15d000"},
		{"rcops", "infiniband.bth.padcnt gt 0 and infiniband.bth.a == 1"},
		{"loss_write", "infiniband.bth.psn >= 9803750 or infiniband.bth.psn < 9803632"},
		{"loss_write", "infiniband and ip.src == 198.18.0.2 and frame.number < 100"},
		{"loss_write", "infiniband and not ip.dst == 198.18.0.0/16 or infiniband.aeth.msn == 2"},
		{"v6_write_bw_4096", "infiniband.reth.dmalen == 20001 && ipv6.addr == fd00:18::2"},
		{"rping_big", "infiniband.mad.attributeid == 0x10 or infiniband.cm.rep.localqpn == 0x1c"},
		{"ud_pingpong", "infiniband.deth.q_key == 0x11111111 and udp.port == 4791 and infiniband.bth.psn == 8232531"},
	} {
		t.Run(tt.file+"/"+tt.text, func(t *testing.T) {
			path := rxetraffic.Unpack(t, tt.file)[0]
			out, err := exec.Command(shark, "-r", path, "-Y", tt.text, "-T", "fields", "-e", "frame.number").Output()
			if err != nil {
				t.Fatal(err)
			}
			f, err := filter.Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got := chosen(t, path, f)
			if want := strings.Fields(string(out)); strings.Join(got, " ") != strings.Join(want, " ") || len(got) == 0 {
				t.Errorf("%d frames %.200q, tshark %d %.200q", len(got), got, len(want), want)
			}
		})
	}
}

func chosen(t *testing.T, path string, f *filter.Filter) (numbers []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	var d trace.Decoder
	for frame, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(frame, func(p *trace.Packet) {
			if f.Match(p) {
				numbers = append(numbers, strconv.Itoa(p.Number))
			}
		})
	}
	return numbers
}
