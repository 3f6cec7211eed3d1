package columns_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/columns"
	"github.com/gorxe/gorxe/trace/fabric"
)

// packet returns a packet whose texts contain a quotation mark and control characters.
func packet() *trace.Packet {
	p := &trace.Packet{
		Frame:  &capture.Frame{Interface: "e\x1bth0", Length: 90, Data: make([]byte, 80)},
		Number: 7, Time: time.Unix(5, 6), Bytes: make([]byte, bth.BTHLen),
		Meaning: "says \"no\"\n", Flow: &trace.Flow{Number: 2},
		Findings: []trace.Finding{{Kind: trace.Gap}, {Kind: trace.Duplicate}},
	}
	p.BTH.DestQP, p.BTH.PSN = 0x11, 3
	p.Flow.Ends[1].QPN = 0x11
	return p
}

func write(t *testing.T, names string, o columns.Options, packets ...*trace.Packet) string {
	t.Helper()
	var out bytes.Buffer
	w, err := columns.New(&out, strings.Fields(names), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		if err := w.Packet(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestALineHasTheValuesOfTheFields(t *testing.T) {
	noTime, later, earlier := packet(), packet(), packet()
	noTime.Time = time.Time{}
	later.Time = time.Unix(6, 5)
	earlier.Time = time.Unix(4, 7)
	lids := packet()
	lids.Src = netip.AddrPortFrom(fabric.LIDAddr(5), 0)
	lids.Dst = netip.AddrPortFrom(fabric.LIDAddr(6), 0)
	csv := columns.DefaultOptions()
	csv.Quote, csv.Separator = '"', ','
	headed := columns.DefaultOptions()
	headed.Header = true
	for _, tt := range []struct {
		name, names string
		o           columns.Options
		packets     []*trace.Packet
		want        string
	}{
		{"numbers", "frame psn flow", columns.DefaultOptions(), []*trace.Packet{packet()}, "7\t3\t2\n"},
		{"a field that the packet lacks", "psn verb frame", columns.DefaultOptions(), []*trace.Packet{packet()},
			"3\t\t7\n"},
		{"equal queue pairs once", "qp", columns.DefaultOptions(), []*trace.Packet{packet()}, "0x000011\n"},
		{"several values", "finding", columns.DefaultOptions(), []*trace.Packet{packet()}, "gap,duplicate\n"},
		{"fields without a value", "error warning cm", columns.DefaultOptions(), []*trace.Packet{packet()}, "\t\t\n"},
		{"no control characters", "frame.interface_name meaning", columns.DefaultOptions(), []*trace.Packet{packet()},
			"e\ufffdth0\tsays \"no\" \n"},
		{"quotation marks are doubled", "meaning frame", csv, []*trace.Packet{packet()},
			"\"says \"\"no\"\" \",\"7\"\n"},
		{"addresses that are not known", "src addr frame", columns.DefaultOptions(), []*trace.Packet{packet()},
			"\t\t7\n"},
		{"LIDs", "src dst ip.src", columns.DefaultOptions(), []*trace.Packet{lids}, "LID 5\tLID 6\t\n"},
		{"lengths", "frame.len frame.cap_len", columns.DefaultOptions(), []*trace.Packet{packet()}, "90\t80\n"},
		{"times", "frame.time_epoch frame.time_relative frame.time_delta_displayed", columns.DefaultOptions(),
			[]*trace.Packet{packet(), later, earlier, noTime}, "5.000000006\t0.000000000\t0.000000000\n" +
				"6.000000005\t0.999999999\t0.999999999\n4.000000007\t-0.999999999\t-1.999999998\n\t\t\n"},
		{"a header even without packets", "PSN frame.len", headed, nil, "PSN\tframe.len\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := write(t, tt.names, tt.o, tt.packets...); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEveryFieldHasANameThatIsFound(t *testing.T) {
	names := columns.Names()
	if err := columns.Check(names); err != nil || len(names) < 90 {
		t.Errorf("%d names, %v", len(names), err)
	}
	if err := columns.Check([]string{"psn", "infiniband.bth.psm"}); err == nil ||
		!strings.Contains(err.Error(), `did you mean "infiniband.bth.psn"?`) {
		t.Error(err)
	}
}

func TestALineAllocatesNothing(t *testing.T) {
	w, err := columns.New(failing{nil},
		[]string{"frame.number", "infiniband.bth.psn", "qp", "ip.src", "opcode", "finding"}, columns.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	p := packet()
	if n := testing.AllocsPerRun(100, func() { _ = w.Packet(p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write(b []byte) (int, error) { return len(b), f.err }

func TestTheFirstErrorOfAWriterIsKept(t *testing.T) {
	full := errors.New("full")
	w, err := columns.New(failing{full}, []string{"psn"}, columns.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Packet(packet()); err != nil {
		t.Error(err)
	}
	if err := w.Flush(); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := w.Packet(packet()); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for _, text := range []string{"", "header", "header=x", "separator=", "separator=ab", "separator=\n",
		"separator=\x80", "aggregator=", "occurrence=x", "quote=x", "bom=y"} {
		o := columns.DefaultOptions()
		if err := o.Set(text); err == nil {
			t.Errorf("%q is accepted: %+v", text, o)
		}
	}
}

func FuzzOptions(f *testing.F) {
	for _, text := range []string{"header=y", "separator=,", "separator=/t", "occurrence=f", "aggregator=/s", "quote=d",
		"x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := columns.DefaultOptions()
		if o.Set(text) != nil {
			return
		}
		for _, c := range []byte{o.Separator, o.Aggregator} {
			if c != '\t' && (c < ' ' || c > '~') {
				t.Errorf("%q: a separator is %q", text, c)
			}
		}
		write(t, "psn meaning finding", o, packet())
	})
}
