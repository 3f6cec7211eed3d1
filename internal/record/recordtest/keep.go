// Package recordtest keeps the latest packets of a test and writes them to a file if the test
// fails.
package recordtest

import (
	"os"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/record"
)

// kept is the maximum number of bytes of packets to keep for a test.
const kept = 1 << 20

// Keep returns a Recent for the packets of a test. If the test fails, Keep writes them to a file
// for 'gorxe trace' and logs its name.
func Keep(t testing.TB) *record.Recent {
	r := record.NewRecent(kept)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("its latest packets: gorxe trace %s", writeFile(t.Name(), r))
		}
	})
	return r
}

// writeFile writes the packets to a temporary file and returns the name of the file, or the text of
// an error.
func writeFile(test string, r *record.Recent) string {
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

// letter replaces a rune that should not be in a file name by an underscore.
func letter(r rune) rune {
	if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.", r) {
		return r
	}
	return '_'
}
