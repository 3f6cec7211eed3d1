package icrc

import (
	"encoding/hex"
	"testing"
)

// A FLUSH of Linux 6.12.107 rdma_rxe, captured in the lab, as an Ethernet frame.
const rxeFlush = "020000000102020000000101" + "0800" +
	"45000040aeb140004011ffd3c6120001c6120002d83412b7002c00001c00ffff00e21f9480de122f0000000100000b1832c90000882f938c00000fa056cb4e04"

func TestAFlushMayHaveTheICRCOfRxe(t *testing.T) {
	frame, err := hex.DecodeString(rxeFlush)
	if err != nil {
		t.Fatal(err)
	}
	check := func(frame []byte) int {
		d, err := parse(frame)
		if err != nil {
			t.Fatal(err)
		}
		return d.check(true).Bad
	}
	if bad := check(frame); bad != 0 {
		t.Error("a FLUSH as rxe sends it counts as wrong")
	}
	for i := 14 + 20 + 8; i < len(frame); i++ {
		changed := append([]byte(nil), frame...)
		changed[i] ^= 0x10
		if check(changed) == 0 {
			t.Errorf("byte %d changed: not seen", i)
		}
	}
}
