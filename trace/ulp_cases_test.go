package trace_test

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/ulp"
)

// ulpRoles returns the roles of all messages of a capture, after edit has changed the packets: it
// returns how often each is passed to the Analyzer.
func ulpRoles(t *testing.T, name string, edit func(p *trace.Packet) int) (roles []string) {
	t.Helper()
	seen := map[*trace.Message]bool{}
	a := trace.NewAnalyzer(trace.Options{})
	readAll(t, bytes.NewReader(ulpCapture(t, name)), func(_ *capture.Frame, p *trace.Packet) {
		for range edit(p) {
			a.Add(p)
			if err := a.CheckBounds(); err != nil {
				t.Fatalf("frame %d: %v", p.Number, err)
			}
			if m := p.Message; m != nil && m.ULP != nil && !seen[m] {
				seen[m] = true
				roles = append(roles, m.ULP.String())
			}
		}
	})
	a.Finish()
	if n := a.Commands(); n != 0 {
		t.Errorf("%s: %d commands after the end", name, n)
	}
	return roles
}

func once(*trace.Packet) int { return 1 }

func TestARetransmittedSENDHasTheRoleOfTheFirst(t *testing.T) {
	for _, name := range ulpCaptures {
		want := ulpRoles(t, name, once)
		got := ulpRoles(t, name, func(p *trace.Packet) int {
			if p.BTH.DestQP == bth.GSI {
				return 1
			}
			return 2
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: each packet twice\n%q\nonce\n%q", name, got, want)
		}
	}
}

func TestAPacketWithAWrongICRCHasNoRole(t *testing.T) {
	for _, name := range ulpCaptures {
		if got := ulpRoles(t, name, func(p *trace.Packet) int {
			if p.BTH.DestQP != bth.GSI {
				p.ICRC.Verdict = trace.Wrong
			}
			return 1
		}); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Whatever the length to which packets were cut, what remains of a header gives the same role, or
// none; with fewer buffers and arguments if they are beyond the end.
func TestACutHeaderGivesNoWrongCommand(t *testing.T) {
	for _, name := range ulpCaptures {
		type key struct{ frame, id uint64 }
		commands := map[key]string{}
		for n := 300; n >= 0; n -= 4 {
			a := trace.NewAnalyzer(trace.Options{})
			readAll(t, bytes.NewReader(ulpCapture(t, name)), func(_ *capture.Frame, p *trace.Packet) {
				p.BTH.Payload = p.BTH.Payload[:min(n, len(p.BTH.Payload))]
				a.Add(p)
				if p.Message == nil || p.Message.ULP == nil || p.Role != trace.Request {
					return
				}
				u := &p.Message.ULP.PDU
				k := key{uint64(p.Number), u.ID}
				switch was, ok := commands[k]; {
				case n == 300:
					commands[k] = u.Command
				case u.Command == "" || u.Kind != ulp.Command || u.Command == "call":
				case !ok || was != u.Command && u.Protocol != ulp.NFS:
					t.Errorf("%s, %d bytes: frame %d is %v", name, n, p.Number, u)
				}
			})
		}
	}
}

// A flow whose SENDs show no protocol is probed for the first of them only.
func TestOnlyTheFirstSENDsAreProbed(t *testing.T) {
	var connect []byte
	readAll(t, bytes.NewReader(ulpCapture(t, "nvme")), func(_ *capture.Frame, p *trace.Packet) {
		if p.Number == 4 {
			connect = bytes.Clone(p.BTH.Payload)
		}
	})
	for before, want := range map[int]ulp.Protocol{0: ulp.NVMe, 15: ulp.NVMe, 16: ulp.None} {
		a := trace.NewAnalyzer(trace.Options{})
		for i := range before + 1 {
			p := bare(i+1, bth.RCSendOnly, 21, bth.PSN(i))
			p.BTH.Payload = make([]byte, 64)
			if i == before {
				p.BTH.Payload = connect
			}
			p.Len += len(p.BTH.Payload)
			a.Add(p)
			if i == before && p.Flow.ULP != want {
				t.Errorf("after %d SENDs the protocol is %v, want %v", before, p.Flow.ULP, want)
			}
		}
	}
}

func TestAnEvictedFlowReleasesItsCommands(t *testing.T) {
	a := trace.NewAnalyzer(trace.Options{Flows: 1})
	readAll(t, bytes.NewReader(ulpCapture(t, "nvme")), func(_ *capture.Frame, p *trace.Packet) {
		a.Add(p)
		if err := a.CheckBounds(); err != nil {
			t.Fatalf("frame %d: %v", p.Number, err)
		}
	})
	a.Add(bare(1000, bth.RCSendOnly, 21, 0))
	if n := a.Commands(); n != 0 {
		t.Errorf("%d commands", n)
	}
}

func TestARejectionTellsTheStatusOfNVMe(t *testing.T) {
	a := trace.NewAnalyzer(trace.Options{})
	private, err := (&mad.IPHeader{SourcePort: 1, Source: netip.MustParseAddr("10.0.0.1"),
		Destination: netip.MustParseAddr("10.0.0.2")}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 32)
	data[2], data[4] = 9, 32
	p := bare(1, bth.UDSendOnly, bth.GSI, 1)
	p.MAD = &mad.Message{Attribute: mad.AttrREQ, REQ: mad.REQ{LocalCommID: 5, LocalQPN: 21,
		ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 4420), PrivateData: append(private, data...)}}
	a.Add(p)
	want := "; NVMe-oF, QID 9, HRQSIZE 32, HSQSIZE 0"
	if !strings.HasSuffix(p.Meaning, want) || p.Flow.ULP != ulp.NVMe {
		t.Errorf("the REQ means %q, want %q at its end", p.Meaning, want)
	}
	q := bare(2, bth.UDSendOnly, bth.GSI, 1)
	q.Src, q.Dst = q.Dst, q.Src
	q.MAD = &mad.Message{Attribute: mad.AttrREJ, REJ: mad.REJ{RemoteCommID: 5, Reason: mad.RejectConsumerDefined,
		PrivateData: []byte{0, 0, 3, 0}}}
	a.Add(q)
	if want := "; NVMe-oF: Invalid QID"; !strings.HasSuffix(q.Meaning, want) {
		t.Errorf("the REJ means %q, want %q at its end", q.Meaning, want)
	}
}

// FuzzULPAnalyzer passes an Analyzer the packets of the captures in any order, with changed bytes.
// Four bytes of input tell the packet, the position and the value of a changed byte.
func FuzzULPAnalyzer(f *testing.F) {
	var frames []*capture.Frame
	for _, name := range ulpCaptures {
		c, err := capture.Open(bytes.NewReader(ulpCapture(f, name)))
		if err != nil {
			f.Fatal(err)
		}
		for x, err := range c.Frames() {
			if err != nil {
				f.Fatal(err)
			}
			y := *x
			y.Data = bytes.Clone(x.Data)
			frames = append(frames, &y)
		}
	}
	var all []byte
	for i := range frames {
		all = append(all, byte(i), byte(i>>8), 0, 0)
	}
	f.Add(all)
	f.Add(all[:400])
	f.Add([]byte{3, 0, 60, 1, 4, 0, 70, 9, 7, 0, 58, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 4*300)] // longer inputs are slow and show nothing else
		a := trace.NewAnalyzer(trace.Options{Flows: 3, Outstanding: 9})
		var d trace.Decoder
		for n := 1; len(data) >= 4; n++ {
			x := *frames[(int(data[0])|int(data[1])<<8)%len(frames)]
			x.Data, x.Number = bytes.Clone(x.Data), n
			if at := 42 + int(data[2]); data[3] != 0 && at < len(x.Data) {
				x.Data[at] ^= data[3]
			}
			data = data[4:]
			d.Decode(&x, func(p *trace.Packet) {
				if p.ICRC.Verdict == trace.Wrong {
					p.ICRC.Verdict = trace.NotChecked
				}
				a.Add(p)
				if err := a.CheckBounds(); err != nil {
					t.Fatalf("packet %d: %v", n, err)
				}
			})
		}
		a.Finish()
		if a.Commands() != 0 {
			t.Fatalf("%d commands after the end", a.Commands())
		}
	})
}
