package cases

import (
	"encoding/binary"
	"testing"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

func TestACorrectDeviceKeepsTheRulesOfHeaders(t *testing.T) {
	correct := &fake{takes: func(p *wire.Packet) bool { return p.Header == nil || keeps(p) }}
	for id, x := range correct.verdicts(t, "header") {
		if x.Verdict != conformance.Pass && x.Verdict != conformance.Measured && id != "header/4" {
			t.Errorf("%s %s: %v: %s", id, x.Case.Rule, x.Verdict, x.Detail)
		}
	}
}

// keeps reports whether the header that p's script makes has another identification only.
func keeps(p *wire.Packet) bool {
	const n = 300
	ip := make([]byte, n)
	ip[0], ip[9] = 0x45, 17
	binary.BigEndian.PutUint16(ip[2:], n)
	ip[6] = 0x40
	ip[22], ip[23] = 0x12, 0xb7
	binary.BigEndian.PutUint16(ip[24:], n-20)
	ip = p.Header(ip)
	ok := len(ip) == n && ip[0] == 0x45 && ip[6] == 0x40 && ip[7] == 0
	return ok && binary.BigEndian.Uint16(ip[2:]) == n && ip[23] == 0xb7 && binary.BigEndian.Uint16(ip[24:]) == n-20 &&
		ip[27] == 0 && !p.KeepSum
}

func TestAWrongHeaderIsSeen(t *testing.T) {
	port := uint16(50000)
	for name, x := range map[string]struct {
		id    string
		fault func(ip []byte)
	}{
		"IHL":            {"header/1", func(ip []byte) { ip[0] = 0x46 }},
		"DF clear":       {"header/2", func(ip []byte) { ip[6] = 0; wire.FixICRC(ip) }},
		"TTL changes":    {"header/3", func(ip []byte) { port++; ip[8] = byte(port) }},
		"DSCP":           {"header/4", func(ip []byte) { ip[1] = 0x20 }},
		"marked":         {"header/5", func(ip []byte) { ip[1] = 3 }},
		"UDP length":     {"header/6", func(ip []byte) { ip[25]++ }},
		"source address": {"header/7", func(ip []byte) { ip[15]++; wire.FixICRC(ip) }},
		"source port": {"header/9", func(ip []byte) {
			port++
			binary.BigEndian.PutUint16(ip[20:], port)
			wire.FixICRC(ip)
		}},
		"UDP checksum":    {"header/10", func(ip []byte) { ip[27] = 1 }},
		"ICRC":            {"header/11", func(ip []byte) { ip[len(ip)-1] ^= 1 }},
		"reserved bits":   {"header/13", func(ip []byte) { ip[28+8] |= 1 }},
		"P_Key":           {"header/14", func(ip []byte) { ip[28+2] = 0; wire.FixICRC(ip) }},
		"header checksum": {"header/15", func(ip []byte) { ip[11] ^= 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{fault: x.fault}
			got := f.verdicts(t, x.id)[x.id]
			if got.Verdict != conformance.Fail && got.Verdict != conformance.Warn {
				t.Errorf("%s %s: %v: %s", x.id, got.Case.Rule, got.Verdict, got.Detail)
			}
		})
	}
}

func TestADeviceThatTakesInvalidHeadersIsSeen(t *testing.T) {
	f := &fake{takes: func(*wire.Packet) bool { return true }}
	for _, id := range []string{"header/24", "header/25", "header/26", "header/27", "header/28", "header/34",
		"header/36"} {
		if x := f.verdicts(t, id)[id]; x.Verdict != conformance.Fail {
			t.Errorf("%s %s: %v: %s", id, x.Case.Rule, x.Verdict, x.Detail)
		}
	}
	strict := &fake{}
	for _, id := range []string{"header/29", "header/35"} {
		if x := strict.verdicts(t, id)[id]; x.Verdict != conformance.Fail {
			t.Errorf("%s %s: %v: %s", id, x.Case.Rule, x.Verdict, x.Detail)
		}
	}
}
