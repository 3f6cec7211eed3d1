package html_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/filter"
	tracehtml "github.com/gorxe/gorxe/trace/html"
	"github.com/gorxe/gorxe/trace/internal/scene"
)

// each calls f for the packets of a source.
type each func(f func(*trace.Packet))

// ofFile returns the packets of a capture file, as the command line filters them.
func ofFile(t *testing.T, path string) each {
	return func(f func(*trace.Packet)) {
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
		p := trace.Pipeline{Outputs: []trace.Output{output(f)}}
		if err := p.Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

type output func(*trace.Packet)

func (f output) Packet(k *trace.Packet) error { f(k); return nil }

func ofList(packets []*trace.Packet) each {
	return func(f func(*trace.Packet)) {
		for _, k := range packets {
			f(k)
		}
	}
}

// oddPackets are packets of which an expression could see too much or too little: captured
// incompletely, with a wrong ICRC, with large numbers, without BTH.
func oddPackets() []*trace.Packet {
	s := scene.New()
	f := s.Flow(bth.ServiceRC, trace.End{Addr: longAddrs[0], QPN: 0xffffff},
		trace.End{Addr: longAddrs[1], QPN: 0x800001})
	cut := s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCWriteFirst, PSN: 5,
		RETH: bth.RETH{VA: 1<<64 - 1, RKey: 1<<32 - 1, DMALen: 1<<32 - 1}, Payload: make([]byte, 1024)}, "")
	cut.Bytes = cut.Bytes[:20]
	s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCWriteFirst, PSN: bth.MaxPSN,
		RETH: bth.RETH{VA: 1<<64 - 1, RKey: 1<<32 - 1, DMALen: 1<<32 - 1}, Payload: make([]byte, 1024)}, "")
	swap := s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCCmpSwap, PSN: 7, AckReq: true, Solicited: true,
		AtomicETH: bth.AtomicETH{VA: 1<<53 + 1, RKey: 7, SwapAdd: 1<<53 + 2, Compare: 1 << 53}}, "")
	swap.ICRC.Verdict = trace.Wrong
	s.Packet(f, 1, trace.Response, bth.Packet{Opcode: bth.RCAtomicAck, PSN: 7, AtomicAck: 1<<64 - 2,
		AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 1<<24 - 1}}, "")
	s.Packet(f, 1, trace.NoRole, bth.Packet{Opcode: bth.RCSendOnlyInv, PSN: 8, Payload: make([]byte, 4)}, "")
	s.Packet(f, 1, trace.CNP, bth.Packet{Opcode: bth.CNP, BECN: true}, "").IP.TrafficClass = 48<<2 | 3
	rej := s.Packet(f, 1, trace.CM, bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.GSI, Payload: make([]byte, mad.Len),
		DETH: bth.DETH{QKey: 0x80010000, SrcQP: bth.GSI}}, "")
	rej.MAD = &mad.Message{Attribute: mad.AttrREJ, TransactionID: 1<<64 - 1, REJ: mad.REJ{Reason: 28}}
	for _, n := range []int{0, 5, bth.BTHLen} {
		short := s.Packet(f, 0, trace.NoRole, bth.Packet{Opcode: bth.RCSendOnly, PSN: 9, Payload: make([]byte, 8)}, "")
		short.Bytes, short.Err, short.Flow = short.Bytes[:n], fmt.Errorf("cut"), nil
		short.Doubtful = n == 0
	}
	lids := s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCSendOnly, PSN: 9, Payload: make([]byte, 8)}, "")
	lids.Fabric, lids.LRH, lids.IP = fabric.InfiniBand, &fabric.LRH{SLID: 5, DLID: 0xffff}, trace.IP{}
	lids.Src, lids.Dst = netip.AddrPortFrom(fabric.LIDAddr(5), 0), netip.AddrPortFrom(fabric.LIDAddr(0xffff), 0)
	mapped := s.Packet(f, 0, trace.NoRole, bth.Packet{Opcode: bth.UCSendOnlyImm, Imm: 1<<32 - 1, PSN: 10}, "")
	mapped.Src = netip.MustParseAddrPort("[::ffff:192.0.2.1]:1")
	return s.Packets
}

// expressions returns expressions with f and the values that packets have, and around them.
func expressions(f filter.Field, packets each) []string {
	const most = 6 // values of a field
	var values []string
	add := func(v string) {
		if len(values) < most && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	packets(func(k *trace.Packet) {
		switch f.Type {
		case filter.Number:
			for _, n := range f.Numbers(nil, k) {
				add(fmt.Sprint(n))
			}
		case filter.Address:
			for _, a := range f.Addrs(nil, k) {
				add(a.String())
			}
		}
	})
	switch f.Type {
	case filter.Text:
		for _, k := range f.Known {
			if strings.Contains(k, " ") {
				k = `"` + k + `"` // on the page, words without a field are searched for
			}
			values = append(values, k)
		}
	case filter.Number:
		names := slices.Sorted(maps.Keys(f.Named))
		values = append(values, names[:min(8, len(names))]...)
		values = append(values, "0", "1", "true", "false", "0x1f", "007", "0b1_0", f.Example,
			fmt.Sprint(uint64(1)<<f.Bits-1),
			fmt.Sprint(uint64(1)<<min(f.Bits, 63)))
	case filter.Address:
		values = append(values, "0.0.0.0/0", "::/0", "192.0.2.0/24", "2001:db8::/32", "2001:db8:ffff::/47",
			"::ffff:192.0.2.1",
			"2001:DB8:1234:5678:9ABC:DEF0:1234:5678", "2001:db8::1%eth0", "1.2.3", "1.2.3.04", "1::2::3",
			"::1/129", "1.2.3.4/33",
			"10.0.0.0/08", "::ffff:1.2.3.4/96", "x")
	}
	var out []string
	for _, name := range f.Names {
		out = append(out, name, "not "+strings.ToUpper(name))
		for _, v := range values {
			for _, op := range []string{" ", " == ", " != ", " eq ", " === ", " !== ", " < ", " <= ", " gt ", " >= "} {
				out = append(out, name+op+v)
			}
			out = append(out, name+` "`+strings.ToUpper(strings.Trim(v, `"`))+`"`, name+" in {"+v+"}")
			if f.Type != filter.Text {
				out = append(out, name+" "+v+".."+v)
			}
		}
		if len(values) > 1 && f.Type != filter.Text {
			out = append(out, fmt.Sprintf("%s in {%s, %s}", name, values[0], values[1]),
				name+" "+values[0]+".."+values[1],
				name+" "+values[1]+".."+values[0], name+" > "+values[0]+".."+values[1],
				"("+name+" "+values[0]+" or error) and not again")
		}
	}
	return out
}

// matches returns the indexes of the packets that each expression of the command line matches; nil
// if it is invalid.
func matches(texts []string, packets each) [][]int {
	filters, at := make([]*filter.Filter, len(texts)), make([][]int, len(texts))
	for i, x := range texts {
		if f, err := filter.Parse(x); err == nil {
			filters[i], at[i] = f, []int{}
		}
	}
	n := 0
	packets(func(k *trace.Packet) {
		for i, f := range filters {
			if f != nil && f.Match(k) {
				at[i] = append(at[i], n)
			}
		}
		n++
	})
	return at
}

// filterScript returns the files of the page's script that the filter needs, as a function of
// expressions.
func filterScript(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("(expressions => {\n")
	for _, name := range []string{"data", "dom", "columns", "address", "filter"} {
		text, err := os.ReadFile("page/" + name + ".js")
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	b.WriteString(`
	return expressions.map(x => {
		const { fits, bad } = parse(x);
		return bad ? null : packets.filter(fits).map(p => p.i);
	});
	})`)
	return b.String()
}

// Each expression of the command line means the same on the page, for each field.
func testFields(t *testing.T, b context.Context) {
	sources := map[string]each{"odd": ofList(oddPackets()), "lossy": ofList(scene.Lossy().Packets)}
	for _, name := range []string{"rcops", "ud_pingpong"} {
		sources[name] = ofFile(t, rxetraffic.Unpack(t, name)[0])
	}
	for _, name := range []string{"tunnels/nested.pcap.gz", "tunnels/inside6.pcap.gz", "ulp/nvme.pcap"} {
		sources[name] = ofFile(t, "../testdata/"+name)
	}
	script := filterScript(t)
	total := 0
	for name, packets := range sources {
		page := tracehtml.New(tracehtml.Options{Title: name})
		packets(func(k *trace.Packet) { add(t, page, k) })
		var text strings.Builder
		if _, err := page.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		p := show(t, b, desktop, text.String())
		for _, f := range filter.Fields() {
			all := expressions(f, packets)
			total += len(all)
			list, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			got := js[[]*[]int](p, "%s", script+"("+string(list)+")")
			for i, want := range matches(all, packets) {
				switch x := all[i]; {
				case want != nil && got[i] == nil:
					t.Errorf("%s: the page refuses %q", name, x)
				case want == nil && got[i] != nil:
					t.Errorf("%s: the page accepts %q, the command line does not", name, x)
				case want != nil && !slices.Equal(want, *got[i]):
					t.Errorf("%s: %q matches %.60s on the page, %.60s on the command line", name, x,
						fmt.Sprint(*got[i]),
						fmt.Sprint(want))
				}
			}
		}
	}
	t.Logf("%d expressions with %d fields", total, len(filter.Fields()))
}
