package extcapcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/cli/daemoncmd"
	"github.com/gorxe/gorxe/internal/cli/rpingcmd"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/trace/capture"
)

func newWorld() *clitest.World { return clitest.NewWorld(Command, daemoncmd.Command, rpingcmd.Command) }

// withDaemon runs f while a daemon with two devices runs: gorxe0 and gorxe1.
func withDaemon(t *testing.T, f func(t *testing.T, w *clitest.World, s *testnet.Listener)) {
	t.Helper()
	clitest.WithDaemon(t, newWorld, "daemon --device 192.0.2.1 --device 192.0.2.2", f)
}

func TestEachDeviceIsAnInterface(t *testing.T) {
	withDaemon(t, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		for line, want := range map[string]string{
			"extcap --extcap-interfaces --extcap-version=4.0":      "interface {value=gorxe-gorxe0}{display=gorxe daemon: gorxe0",
			"extcap --extcap-interfaces":                           "\ninterface {value=gorxe-gorxe1}{display=gorxe daemon: gorxe1",
			"extcap --extcap-dlts --extcap-interface gorxe-gorxe0": "dlt {number=12}{name=RAW}{display=Raw IP}\n",
			"extcap --extcap-config --extcap-interface gorxe-gorxe0": "arg {number=0}{call=--peer}" +
				"{display=Peer address}{type=string}",
		} {
			r := w.Look(t, s, line)
			clitest.MustSucceed(t, line, r)
			if !strings.Contains(r.Stdout.String(), want) {
				t.Errorf("%s: %v", line, r)
			}
		}
	})
}

func TestWithoutADaemonThereIsNoInterface(t *testing.T) {
	s := clitest.NewMemorySocket()
	s.Close()
	r := newWorld().Look(t, s, "extcap --extcap-interfaces")
	if r.Code != 0 || !strings.HasPrefix(r.Stdout.String(), "extcap {version=") ||
		strings.Count(r.Stdout.String(), "\n") != 1 || !strings.Contains(r.Stderr.String(), "no gorxe daemon answers") {
		t.Error(r)
	}
}

// Wireshark marks a filter as wrong if there is any output.
func TestACaptureFilterIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "error": "", "psm==1": "filter, at character 1: unknown field \"psm\", did you mean \"psn\"?\n",
		"host==\x1b[2J": "filter, at character",
	} {
		r := newWorld().StartWords(t.Context(),
			[]string{"extcap", "--extcap-interface", "gorxe-gorxe0", "--extcap-capture-filter", text})
		<-r.Done
		if out := r.Stdout.String(); r.Code != 0 || !strings.HasPrefix(out, want) || want == "" && out != "" ||
			strings.ContainsRune(out, 0x1b) {
			t.Errorf("%q: %v", text, r)
		}
	}
}

func TestWrongCommandLinesAreRejected(t *testing.T) {
	for line, want := range map[string]string{
		"extcap":                            "Wireshark runs this command; 'gorxe extcap --help' tells how to install it",
		"extcap x":                          `gorxe extcap takes no argument, got "x"`,
		"extcap --extcap-interface gorxe-a": "--extcap-interface needs --extcap-config, --extcap-dlts or --capture",
		"extcap --capture --extcap-interface gorxe-a":                "--capture needs --fifo",
		"extcap --extcap-interface gorxe-a --extcap-dlts --peer all": `--peer "all": give an IP address`,
		"extcap --capture --extcap-interface gorxe-a --fifo x --extcap-capture-filter port==1": "capture filter, at " +
			`character 1: unknown field "port"`,
	} {
		r := newWorld().Run(t.Context(), line)
		if r.Code != app.ExitUsage || !strings.HasPrefix(r.Stderr.String(), "gorxe: "+want) {
			t.Errorf("%s: %v", line, r)
		}
	}
	withDaemon(t, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		r := w.Look(t, s, "extcap --capture --extcap-interface gorxe-a --fifo "+filepath.Join(t.TempDir(), "f"))
		if r.Code != app.ExitFailure ||
			r.Stderr.String() != "gorxe: the daemon has no device for the interface \"gorxe-a\"\n" {
			t.Error(r)
		}
	})
}

// frames returns the frames of a file.
func framesIn(t *testing.T, path string) (all []capture.Frame) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *f)
	}
	return all
}

func TestOnlyThePacketsOfTheInterfaceAreCaptured(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, flags string
		device      string
		frames      func(int) bool
		comments    bool
	}{
		{"one", "--extcap-interface gorxe-gorxe0", "192.0.2.1", func(n int) bool { return n > 20 }, false},
		{"the other", "--extcap-interface gorxe-gorxe1", "192.0.2.2", func(n int) bool { return n > 20 }, false},
		{"comments", "--extcap-interface gorxe-gorxe1 --comments", "192.0.2.2",
			func(n int) bool { return n > 20 }, true},
		{"peer", "--extcap-interface gorxe-gorxe1 --peer 192.0.2.9", "192.0.2.2",
			func(n int) bool { return n == 0 }, false},
		{"filter", "--extcap-interface gorxe-gorxe0 --extcap-capture-filter op==read", "192.0.2.1",
			func(n int) bool { return n == 2 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, tt.name)
			withDaemon(t, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
				ctx, interrupt := context.WithCancel(t.Context())
				args := append([]string{"extcap", "--capture", "--fifo", path}, strings.Fields(tt.flags)...)
				r := w.StartWith(ctx, s, nil, args...)
				synctest.Wait()
				if info, err := os.Stat(path); err != nil || info.Size() == 0 {
					t.Errorf("no file header at the begin: %v", err)
				}
				for _, server := range []string{"192.0.2.1", "192.0.2.2"} {
					if ping := w.Look(t, s, "rping -c -a "+server+" -C 2 -I 192.0.2.5"); ping.Code != 0 {
						t.Error(ping)
					}
				}
				synctest.Wait()
				interrupt()
				<-r.Done
				clitest.MustSucceed(t, tt.flags, r)
			})
			all := framesIn(t, path)
			if !tt.frames(len(all)) {
				t.Errorf("%d frames", len(all))
			}
			for _, f := range all {
				if f.Interface != tt.device || tt.comments != (len(f.Comments) > 0) {
					t.Errorf("a frame of %s with the comments %q", f.Interface, f.Comments)
				}
			}
		})
	}
}

// At the limit, frames of unknown addresses are left out.
func TestTheAddressesThatASourceKeepsAreBounded(t *testing.T) {
	d := &ofDevice{ctx: t.Context(), params: &params{iface: "gorxe-a"}, mine: map[string]bool{"mine": true}}
	for i := range maxAddresses {
		d.mine[fmt.Sprint(i)] = false
	}
	d.Source = &scripted{[]string{"5", "unknown", "mine"}}
	var f capture.Frame
	if err := d.Next(&f); err != nil || f.Interface != "mine" || f.Number != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if err := d.Next(&f); !errors.Is(err, io.EOF) || len(d.mine) > maxAddresses+1 {
		t.Errorf("%v, %d addresses", err, len(d.mine))
	}
}

// scripted is a source of empty frames of interfaces.
type scripted struct{ names []string }

func (s *scripted) Next(f *capture.Frame) error {
	if len(s.names) == 0 {
		return io.EOF
	}
	*f = capture.Frame{Interface: s.names[0]}
	s.names = s.names[1:]
	return nil
}

func TestAClosedFIFOIsNoFailure(t *testing.T) {
	if err := ended(fmt.Errorf("writing: %w", syscall.EPIPE)); err != nil {
		t.Error(err)
	}
	if err := ended(io.ErrShortWrite); err == nil {
		t.Error("another error is lost")
	}
}

func TestWordsOfTheProtocolHaveNoBraces(t *testing.T) {
	if got := word("a{b}\x1b\nc"); got != "a(b)\ufffd c" {
		t.Errorf("%q", got)
	}
}
