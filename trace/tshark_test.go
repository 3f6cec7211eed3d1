package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// sharkFields are Wireshark fields and their values in a packet as tshark writes them; "" if
// absent.
var sharkFields = []struct {
	name  string
	value func(*trace.Packet) string
}{
	{"frame.number", func(p *trace.Packet) string { return strconv.Itoa(p.Number) }},
	{"frame.time_epoch", func(p *trace.Packet) string {
		return fmt.Sprintf("%d.%09d", p.Time.Unix(), p.Time.Nanosecond())
	}},
	{"udp.srcport", func(p *trace.Packet) string { return strconv.Itoa(int(p.Src.Port())) }},
	{"ip.src", func(p *trace.Packet) string { return only(p.IP.Version == 4, "%v", p.Src.Addr()) }},
	{"ipv6.dst", func(p *trace.Packet) string { return only(p.IP.Version == 6, "%v", p.Dst.Addr()) }},
	{"ip.id", func(p *trace.Packet) string { return only(p.IP.Version == 4, "0x%04x", p.IP.ID) }},
	{"infiniband.bth.opcode", func(p *trace.Packet) string { return strconv.Itoa(int(p.BTH.Opcode)) }},
	{"infiniband.bth.se", func(p *trace.Packet) string { return flag(p.BTH.Solicited) }},
	{"infiniband.bth.m", func(p *trace.Packet) string { return flag(p.BTH.MigReq) }},
	{"infiniband.bth.padcnt", func(p *trace.Packet) string { return strconv.Itoa(int(p.BTH.Pad)) }},
	{"infiniband.bth.tver", func(p *trace.Packet) string { return strconv.Itoa(int(p.BTH.Version)) }},
	{"infiniband.bth.p_key", func(p *trace.Packet) string { return strconv.Itoa(int(p.BTH.PKey)) }},
	{"infiniband.bth.destqp", func(p *trace.Packet) string { return fmt.Sprintf("0x%06x", uint32(p.BTH.DestQP)) }},
	{"infiniband.bth.a", func(p *trace.Packet) string { return flag(p.BTH.AckReq) }},
	{"infiniband.bth.psn", func(p *trace.Packet) string { return strconv.Itoa(int(p.BTH.PSN)) }},
	{"infiniband.reth.va", func(p *trace.Packet) string {
		if has(p, bth.HasAtomicETH) {
			return fmt.Sprintf("0x%016x", p.BTH.AtomicETH.VA)
		}
		return only(has(p, bth.HasRETH), "0x%016x", p.BTH.RETH.VA)
	}},
	{"infiniband.reth.r_key", func(p *trace.Packet) string {
		if has(p, bth.HasAtomicETH) {
			return fmt.Sprintf("0x%08x", p.BTH.AtomicETH.RKey)
		}
		return only(has(p, bth.HasRETH), "0x%08x", p.BTH.RETH.RKey)
	}},
	{"infiniband.reth.dmalen", func(p *trace.Packet) string {
		return only(has(p, bth.HasRETH), "%d", p.BTH.RETH.DMALen)
	}},
	{"infiniband.aeth.syndrome", func(p *trace.Packet) string {
		return only(has(p, bth.HasAETH), "%d", uint8(p.BTH.AETH.Syndrome))
	}},
	{"infiniband.aeth.msn", func(p *trace.Packet) string { return only(has(p, bth.HasAETH), "%d", p.BTH.AETH.MSN) }},
	{"infiniband.deth.q_key", func(p *trace.Packet) string {
		return only(has(p, bth.HasDETH), "0x%016x", p.BTH.DETH.QKey)
	}},
	{"infiniband.deth.srcqp", func(p *trace.Packet) string {
		return only(has(p, bth.HasDETH), "0x%08x", uint32(p.BTH.DETH.SrcQP))
	}},
	{"infiniband.atomiceth.swapdt", func(p *trace.Packet) string {
		return only(has(p, bth.HasAtomicETH), "%d", p.BTH.AtomicETH.SwapAdd)
	}},
	{"infiniband.atomiceth.cmpdt", func(p *trace.Packet) string {
		return only(has(p, bth.HasAtomicETH), "%d", p.BTH.AtomicETH.Compare)
	}},
	{"infiniband.atomicacketh.origremdt",
		func(p *trace.Packet) string { return only(has(p, bth.HasAtomicAckETH), "%d", p.BTH.AtomicAck) }},
	{"infiniband.immdt", func(p *trace.Packet) string { return only(has(p, bth.HasImmDt), "%08x", p.BTH.Imm) }},
	// tshark shows the bytes of the ICRC as a big-endian number.
	{"infiniband.invariant.crc", func(p *trace.Packet) string {
		return "0x" + fmt.Sprintf("%x",
			[]byte{byte(p.ICRC.Wire), byte(p.ICRC.Wire >> 8), byte(p.ICRC.Wire >> 16), byte(p.ICRC.Wire >> 24)})
	}},
	{"infiniband.mad.attributeid", func(p *trace.Packet) string {
		if p.MAD == nil {
			return ""
		}
		return fmt.Sprintf("0x%04x", uint16(p.MAD.Attribute))
	}},
	{"infiniband.mad.transactionid", func(p *trace.Packet) string {
		if p.MAD == nil {
			return ""
		}
		return fmt.Sprintf("0x%016x", p.MAD.TransactionID)
	}},
	{"infiniband.cm.req.localqpn", func(p *trace.Packet) string {
		return ofMAD(p, mad.AttrREQ, "0x%06x", func(m *mad.Message) any { return uint32(m.REQ.LocalQPN) })
	}},
	{"infiniband.cm.req.startpsn", func(p *trace.Packet) string {
		return ofMAD(p, mad.AttrREQ, "0x%06x", func(m *mad.Message) any { return uint32(m.REQ.StartingPSN) })
	}},
	{"infiniband.cm.rep.localqpn", func(p *trace.Packet) string {
		return ofMAD(p, mad.AttrREP, "0x%06x", func(m *mad.Message) any { return uint32(m.REP.LocalQPN) })
	}},
}

func only(is bool, format string, v any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, v)
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

func has(p *trace.Packet, h bth.Headers) bool { return p.BTH.Opcode.Info().Headers&h != 0 }

func ofMAD(p *trace.Packet, a mad.Attribute, format string, value func(*mad.Message) any) string {
	if p.MAD == nil || p.MAD.Attribute != a {
		return ""
	}
	return fmt.Sprintf(format, value(p.MAD))
}

// same compares values, ignoring differences between tshark versions.
func same(a, b string) bool {
	if a == b {
		return true
	}
	m, err1 := number(a)
	n, err2 := number(b)
	return err1 == nil && err2 == nil && m == n
}

func number(s string) (uint64, error) {
	switch s {
	case "True":
		return 1, nil
	case "False":
		return 0, nil
	}
	return strconv.ParseUint(s, 0, 64)
}

// shark runs tshark.
func shark(t *testing.T, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	c := exec.Command(path, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("tshark %q: %v\n%s", args, err, stderr.Bytes())
	}
	return out
}

func TestEachFieldAgreesWithTshark(t *testing.T) {
	for _, path := range rxetraffic.Unpack(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			args := []string{"-r", path, "-Y", "infiniband", "-T", "fields", "-E", "occurrence=f"}
			for _, f := range sharkFields {
				args = append(args, "-e", f.name)
			}
			lines := strings.Split(strings.TrimSuffix(string(shark(t, args...)), "\n"), "\n")
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			n := 0
			readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
				if n++; n > len(lines) {
					return
				}
				values := strings.Split(lines[n-1], "\t")
				for i, f := range sharkFields {
					if got := f.value(p); !same(got, values[i]) {
						t.Errorf("frame %d: %s is %q, tshark says %q", p.Number, f.name, got, values[i])
					}
				}
			})
			if n != len(lines) {
				t.Errorf("%d packets, tshark finds %d", n, len(lines))
			}
		})
	}
}
