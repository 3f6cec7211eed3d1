package filter

import (
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

// fields are all fields that expressions may use.
var fields = append(own, wireshark...)

// index contains fields by name.
var index = func() map[string]*field {
	m := map[string]*field{}
	for i := range fields {
		for _, n := range fields[i].names {
			m[n] = &fields[i]
		}
	}
	return m
}()

func fieldOf(name string) *field { return index[strings.ToLower(name)] }

// findingNames returns the values of the field finding.
func findingNames() []string {
	var names []string
	for _, k := range trace.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func one(v uint64) numbers { return numbers{[4]uint64{v}, 1} }

// onlyIf returns the value v if is is true, otherwise no value.
func onlyIf(is bool, v uint64) numbers {
	if !is {
		return numbers{}
	}
	return one(v)
}

// whole reports whether all headers of p could be decoded.
func whole(p *trace.Packet) bool {
	info := p.BTH.Opcode.Info()
	return info.Valid && p.BTH.Version == 0 && len(p.Bytes) >= info.HeaderLen
}

// has reports whether p has one of the headers in h and all its headers could be decoded.
func has(p *trace.Packet, h bth.Headers) bool {
	return p.BTH.Opcode.Info().Headers&h != 0 && whole(p)
}

// inBTH returns a getter for a BTH field. It returns no value for packets whose BTH was not
// captured.
func inBTH(get func(*bth.Packet) uint64) func(*trace.Packet) numbers {
	return func(p *trace.Packet) numbers { return onlyIf(len(p.Bytes) >= bth.BTHLen, get(&p.BTH)) }
}

// inHeader returns a getter for a field of the header h.
func inHeader(h bth.Headers, get func(*bth.Packet) uint64) func(*trace.Packet) numbers {
	return func(p *trace.Packet) numbers { return onlyIf(has(p, h), get(&p.BTH)) }
}

// inMAD returns a getter for a field of CM messages with attribute a; 0 means any.
func inMAD(a mad.Attribute, get func(*mad.Message) uint64) func(*trace.Packet) numbers {
	return func(p *trace.Packet) numbers {
		if p.MAD == nil || a != 0 && p.MAD.Attribute != a {
			return numbers{}
		}
		return one(get(p.MAD))
	}
}

// queuePairs returns the queue pairs of the packet's flow and those in its headers.
func queuePairs(p *trace.Packet) (n numbers) {
	add := func(q bth.QPN) {
		if q != 0 {
			n.v[n.n] = uint64(q)
			n.n++
		}
	}
	if p.Flow != nil {
		add(p.Flow.Ends[0].QPN)
		add(p.Flow.Ends[1].QPN)
	}
	if len(p.Bytes) >= bth.BTHLen {
		add(p.BTH.DestQP)
	}
	if has(p, bth.HasDETH) {
		add(p.BTH.DETH.SrcQP)
	}
	return n
}

// addrOf returns a getter for the source address, the destination address or both; only for packets
// of the given IP version unless version is 0.
func addrOf(version uint8, src, dst bool) func(*trace.Packet) addrs {
	return func(p *trace.Packet) (a addrs) {
		if version != 0 && (p.IP.Version != version || !isRoCEv2(p)) {
			return a
		}
		if src {
			a.v[a.n] = p.Src.Addr()
			a.n++
		}
		if dst {
			a.v[a.n] = p.Dst.Addr()
			a.n++
		}
		return a
	}
}

// names are names of numbers. The keys are results of squeeze, so that case, _, - and spaces do not
// matter.
type names map[string]uint64

// named returns m as names.
func named(m map[string]uint64) names { return m }

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// opcodeNames are the IBA opcode names.
var opcodeNames = func() map[string]uint64 {
	m := map[string]uint64{}
	for op := range bth.Opcodes() {
		m[squeeze(op.String())] = uint64(op)
	}
	return m
}()

// operationNames include common short forms.
var operationNames = func() map[string]uint64 {
	m := map[string]uint64{
		"write": uint64(bth.OpWrite), "read": uint64(bth.OpReadRequest), "readrequest": uint64(bth.OpReadRequest),
		"readresponse": uint64(bth.OpReadResponse), "ack": uint64(bth.OpAck), "atomicack": uint64(bth.OpAtomicAck),
		"cas": uint64(bth.OpCmpSwap),
		"faa": uint64(bth.OpFetchAdd),
	}
	for o := bth.OpSend; o <= bth.OpCNP; o++ {
		m[squeeze(o.String())] = uint64(o)
	}
	return m
}()

var serviceNames = map[string]uint64{
	"rc": uint64(bth.ServiceRC), "uc": uint64(bth.ServiceUC), "ud": uint64(bth.ServiceUD),
	"cnp": uint64(bth.ServiceCNP),
}

var attributeNames = func() map[string]uint64 {
	m := map[string]uint64{}
	for a := mad.AttrREQ; a.Valid(); a++ {
		m[squeeze(a.String())] = uint64(a)
	}
	return m
}()

// isNAK reports whether p is a NAK or an RNR NAK.
func isNAK(p *trace.Packet) bool {
	return has(p, bth.HasAETH) && (p.BTH.AETH.Syndrome.IsNak() || p.BTH.AETH.Syndrome.IsRNR())
}

// isError reports whether p cannot be decoded, has a wrong ICRC, is a NAK, RNR NAK or REJ, or has a
// finding of level Error.
func isError(p *trace.Packet) bool {
	return p.Err != nil || p.ICRC.Verdict == trace.Wrong || isNAK(p) || level(p) >= int(trace.Error) ||
		p.MAD != nil && p.MAD.Attribute == mad.AttrREJ
}

// level returns the highest level of p's findings, -1 without one.
func level(p *trace.Packet) int {
	worst := -1
	for i := range p.Findings {
		worst = max(worst, int(p.Findings[i].Level))
	}
	return worst
}

// finding reports whether p has a finding of the kind want, and whether it has any (some).
func finding(p *trace.Packet, want string) (is, some bool) {
	for i := range p.Findings {
		if strings.EqualFold(string(p.Findings[i].Kind), want) {
			return true, true
		}
	}
	return false, len(p.Findings) > 0
}
