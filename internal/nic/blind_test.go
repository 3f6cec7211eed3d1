package nic

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/prp"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Bits that a host that sees no packets must guess: see SECURITY.md.
const (
	qpnBits     = prp.Bits
	psnBits     = 24
	keyBits     = 32
	addressBits = 63 - 30 // of a random IOVA, for one of the bytes of 1 GiB
)

// earlyPSNs is how far ahead of the expected PSN a packet may be at path MTU 1024, that of a
// fortress.
func earlyPSNs() int { return 2 * transport.DefaultConfig().MaxWindow }

func TestAForgedPacketCountsUpToTwoWindowsAhead(t *testing.T) {
	for ahead, kept := range map[int]bool{1: true, earlyPSNs() - 1: true, earlyPSNs(): false, 1 << 22: false} {
		v := newFortress(t)
		p := request(v.rc, bth.RCWriteOnly, peerPSN.Add(uint32(ahead)), v.areas[areaAll].RKey(),
			v.areas[areaAll].IOVA(), 8)
		p.MigReq = true // early packets from rxe are not kept
		v.deliver(p)
		c := v.rc.machine.(*transport.RC).Counters()
		if got := c.EarlyKept == 1; got != kept || c.OutOfSequence != 1 {
			t.Errorf("%d PSNs ahead: kept %v, want %v; %+v", ahead, got, kept, c)
		}
		closeAll(t, v.end)
	}
}

func TestAForgedPacketWithAWrongKeyOrAddressEndsTheConnection(t *testing.T) {
	for name, off := range map[string]struct {
		key uint32
		va  uint64
	}{"key": {key: 1 << 12}, "address": {va: 1 << 40}} {
		v := newFortress(t)
		region := v.areas[areaAll]
		v.deliver(request(v.rc, bth.RCWriteOnly, peerPSN, region.RKey()^off.key, region.IOVA()^off.va, 8))
		if got := v.rc.State(); got != qp.ERR {
			t.Errorf("after a wrong %s the state is %v", name, got)
		}
		v.unwritten(t)
		closeAll(t, v.end)
	}
}

// The table of SECURITY.md follows from the constants.
func TestTheTableOfWhatABlindWriterNeeds(t *testing.T) {
	b, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	early := psnBits - int(math.Log2(float64(earlyPSNs())))
	outstanding := psnBits - int(math.Log2(float64(transport.DefaultConfig().MaxWindow)))
	rows := map[string]int{
		"RC: bytes of a SEND":                        qpnBits + early,
		"RC: an acknowledgement":                     qpnBits + outstanding,
		"RC: bytes of a READ":                        qpnBits + psnBits,
		"RC: WRITE to an address that is known":      qpnBits + early + keyBits,
		"RC: WRITE into an exported region of 1 GiB": qpnBits + early + keyBits + addressBits,
		"UC: SEND":                                 qpnBits,
		"UC: WRITE to an address that is known":    qpnBits + keyBits,
		"UC: WRITE into 1 GiB at a random address": qpnBits + keyBits + addressBits,
		"UD: SEND with a Q_Key that is known":      qpnBits,
	}
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, "| 2^") {
			continue
		}
		for aim, bits := range rows {
			if strings.HasPrefix(line, "| "+aim) {
				if want := fmt.Sprintf("| 2^%d | %s |\n", bits, duration(bits)); !strings.HasSuffix(line, want) {
					t.Errorf("%swant %s", line, want)
				}
				delete(rows, aim)
			}
		}
	}
	if len(rows) > 0 {
		t.Errorf("the table has no rows %v", rows)
	}
}

// duration returns how long 2^bits packets take at a million packets per second.
func duration(bits int) string {
	const hour, year = 3600, 365.25 * 24 * 3600
	seconds := math.Exp2(float64(bits)) / 1e6
	switch {
	case seconds < hour:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 1000*hour:
		return fmt.Sprintf("%.0f h", seconds/hour)
	case seconds < 100*year:
		return fmt.Sprintf("%.0f years", seconds/year)
	}
	ten := math.Floor(math.Log10(seconds / year))
	return fmt.Sprintf("%.1f × 10^%.0f years", seconds/year/math.Pow(10, ten), ten)
}
