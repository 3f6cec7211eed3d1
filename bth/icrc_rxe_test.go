package bth_test

import (
	"encoding/hex"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// Datagrams of Linux rxe 6.12.107 (Debian 13), for flushes of a range posted with ibv_wr_flush.
var rxeFlushes = map[string]string{
	"IPv4, 4000 bytes":  "45000040aeb140004011ffd3c6120001c6120002d83412b7002c00001c00ffff00e21f9480de122f0000000100000b1832c90000882f938c00000fa056cb4e04",
	"IPv4, 65536 bytes": "45000040b08940004011fdfbc6120001c6120002d19012b7002c00001c00ffff00724b03803aea5c00000001000034d417422000d23eb67100010000292cc952",
	"IPv6, 65536 bytes": "60000000002c1140fd000018000000010000000000000001fd000018000000010000000000000002e4aa12b7002c00001c00ffff0012850980d248f80000000100002ad69343200058bf8e9300010000c995d97f",
}

func TestRxeFlushHasTheICRCOfItsHeadersTwice(t *testing.T) {
	for name, text := range rxeFlushes {
		t.Run(name, func(t *testing.T) {
			raw, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			seed, b, err := bth.SeedIP(raw)
			if err != nil {
				t.Fatal(err)
			}
			if bth.CheckICRC(seed, b) {
				t.Error("the ICRC is the one of the rule")
			}
			if !bth.CheckICRCRxeFlush(seed, b) {
				t.Errorf("ICRC %#08x, want %#08x", bth.ReadICRC(b), bth.ICRCRxeFlush(seed, b[:len(b)-bth.ICRCLen]))
			}
			for i := range b {
				if i == 4 {
					continue // FECN, BECN: masked in the first pass only
				}
				b[i] ^= 1
				if bth.CheckICRCRxeFlush(seed, b) {
					t.Errorf("byte %d is not covered", i)
				}
				b[i] ^= 1
			}
		})
	}
}

func TestOnlyFlushMayHaveTheICRCOfRxe(t *testing.T) {
	h := testHeader4(20)
	b := randomPacket(1, 4)
	b = bth.AppendICRC(b, bth.ICRCRxeFlush(h.Seed(), b))
	if bth.CheckICRCRxeFlush(h.Seed(), b) {
		t.Error("a WRITE is taken")
	}
	if bth.CheckICRCRxeFlush(h.Seed(), []byte{byte(bth.RCFlush), 0, 0, 0}) {
		t.Error("four bytes are taken")
	}
}
