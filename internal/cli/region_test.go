package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
)

// exporting is a daemon with regions.
const exporting = "daemon --region name=scratch,size=1MiB,access=read,access=write --region name=ro,size=4096" +
	" --region name=drop,size=64,access=write --region name=theirs,size=8,peers=192.0.2.99"

// runRegion runs a command about regions from another host.
func runRegion(t *testing.T, w *world, s *testnet.Listener, line string) *run {
	t.Helper()
	return w.look(t, s, "region "+line+" -I 192.0.2.2")
}

func TestRegionsAreListed(t *testing.T) {
	withDaemon(t, exporting, func(t *testing.T, w *world, s *testnet.Listener) {
		all := ""
		for _, line := range []string{"ls 192.0.2.1", "ls 192.0.2.1:7175 --json"} {
			r := runRegion(t, w, s, line)
			mustSucceed(t, line, r)
			all += "$ gorxe region " + line + "\n" + r.out.String()
		}
		checkGolden(t, "region/ls", all)
	})
}

func TestTheHostMayBeAnIPv6Address(t *testing.T) {
	withDaemon(t, "daemon --device 2001:db8::1 --region-port 9000 --region name=a,size=8", func(t *testing.T, w *world, s *testnet.Listener) {
		for line, want := range map[string]string{
			"ls [2001:db8::1]:9000":     "REGION  KIND       LENGTH  ACCESS\na       anonymous  8       read\n",
			"read [2001:db8::1]:9000/a": strings.Repeat("\x00", 8),
		} {
			if r := w.look(t, s, "region "+line+" -I 2001:db8::2"); r.code != 0 || r.out.String() != want {
				t.Errorf("%s: %v", line, r)
			}
		}
		if r := w.look(t, s, "region ls 2001:db8::1 -I 2001:db8::2"); r.code != exitFailure || !strings.Contains(r.err.String(), "[2001:db8::1]:7175: refused: nobody listens") {
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
	withDaemon(t, exporting, func(t *testing.T, w *world, s *testnet.Listener) {
		w.fault = packet.FaultConfig{Seed: 3, Drop: 0.01}
		write := runRegion(t, w, s, "write 192.0.2.1/scratch "+file("in"))
		if write.code != 0 || write.err.String() != "1048576 bytes written\n" || write.out.Len() > 0 {
			t.Fatal(write)
		}
		r := runRegion(t, w, s, "read 192.0.2.1/scratch")
		mustSucceed(t, "read", r)
		if !bytes.Equal(r.out.Bytes(), want) {
			t.Errorf("%d bytes came back, and not as they were", r.out.Len())
		}
		r = runRegion(t, w, s, "read 192.0.2.1:7175/scratch -o "+file("out"))
		mustSucceed(t, "read -o", r)
		if got, err := os.ReadFile(file("out")); err != nil || !bytes.Equal(got, want) || r.out.Len() > 0 {
			t.Errorf("%d bytes in the file, and not as they were: %v", len(got), err)
		}
		w.stdin = strings.NewReader("hello\n")
		if r := runRegion(t, w, s, "write 192.0.2.1/scratch - --offset 0x10"); r.code != 0 || r.err.String() != "6 bytes written\n" {
			t.Error(r)
		}
		for line, want := range map[string]string{
			"--offset 16 --length 6": "hello\n", "--length 18": "0123456789abcdefhe", "--offset 1048575": "f", "--offset 1M": "", "--offset 1023K --length 2": "01",
		} {
			if r := runRegion(t, w, s, "read 192.0.2.1/scratch "+line); r.code != 0 || r.out.String() != want {
				t.Errorf("%s: want %q: %v", line, want, r)
			}
		}
	})
}

func TestATerminalGetsTextOnly(t *testing.T) {
	withDaemon(t, exporting, func(t *testing.T, w *world, s *testnet.Listener) {
		w.stdin = strings.NewReader("täxt\t\n\x1b[2J")
		if r := runRegion(t, w, s, "write 192.0.2.1/scratch"); r.code != 0 {
			t.Fatal(r)
		}
		w.terminal = true
		if r := runRegion(t, w, s, "read 192.0.2.1/scratch --length 7"); r.code != 0 || r.out.String() != "täxt\t\n" {
			t.Error(r)
		}
		if r := runRegion(t, w, s, "read 192.0.2.1/scratch --length 8"); r.code != exitFailure || r.out.Len() > 0 || !strings.Contains(r.err.String(), "-o FILE") {
			t.Error(r)
		}
		if r := runRegion(t, w, s, "read 192.0.2.1/scratch --length 8 -o -"); r.code != 0 || r.out.Len() != 8 {
			t.Error(r)
		}
	})
}

func TestChangesAreWatched(t *testing.T) {
	withDaemon(t, exporting, func(t *testing.T, w *world, s *testnet.Listener) {
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		watch := w.startWith(ctx, s, nil, strings.Fields("region watch 192.0.2.1/scratch -I 192.0.2.3 --offset 5 --length 40 --interval 10s")...)
		put := func(text, offset string) {
			w.stdin = strings.NewReader(text)
			if r := runRegion(t, w, s, "write 192.0.2.1/scratch --offset "+offset); r.code != 0 {
				t.Fatal(r)
			}
			time.Sleep(11 * time.Second)
		}
		time.Sleep(time.Second)
		put("<not watched>", "64")
		put("hello \x00\xff", "12")
		put("hello \x00\xff", "12") // no change
		put("X", "44")
		put("Y", "45") // just behind it
		stop()
		<-watch.done
		if watch.code != 0 || watch.err.String() != "watching 40 bytes at offset 5\n" {
			t.Error(watch)
		}
		seen := watch.out.String()
		for _, at := range []string{"20s", "40s"} {
			d, err := time.ParseDuration(at)
			if err != nil {
				t.Fatal(err)
			}
			seen = strings.ReplaceAll(seen, began.Add(d).Format("15:04:05.000"), "after "+at)
		}
		checkGolden(t, "region/watch", seen)
	})
}

// The daemon ends while its region is watched.
func TestAWatchEndsWithTheDaemon(t *testing.T) {
	var watch *run
	withDaemon(t, exporting, func(t *testing.T, w *world, s *testnet.Listener) {
		watch = w.startWith(context.Background(), s, nil, strings.Fields("region watch 192.0.2.1/ro -I 192.0.2.3")...)
		time.Sleep(time.Second)
		synctest.Wait()
	})
	if watch.code != exitFailure || !strings.Contains(watch.err.String(), "the other end has ended the connection") {
		t.Error(watch)
	}
}

func TestWhatCannotBeDoneWithARegionIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	withDaemon(t, exporting, func(t *testing.T, w *world, s *testnet.Listener) {
		for _, c := range []struct {
			line string
			code int
			want string
		}{
			{"read 192.0.2.1/none", exitFailure, "region none: there is no such region, or it is not for this host\n"},
			{"read 192.0.2.1/theirs", exitFailure, "region theirs: there is no such region, or it is not for this host\n"},
			{"read 192.0.2.1/drop", exitFailure, "region drop: the region is not for that: read; it is for write\n"},
			{"write 192.0.2.1/ro " + file, exitFailure, "region ro: the region is not for that: write; it is for read\n"},
			{"write 192.0.2.1/drop " + file, exitFailure, "region drop: 4096 bytes at offset 0 are not in the region: it has 64 bytes\n"},
			{"write 192.0.2.1/drop", exitFailure, "10 bytes written\ngorxe: region drop: 1 bytes at offset 64 are not in the region: it has 64 bytes\n"},
			{"read 192.0.2.1/ro --offset 4097", exitFailure, "region ro: offset 4097 is not in the region: it has 4096 bytes\n"},
			{"read 192.0.2.1/ro --length 4097 -o " + file + "2", exitFailure, "region ro: 4097 bytes at offset 0 are not in the region: it has 4096 bytes\n"},
			{"read 192.0.2.1/ro -o /no/such/file", exitFailure, "region ro: open /no/such/file: no such file or directory\n"},
			{"write 192.0.2.1/ro /no/such/file", exitFailure, "open /no/such/file: no such file or directory\n"},
			{"write 192.0.2.1/ro /", exitFailure, "/ is a directory\n"},
			{"ls 192.0.2.1:7174", exitFailure, "what answers there does not export regions"},
			{"ls 192.0.2.1:1", exitFailure, "nobody listens on that port"},
			{"ls 192.0.2.77", exitFailure, "does not answer"},
			{"ls", exitUsage, "takes one HOST"},
			{"ls 192.0.2.1/scratch", exitUsage, "takes one HOST"},
			{"read", exitUsage, "gorxe region read needs HOST/NAME\n"},
			{"read scratch", exitUsage, "takes HOST/NAME, got \"scratch\"; 'gorxe region ls HOST' lists the names\n"},
			{"read 192.0.2.1/a/b", exitUsage, `"a/b" is no name of a region`},
			{"read 192.0.2.1/", exitUsage, `"" is no name of a region`},
			{"read 192.0.2.1/ro more", exitUsage, `one argument too many: "more"`},
			{"read 192.0.2.1/ro --offset 1T", exitUsage, `--offset: "1T" is not a number of bytes: such as 4096, 0x1000, 4K, 16M or 1G`},
			{"read 192.0.2.1/ro --length 17179869184G", exitUsage, "is not a number of bytes"},
			{"read 192.0.2.1/ro --fault drop=2", exitUsage, "--fault"},
			{"write 192.0.2.1/ro a b", exitUsage, `one argument too many: "b"`},
			{"watch 192.0.2.1/ro --interval 0s", exitUsage, "--interval 0s: it must be more than 0"},
			{"watch 192.0.2.1/ro --offset 1 --length 4096", exitFailure, "4096 bytes at offset 1 are not in the region"},
			{"watch 192.0.2.1/drop", exitFailure, "it is for write"},
		} {
			w.stdin = io.MultiReader(strings.NewReader("0123456789"))
			line := c.line
			if strings.HasSuffix(line, "/drop") && strings.HasPrefix(line, "write") {
				line += " --offset 54"
				w.stdin = strings.NewReader("0123456789x")
			}
			r := runRegion(t, w, s, line)
			if r.code != c.code || !strings.Contains(r.err.String(), c.want) {
				t.Errorf("%s: want %d and %q in it: %v", line, c.code, c.want, r)
			}
		}
	})
	if _, err := os.Stat(file + "2"); !os.IsNotExist(err) {
		t.Errorf("a file was made for what could not be read: %v", err)
	}
}

func TestTooMuchToWatch(t *testing.T) {
	withDaemon(t, "daemon --region name=big,size=1GiB", func(t *testing.T, w *world, s *testnet.Listener) {
		if r := runRegion(t, w, s, "watch 192.0.2.1/big"); r.code != exitFailure || !strings.Contains(r.err.String(), "1073741824 bytes are too many to watch: choose 67108864 at most") {
			t.Error(r)
		}
	})
}
