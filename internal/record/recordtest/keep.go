// Package recordtest keeps the packets of tests that fail.
package recordtest

import (
	"os"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/record"
)

// kept is how many bytes of a test's latest packets are kept.
const kept = 1 << 20

// Keep returns what keeps the latest packets of a test. If that fails they are written to a file for 'gorxe trace', whose name
// is logged.
func Keep(t testing.TB) *record.Recent {
	r := record.NewRecent(kept)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("its latest packets: gorxe trace %s", leave(t.Name(), r))
		}
	})
	return r
}

// leave writes a file and returns its name, or what went wrong.
func leave(test string, r *record.Recent) string {
	f, err := os.CreateTemp("", "gorxe-"+strings.Map(letter, test)+"-*.pcapng")
	if err != nil {
		return err.Error()
	}
	err = r.Write(f, "gorxe "+test)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err.Error()
	}
	return f.Name()
}

// letter makes what may not stand in the name of a file an underscore.
func letter(r rune) rune {
	if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.", r) {
		return r
	}
	return '_'
}
