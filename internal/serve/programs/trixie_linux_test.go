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

// trixieVariable names a directory with the programs of Debian trixie and all they need, as a root
// directory. Without it they are where a run of the lab keeps them.
const trixieVariable = "GORXE_TRIXIE"

// inTrixie returns the begin of a command line that runs what follows it with that root, where /mnt
// is this process's working directory.
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
		out := start(t, w.hostOn(t, "127.55.18.1"), in+"ibv_devinfo -v").wait()
		for _, want := range []string{"hca_id:\trxe0", "PORT_ACTIVE", "::ffff:127.55.18.1, RoCE v2"} {
			if !strings.Contains(out, want) {
				t.Errorf("ibv_devinfo lacks %q:\n%s", want, out)
			}
		}
	})
}

func TestTrixieToolsExchangeMessagesOnOneHost(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		in := inTrixie(t)
		h := w.hostOn(t, "127.55.18.2")
		for i, line := range trixieTools {
			t.Run(line, func(t *testing.T) {
				_, client := exchange(t, h, 21900+i, in+line)
				if !strings.Contains(client, "#bytes") && !strings.Contains(client, "iters in") {
					t.Error(client)
				}
			})
		}
	})
}

func TestTrixieProgramsConnectByRDMACM(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		in := inTrixie(t)
		h := w.cmHostOn(t, "127.55.18.3")
		for i, c := range trixieCMTools {
			c.server, c.client = in+c.server, in+c.client
			h.run(21950+i, c)
		}
	})
}

func TestTrixieRDMACoreTestsThatPassOnRxePassOnGorxe(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		const addr = "127.55.18.4"
		runRDMACoreTests(t, w.hostOn(t, addr), "56", addr, inTrixie(t)+"/usr/bin/python3 /mnt/"+pyverbsData+"/run.py")
	})
}
