package regioncmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet/fault"
)

// exporting is the command line of a daemon with regions.
const exporting = "daemon --region name=scratch,size=1MiB,access=read,access=write --region name=ro,size=4096" +
	" --region name=drop,size=64,access=write --region name=theirs,size=8,peers=192.0.2.99"

// runRegion runs a region command on another host.
func runRegion(t *testing.T, w *clitest.World, s *testnet.Listener, line string) *clitest.Run {
	t.Helper()
	return w.Look(t, s, "region "+line+" -I 192.0.2.2")
}

func TestRegionsAreListed(t *testing.T) {
	withDaemon(t, exporting, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		all := ""
		for _, line := range []string{"ls 192.0.2.1", "ls 192.0.2.1:7175 --json"} {
			r := runRegion(t, w, s, line)
			clitest.MustSucceed(t, line, r)
			all += "$ gorxe region " + line + "\n" + r.Stdout.String()
		}
		golden.Check(t, "ls.golden", all)
	})
}

func TestTheHostMayBeAnIPv6Address(t *testing.T) {
	withDaemon(t, "daemon --device 2001:db8::1 --region-port 9000 --region name=a,size=8",
		func(t *testing.T, w *clitest.World, s *testnet.Listener) {
			for line, want := range map[string]string{
				"ls [2001:db8::1]:9000":     "REGION  KIND       LENGTH  ACCESS\na       anonymous  8       read\n",
				"read [2001:db8::1]:9000/a": strings.Repeat("\x00", 8),
			} {
				if r := w.Look(t, s, "region "+line+" -I 2001:db8::2"); r.Code != 0 || r.Stdout.String() != want {
					t.Errorf("%s: %v", line, r)
				}
			}
			if r := w.Look(t, s, "region ls 2001:db8::1 -I 2001:db8::2"); r.Code != app.ExitFailure ||
				!strings.Contains(r.Stderr.String(), "[2001:db8::1]:7175: refused: no listener") {
				t.Error(r)
			}
		})
}

func TestRegionsAreReadAndWritten(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := os.WriteFile(file("in"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	withDaemon(t, exporting, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		w.Fault = fault.Config{Seed: 3, Drop: 0.01}
		write := runRegion(t, w, s, "write 192.0.2.1/scratch "+file("in"))
		if write.Code != 0 || write.Stderr.String() != "1048576 bytes written\n" || write.Stdout.Len() > 0 {
			t.Fatal(write)
		}
		r := runRegion(t, w, s, "read 192.0.2.1/scratch")
		clitest.MustSucceed(t, "read", r)
		if !bytes.Equal(r.Stdout.Bytes(), want) {
			t.Errorf("%d bytes came back, and not as they were", r.Stdout.Len())
		}
		r = runRegion(t, w, s, "read 192.0.2.1:7175/scratch -o "+file("out"))
		clitest.MustSucceed(t, "read -o", r)
		if got, err := os.ReadFile(file("out")); err != nil || !bytes.Equal(got, want) || r.Stdout.Len() > 0 {
			t.Errorf("%d bytes in the file, and not as they were: %v", len(got), err)
		}
		w.Stdin = strings.NewReader("hello\n")
		if r := runRegion(t, w, s, "write 192.0.2.1/scratch - --offset 0x10"); r.Code != 0 ||
			r.Stderr.String() != "6 bytes written\n" {
			t.Error(r)
		}
		for line, want := range map[string]string{
			"--offset 16 --length 6": "hello\n", "--length 18": "0123456789abcdefhe", "--offset 1048575": "f",
			"--offset 1M": "", "--offset 1023K --length 2": "01",
		} {
			if r := runRegion(t, w, s, "read 192.0.2.1/scratch "+line); r.Code != 0 || r.Stdout.String() != want {
				t.Errorf("%s: want %q: %v", line, want, r)
			}
		}
	})
}

func TestATerminalGetsTextOnly(t *testing.T) {
	withDaemon(t, exporting, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		w.Stdin = strings.NewReader("täxt\t\n\x1b[2J")
		if r := runRegion(t, w, s, "write 192.0.2.1/scratch"); r.Code != 0 {
			t.Fatal(r)
		}
		w.Terminal = true
		if r := runRegion(t, w, s, "read 192.0.2.1/scratch --length 7"); r.Code != 0 ||
			r.Stdout.String() != "täxt\t\n" {
			t.Error(r)
		}
		if r := runRegion(t, w, s, "read 192.0.2.1/scratch --length 8"); r.Code != app.ExitFailure ||
			r.Stdout.Len() > 0 || !strings.Contains(r.Stderr.String(), "-o FILE") {
			t.Error(r)
		}
		if r := runRegion(t, w, s, "read 192.0.2.1/scratch --length 8 -o -"); r.Code != 0 || r.Stdout.Len() != 8 {
			t.Error(r)
		}
	})
}

// A region is read in pieces of 128 KiB; a control character may lie across the edge of two.
func TestAControlCharacterAcrossTwoPiecesDoesNotReachATerminal(t *testing.T) {
	const piece = 128 << 10
	withDaemon(t, exporting, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		for name, c := range map[string]struct {
			text string
			code int
		}{
			"CSI": {"\u009b2J", app.ExitFailure}, "CSI as a byte": {"x\x9b2J", app.ExitFailure},
			"a character": {"ä2J", 0},
		} {
			text := strings.Repeat("x", piece-1) + c.text
			w.Terminal, w.Stdin = false, strings.NewReader(text)
			if r := runRegion(t, w, s, "write 192.0.2.1/scratch"); r.Code != 0 {
				t.Fatal(r)
			}
			w.Terminal = true
			r := runRegion(t, w, s, "read 192.0.2.1/scratch --length "+strconv.Itoa(len(text)))
			if r.Code != c.code || c.code == 0 && r.Stdout.String() != text || !isText(r.Stdout.Bytes()) {
				t.Errorf("%s: code %d, %d bytes, %s", name, r.Code, r.Stdout.Len(), r.Stderr.String())
			}
			if r := runRegion(t, w, s,
				"read 192.0.2.1/scratch --length "+strconv.Itoa(piece+1)); (r.Code == 0) != (c.code == 0) {
				t.Errorf("%s, cut: code %d", name, r.Code)
			}
			if r := runRegion(t, w, s,
				"read 192.0.2.1/scratch --length "+strconv.Itoa(piece)); (r.Code == 0) != (name == "CSI as a byte") {
				t.Errorf("%s, cut inside the character: code %d", name, r.Code)
			}
		}
	})
}

func TestChangesAreWatched(t *testing.T) {
	withDaemon(t, exporting, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		watch := w.StartWith(ctx, s, nil,
			strings.Fields("region watch 192.0.2.1/scratch -I 192.0.2.3 --offset 5 --length 40 --interval 10s")...)
		put := func(text, offset string) {
			w.Stdin = strings.NewReader(text)
			if r := runRegion(t, w, s, "write 192.0.2.1/scratch --offset "+offset); r.Code != 0 {
				t.Fatal(r)
			}
			time.Sleep(11 * time.Second)
		}
		time.Sleep(time.Second)
		put("<not watched>", "64")
		put("hello \x00\xff", "12")
		put("hello \x00\xff", "12") // no change
		put("X", "44")
		put("Y", "45") // immediately after it
		stop()
		<-watch.Done
		if watch.Code != 0 || watch.Stderr.String() != "watching 40 bytes at offset 5\n" {
			t.Error(watch)
		}
		seen := watch.Stdout.String()
		for _, at := range []string{"20s", "40s"} {
			d, err := time.ParseDuration(at)
			if err != nil {
				t.Fatal(err)
			}
			seen = strings.ReplaceAll(seen, began.Add(d).Format("15:04:05.000"), "after "+at)
		}
		golden.Check(t, "watch.golden", seen)
	})
}

// The daemon ends while its region is watched.
func TestAWatchEndsWithTheDaemon(t *testing.T) {
	var watch *clitest.Run
	withDaemon(t, exporting, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		watch = w.StartWith(context.Background(), s, nil, strings.Fields("region watch 192.0.2.1/ro -I 192.0.2.3")...)
		time.Sleep(time.Second)
		synctest.Wait()
	})
	if watch.Code != app.ExitFailure ||
		!strings.Contains(watch.Stderr.String(), "the other end has ended the connection") {
		t.Error(watch)
	}
}

func TestWhatCannotBeDoneWithARegionIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	withDaemon(t, exporting, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		for _, c := range []struct {
			line string
			code int
			want string
		}{
			{"read 192.0.2.1/none", app.ExitFailure, "region none: no such region, or access denied\n"},
			{"read 192.0.2.1/theirs", app.ExitFailure, "region theirs: no such region, or access denied\n"},
			{"read 192.0.2.1/drop", app.ExitFailure, "region drop: no access for read: the region permits write\n"},
			{"write 192.0.2.1/ro " + file, app.ExitFailure,
				"region ro: no access for write: the region permits read\n"},
			{"write 192.0.2.1/drop " + file, app.ExitFailure,
				"region drop: 4096 bytes at offset 0 are outside the region: it has 64 bytes\n"},
			{"write 192.0.2.1/drop", app.ExitFailure,
				"10 bytes written\ngorxe: region drop: 1 bytes at offset 64 are outside the region: it has 64 bytes\n"},
			{"read 192.0.2.1/ro --offset 4097", app.ExitFailure,
				"region ro: offset 4097 is outside the region: it has 4096 bytes\n"},
			{"read 192.0.2.1/ro --length 4097 -o " + file + "2", app.ExitFailure,
				"region ro: 4097 bytes at offset 0 are outside the region: it has 4096 bytes\n"},
			{"read 192.0.2.1/ro -o /no/such/file", app.ExitFailure,
				"region ro: open /no/such/file: no such file or directory\n"},
			{"write 192.0.2.1/ro /no/such/file", app.ExitFailure, "open /no/such/file: no such file or directory\n"},
			{"write 192.0.2.1/ro /", app.ExitFailure, "/ is a directory\n"},
			{"ls 192.0.2.1:7174", app.ExitFailure, "the server does not export regions"},
			{"ls 192.0.2.1:1", app.ExitFailure, "no listener on that port"},
			{"ls 192.0.2.77", app.ExitFailure, "does not answer"},
			{"ls", app.ExitUsage, "takes one HOST"},
			{"ls 192.0.2.1/scratch", app.ExitUsage, "takes one HOST"},
			{"read", app.ExitUsage, "gorxe region read needs HOST/NAME\n"},
			{"read scratch", app.ExitUsage,
				"takes HOST/NAME, got \"scratch\"; 'gorxe region ls HOST' lists the names\n"},
			{"read 192.0.2.1/a/b", app.ExitUsage, `invalid region name "a/b"`},
			{"read 192.0.2.1/", app.ExitUsage, `invalid region name ""`},
			{"read 192.0.2.1/ro more", app.ExitUsage, `one argument too many: "more"`},
			{"read 192.0.2.1/ro --offset 1T", app.ExitUsage,
				`--offset: "1T" is not a number of bytes: such as 4096, 0x1000, 4K, 16M or 1G`},
			{"read 192.0.2.1/ro --length 17179869184G", app.ExitUsage, "is not a number of bytes"},
			{"read 192.0.2.1/ro --fault drop=2", app.ExitUsage, "--fault"},
			{"write 192.0.2.1/ro a b", app.ExitUsage, `one argument too many: "b"`},
			{"watch 192.0.2.1/ro --interval 0s", app.ExitUsage, "--interval 0s: it must be more than 0"},
			{"watch 192.0.2.1/ro --offset 1 --length 4096", app.ExitFailure,
				"4096 bytes at offset 1 are outside the region"},
			{"watch 192.0.2.1/drop", app.ExitFailure, "the region permits write"},
		} {
			w.Stdin = io.MultiReader(strings.NewReader("0123456789"))
			line := c.line
			if strings.HasSuffix(line, "/drop") && strings.HasPrefix(line, "write") {
				line += " --offset 54"
				w.Stdin = strings.NewReader("0123456789x")
			}
			r := runRegion(t, w, s, line)
			if r.Code != c.code || !strings.Contains(r.Stderr.String(), c.want) {
				t.Errorf("%s: want %d and %q in it: %v", line, c.code, c.want, r)
			}
		}
	})
	if _, err := os.Stat(file + "2"); !os.IsNotExist(err) {
		t.Errorf("a file was made for what could not be read: %v", err)
	}
}

func TestTooMuchToWatch(t *testing.T) {
	withDaemon(t, "daemon --region name=big,size=1GiB", func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		if r := runRegion(t, w, s, "watch 192.0.2.1/big"); r.Code != app.ExitFailure ||
			!strings.Contains(r.Stderr.String(), "1073741824 bytes are too many to watch: choose 67108864 at most") {
			t.Error(r)
		}
	})
}

func TestADeviceIsSelectedOnce(t *testing.T) {
	for _, line := range []string{"ls 192.0.2.1", "read 192.0.2.1/scratch"} {
		r := newWorld().Run(t.Context(), "region "+line+" -I 192.0.2.2 --ib-dev 192.0.2.3")
		want := "--ib-dev 192.0.2.3 and -I 192.0.2.2 both select the device: omit one of them"
		if r.Code != app.ExitUsage || !strings.Contains(r.Stderr.String(), want) {
			t.Errorf("%s: want %q: %v", line, want, r)
		}
	}
}
