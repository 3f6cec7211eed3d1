package live

import (
	"testing"

	"golang.org/x/net/bpf"
)

func v4(change func([]byte)) []byte {
	b := make([]byte, 64)
	copy(b, []byte{0x45, 0, 0, 64, 0, 0, 0x40, 0, 64, 17})
	b[22], b[23] = 0x12, 0xb7
	change(b)
	return b
}

func v6(change func([]byte)) []byte {
	b := make([]byte, 80)
	copy(b, []byte{0x60, 0, 0, 0, 0, 40, 17, 64})
	b[42], b[43] = 0x12, 0xb7
	change(b)
	return b
}

func TestFilterPassesRoCEv2(t *testing.T) {
	set := func(at int, to ...byte) func([]byte) { return func(b []byte) { copy(b[at:], to) } }
	raw, err := filterFor(0, false)
	if err != nil {
		t.Fatal(err)
	}
	program, all := bpf.Disassemble(raw)
	if !all {
		t.Fatal("the filter cannot be disassembled")
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		rule   string
		packet []byte
		passes bool
	}{
		{"IPv4", v4(set(0)), true},
		{"IPv4 with options", v4(func(b []byte) { b[0], b[22], b[26], b[27] = 0x46, 0, 0x12, 0xb7 }), true},
		{"a first fragment", v4(set(6, 0x20)), true},
		{"another fragment", v4(set(6, 0x20, 1)), false},
		{"TCP over IPv4", v4(set(9, 6)), false},
		{"another port over IPv4", v4(set(22, 0x12, 0xb8)), false},
		{"4791 as the source port", v4(set(20, 0x12, 0xb7, 0, 53)), false},
		{"IPv6", v6(set(0)), true},
		{"TCP over IPv6", v6(set(6, 6)), false},
		{"another port over IPv6", v6(set(42, 0, 53)), false},
		{"ARP", make([]byte, 28), false},
		{"IP version 5", v4(set(0, 0x55)), false},
		{"less than a header", v4(set(0))[:8], false},
	} {
		n, err := vm.Run(test.packet)
		if err != nil || (n > 0) != test.passes {
			t.Errorf("%s: passes %d bytes, want %v (%v)", test.rule, n, test.passes, err)
		}
	}
}
