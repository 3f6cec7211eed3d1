package socket

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet/encap"
	"golang.org/x/net/bpf"
)

// headerTo returns the IP and UDP header of a datagram.
func headerTo(dst string, change func(b []byte)) []byte {
	h := encap.Header{Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr(dst), HopLimit: 1}
	if h.Dst.Is6() {
		h.Src = netip.MustParseAddr("2001:db8::1")
	}
	b := make([]byte, encap.MaxLen)
	b = b[encap.EthernetLen:h.Put(b, 0)]
	if change != nil {
		change(b)
	}
	return b
}

func TestRawFilterPassesDatagramsToTheAddress(t *testing.T) {
	set := func(at int, to ...byte) func([]byte) { return func(b []byte) { copy(b[at:], to) } }
	const ours4, ours6 = "198.18.0.2", "2001:db8::2"
	for _, test := range []struct {
		rule, link, dst string
		change          func([]byte)
		passes          bool
	}{
		{"ours", ours4, ours4, nil, true},
		{"ours", ours6, ours6, nil, true},
		{"another address", ours4, "198.18.0.3", nil, false},
		{"another address", ours6, "2001:db8::3", nil, false},
		{"an address like ours at its end", ours6, "2001:db9::2", nil, false},
		{"not to be fragmented", ours4, ours4, set(6, 0x40), true},
		{"a first fragment", ours4, ours4, set(6, 0x20), false},
		{"a last fragment", ours4, ours4, set(6, 0, 1), false},
		{"TCP", ours4, ours4, set(9, 6), false},
		{"TCP", ours6, ours6, set(6, 6), false},
		{"another port", ours4, ours4, set(22, 0x12, 0xb8), false},
		{"another port", ours6, ours6, set(42, 0x12, 0xb8), false},
		{"the port where it is without options, with options", ours4, ours4, set(0, 0x46), false},
	} {
		c := datagramFilter(netip.MustParseAddr(test.link), 0)
		raw, err := c.finish()
		if err != nil {
			t.Fatal(err)
		}
		program, all := bpf.Disassemble(raw)
		if !all {
			t.Fatalf("the filter for %s cannot be disassembled", test.link)
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		n, err := vm.Run(headerTo(test.dst, test.change))
		if err != nil || (n > 0) != test.passes {
			t.Errorf("%s to %s at %s: passes %d bytes, want %v (%v)",
				test.rule, test.dst, test.link, n, test.passes, err)
		}
	}
	// IP options move the port.
	c := datagramFilter(netip.MustParseAddr(ours4), 0)
	vm, err := bpf.NewVM(mustDisassemble(t, c))
	if err != nil {
		t.Fatal(err)
	}
	b := headerTo(ours4, set(0, 0x46))
	b = append(b[:20:20], append([]byte{1, 1, 1, 1}, b[20:]...)...)
	if n, err := vm.Run(b); n == 0 || err != nil {
		t.Errorf("a datagram with IPv4 options passes %d bytes (%v)", n, err)
	}
}

func mustDisassemble(t *testing.T, c filterCode) []bpf.Instruction {
	t.Helper()
	raw, err := c.finish()
	if err != nil {
		t.Fatal(err)
	}
	program, _ := bpf.Disassemble(raw)
	return program
}

// All jumps of the whole program have the correct target. The BPF VM above cannot run it: it
// lacks the kernel's extensions.
func TestRawFilterDropsAtItsEnd(t *testing.T) {
	for _, interfaces := range [][]int{nil, {1}, {7, 1}} {
		raw, err := rawFilter(netip.MustParseAddr("2001:db8::2"), interfaces, netOff)
		if err != nil {
			t.Fatal(err)
		}
		end := len(raw) - 1
		if fmt.Sprint(raw[end]) != "{6 0 0 0}" || raw[end-1].K != passWholeFrame {
			t.Errorf("interfaces %v: it ends in %v", interfaces, raw[end-1:])
		}
		for i, in := range raw {
			if in.Op&7 == 5 && in.Jf > 0 && i+1+int(in.Jf) != end {
				t.Errorf("interfaces %v: instruction %d jumps to %d, not to %d", interfaces, i, i+1+int(in.Jf), end)
			}
		}
	}
}
