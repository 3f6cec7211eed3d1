//go:build linux && (amd64 || arm64)

package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
)

// trixieVariable names a root directory with the programs of Debian trixie and their
// dependencies. By default it is the directory in which the lab keeps them.
const trixieVariable = "GORXE_TRIXIE"

// inTrixie returns the start of a command line that runs the rest with that root, where /mnt is
// this process's working directory.
func inTrixie(t *testing.T) string {
	t.Helper()
	if race.Enabled {
		t.Skip("gorxe does the same for them as for the programs of Debian 12, which run with -race")
	}
	root := os.Getenv(trixieVariable)
	if cache, err := os.UserCacheDir(); root == "" && err == nil {
		root = filepath.Join(cache, "gorxe-rxelab", "programs", "trixie", "root")
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/ib_write_bw")); err != nil {
		t.Skipf("no programs of Debian trixie: %v; make interop-verbs fetches them, or %s says where they are",
			err, trixieVariable)
	}
	own := []string{"unshare", "--mount"}
	if os.Geteuid() != 0 {
		own = append(own, "--user", "--map-root-user")
	}
	if out, err := exec.Command(own[0], append(own[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("another root directory needs a mount namespace: %s: %v: %s", strings.Join(own, " "), err, out)
	}
	return strings.Join(append(own, "sh", "testdata/trixie/enter.sh", root, t.TempDir()), " ") + " "
}

func TestTrixieLibibverbsFindsTheDevice(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		in := inTrixie(t)
		findsTheDevice(t, w.hostOn(t, "127.55.18.1"), "127.55.18.1", in)
	})
}

func TestTrixieAsyncwatchPrintsEventsOfThePort(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		_, ns, next := w.watched(t, "198.18.46.1/24", inTrixie(t))
		printsEventsOfThePort(t, ns, next)
	})
}

func TestTrixieToolsExchangeMessagesOnOneHost(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		in := inTrixie(t)
		h := w.hostOn(t, "127.55.18.2")
		runPingpongs(t, h, 21700, in)
		runPerftests(t, h, 21710, in)
	})
}

func TestTrixieProgramsConnectByRDMACM(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		in := inTrixie(t)
		h := w.cmHostOn(t, "127.55.18.3")
		h.runTools(21800, in)
		h.sendToAGroup("239.55.18.3", in)
	})
}

func TestTrixieRDMACoreTestsThatPassOnRxePassOnGorxe(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		const addr = "127.55.18.4"
		runRDMACoreTests(t, w.hostOn(t, addr), "56", addr, inTrixie(t)+"/usr/bin/python3 /mnt/"+pyverbsData+"/run.py")
	})
}
