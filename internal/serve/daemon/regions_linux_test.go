package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/internal/serve/region"
)

func TestLocalProgramsSeeWhatPeersWriteAndAFileThatIsCutIsTold(t *testing.T) {
	file, object := filepath.Join(t.TempDir(), "f"), fmt.Sprintf("gorxe-test-region-%d", os.Getpid())
	t.Cleanup(func() { _ = os.Remove("/dev/shm/" + object) })
	t.Run("file", func(t *testing.T) { seenByLocalPrograms(t, "file", file, file) })
	t.Run("shm", func(t *testing.T) { seenByLocalPrograms(t, "shm", object, "/dev/shm/"+object) })
}

// seenByLocalPrograms exports memory that a configuration calls name and local programs path.
func seenByLocalPrograms(t *testing.T, kind, name, path string) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(fmt.Sprintf("[[region]]\nname = \"f\"\nkind = %q\npath = %q\nsize = \"64KiB\"\nmode = \"0640\"\naccess = [\"read\", \"write\"]\n"+
			"[[region]]\nname = \"other\"\nsize = 8\n", kind, name))
		<-r.told
		d, _ := r.host("192.0.2.7")
		defer d.Close()
		c, err := region.Dial(t.Context(), d, regionsAt, "f")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(t.Context(), strings.NewReader("hello"), 3); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || len(got) != 64<<10 || string(got[3:8]) != "hello" {
			t.Errorf("the file: %d bytes, %v", len(got), err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
			t.Errorf("the file: %v, %v", info.Mode(), err)
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		var status *region.StatusError
		if err := c.Read(t.Context(), io.Discard, 0, 8); !errors.As(err, &status) {
			t.Errorf("a READ of what the file has lost: %v", err)
		}
		if got := r.described(); len(got) != 2 || got[0].Path != path ||
			!strings.Contains(got[0].Error, "the file has 0 bytes, it had 65536") || got[1].Error != "" {
			t.Errorf("status: %+v", got)
		}
		o, err := region.Dial(t.Context(), d, regionsAt, "other")
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		if err := o.Read(t.Context(), io.Discard, 0, 8); err != nil {
			t.Errorf("another region: %v", err)
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
	})
}

// A file is removed between the plan and the start.
func TestADaemonWhoseRegionCannotBeOpenedDoesNotStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p, err := planOf(t, fmt.Sprintf(
			"[[region]]\nname = \"a\"\nsize = 8\n[[region]]\nname = \"f\"\nkind = \"file\"\npath = %q", path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), p, r.opts); !errors.Is(err, fs.ErrNotExist) ||
			!strings.HasPrefix(err.Error(), "region f: ") {
			t.Error(err)
		}
	})
}

func TestThePlanLooksAtFilesAndMakesNone(t *testing.T) {
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, size := range map[string]int{"there": 4096, "short": 10} {
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("there", "link"); err != nil {
		t.Fatal(err)
	}
	p, err := planOf(t, `
		control.socket = "/run/gorxe/control.sock"
		[[region]]
		name = "memory"
		size = "1MiB"
		access = ["read", "atomic"]
		[[region]]
		name = "there"
		kind = "file"
		path = "there"
		[[region]]
		name = "made"
		kind = "file"
		path = "new"
		size = 4096
		mode = "0660"
		access = ["read", "write"]
		peers = ["192.0.2.0/24"]
		[[region]]
		name = "shared"
		kind = "shm"
		path = "gorxe-test-no-such-object"
		size = 4096`)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p.Print(&out)
	t.Chdir(home)
	golden.Check(t, "plan_regions.golden", out.String())
	t.Chdir(dir)
	_, err = planOf(t, `
		[[region]]
		name = "a"
		kind = "file"
		path = "new"
		[[region]]
		name = "b"
		kind = "file"
		path = "no/such/dir"
		size = 1
		[[region]]
		name = "c"
		kind = "file"
		path = "there/f"
		size = 1
		[[region]]
		name = "d"
		kind = "file"
		path = "short"
		size = 11
		[[region]]
		name = "e"
		kind = "file"
		path = "link"
		[[region]]
		name = "f"
		kind = "shm"
		path = "/x"
		size = 1`)
	want := []string{
		"g.toml:25: region f: shared memory needs the name of the object as path, 1 to 64 letters, digits, dots, dashes and underscores",
		"g.toml:2: region a: new is not there: give a size, and it is made",
		"g.toml:6: region b: stat no/such: no such file or directory",
		"g.toml:11: region c: open there/f: not a directory",
		"g.toml:16: region d: short has 10 bytes, 11 are asked for; ask for less or make it longer (truncate -s) first",
		"g.toml:21: region e: link is a symbolic link; name the file that it leads to",
	}
	if diff := cmp.Diff(want, config.Lines(err)); diff != "" {
		t.Error(diff)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 3 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// A size that no process can map is rejected before the daemon starts.
func TestARegionLargerThanTheAddressesOfAProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new")
	for _, text := range []string{"", "kind = \"shm\"\npath = \"gorxe-none\"\n",
		fmt.Sprintf("kind = \"file\"\npath = %q\n", path)} {
		for _, size := range []string{"9223372036854775807", "\"16384TiB\""} {
			_, err := planOf(t, "[[region]]\nname = \"a\"\n"+text+"size = "+size)
			if err == nil || !strings.Contains(err.Error(), "region a: ") ||
				!strings.Contains(err.Error(), "cannot allocate memory") {
				t.Errorf("%s of %s bytes: %v", text, size, err)
			}
		}
		if _, err := planOf(t, "[[region]]\nname = \"a\"\n"+text+"size = \"1MiB\""); err != nil {
			t.Errorf("%s of 1 MiB: %v", text, err)
		}
	}
}
