package region

import (
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/fault"
)

// Only an admitted client learns the address of a region.
func TestEachExportBeginsAtAnotherPageThatNobodyGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, fault.Config{})
		d := w.client("192.0.2.2")
		seen := map[uint64]bool{0: true}
		for range 4 {
			w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 4096)), Access: Read | Write})
			c := w.dial(d, "m")
			if seen[c.addr] || c.addr%4096 != 0 || c.addr>>63 != 0 {
				t.Errorf("it begins at %#x", c.addr)
			}
			seen[c.addr] = true
			c.Close()
		}
	})
}
