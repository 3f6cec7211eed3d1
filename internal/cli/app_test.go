package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/verbs"
)

func TestHelpTexts(t *testing.T) {
	for _, line := range []string{
		"", "cm", "conform", "conform report", "conform self", "demo", "devinfo", "doctor", "version",
		"pingpong", "pingpong rc", "pingpong uc", "pingpong ud", "pingpong srq",
		"rping", "perf", "perf write_bw", "perf read_bw", "perf send_bw",
		"perf write_lat", "perf read_lat", "perf send_lat", "perf atomic_bw", "perf atomic_lat", "region", "region ls",
		"region read", "region write", "region watch",
		"completion", "help", "run", "daemon", "status", "qps", "mrs", "cms", "stats", "loglevel", "trace",
		"top", "extcap",
	} {
		t.Run(line, func(t *testing.T) {
			r := newWorld().Run(t.Context(), line+" --help")
			if r.Code != 0 || r.Stderr.Len() > 0 {
				t.Error(r)
			}
			text := r.Stdout.String()
			// Only this text differs between systems.
			text = strings.ReplaceAll(text, `(default "pipe")`, `(default "udp")`)
			golden.Check(t, "help/"+strings.ReplaceAll("gorxe "+line, " ", "_")+".golden", text)
		})
	}
}

// Every wrong command line leads to one line with the error and the wrong value, and exit code 2.
// The peer (192.0.2.9) is not contacted.
func TestWrongCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"nosuch":                               `there is no command "nosuch" in gorxe; see 'gorxe --help'`,
		"demmo":                                `there is no command "demmo" in gorxe, did you mean "demo"?; see 'gorxe --help'`,
		"perf write_bv":                        `there is no command "write_bv" in gorxe perf, did you mean "write_bw"?; see 'gorxe perf --help'`,
		"pingpong xrc":                         `there is no command "xrc" in gorxe pingpong, did you mean "rc"?; see 'gorxe pingpong --help'`,
		"version x":                            `gorxe version takes no argument, got "x"`,
		"cm":                                   `give one of -s, to wait for connections, and -c HOST, to make them`,
		"cm -s -c 127.0.0.1":                   `give one of -s, to wait for connections, and -c HOST, to make them`,
		"cm -c 127.0.0.1 -P ib":                `-P "ib": choose tcp or udp`,
		"cm -c 127.0.0.1 -n 0":                 `-n 0: must be 1 to 65536`,
		"cm -c 127.0.0.1 -C 16385":             `-C 16385: must be 0 to 16384`,
		"cm -c 127.0.0.1 -S 0":                 `-S 0: must be 1 to 8388608`,
		"cm -c 127.0.0.1 -j 0":                 `-j 0: must be 1 to 65536`,
		"cm 127.0.0.1":                         `gorxe cm takes no argument, got "127.0.0.1"`,
		"demo --link tcp":                      `--link "tcp": choose udp or pipe`,
		"demo --loss 51":                       `--loss 51: must be 0 to 50 percent`,
		"demo --loss x":                        `--loss "x" is not a number; see 'gorxe demo --help'`,
		"demo --seed 0":                        `--seed 0: choose another number; the same one gives the same numbers and losses`,
		"perf send_lat --fault-in jitter=1ms":  `--fault-in jitter=1ms: incoming packets cannot be delayed; delay the outgoing packets of the other end with --fault`,
		"perf send_lat --fault-in drop=2":      `--fault-in: fault "drop=2": 2 is not between 0 and 1, or 0% and 100%; write for example drop=1%,delay=2ms, with ` + fault.Spec,
		"perf send_lat -e --busy-poll":         `-e and --busy-poll are mutually exclusive`,
		"devinfo -i 2":                         `device port 2: a gorxe device has only port 1; omit -i`,
		"pingpong rc -Z":                       `unknown shorthand flag: 'Z' in -Z; see 'gorxe pingpong rc --help'`,
		"pingpong rc --bytes 3":                `unknown flag: --bytes; see 'gorxe pingpong rc --help'`,
		"pingpong rc -s":                       `-s needs a value; see 'gorxe pingpong rc --help'`,
		"pingpong rc -s x":                     `-s: "x" is not a number of bytes: such as 4096, 0x1000, 4K, 16M or 1G; see 'gorxe pingpong rc --help'`,
		"pingpong rc -s 0":                     `-s 0: must be 1 to 2147483647`,
		"pingpong rc -r 0":                     `-r 0: must be 1 to 65536`,
		"pingpong rc -g -2":                    `-g -2: GID indexes start at 0; 'gorxe devinfo -v' lists them`,
		"pingpong rc -o":                       `-o, --odp is not supported: memory here is not pinned and needs no paging on demand; omit it`,
		"pingpong rc -t":                       `-t, --ts is not supported: completions carry no timestamp; omit it`,
		"pingpong rc a b":                      `gorxe pingpong rc takes one host; unexpected argument "b"`,
		"pingpong rc -d 127.66.0.1 -m 1000":    `path MTU 1000: choose 256, 512, 1024, 2048 or 4096 with -m`,
		"pingpong uc -o":                       `unknown shorthand flag: 'o' in -o; see 'gorxe pingpong uc --help'`,
		"pingpong srq -q 256":                  `-q 256: must be 1 to 255`,
		"pingpong srq -r 15":                   `-r 15: too few receives for 16 queue pairs, each needs one`,
		"pingpong uc -s 0":                     `-s 0: must be 1 to 2147483647`,
		"perf write_bw -c UD":                  `-c UD: choose RC or UC, the connection types there are for write_bw`,
		"perf send_lat -c XRC":                 `-c XRC: choose RC, UC or UD, the connection types there are`,
		"perf send_bw -c DC":                   `-c DC: choose RC, UC or UD, the connection types there are`,
		"perf read_bw -c UC":                   `-c UC: read_bw needs RC, the only connection type with READ; omit -c`,
		"perf atomic_bw -c UC":                 `-c UC: atomic_bw needs RC, the only connection type with atomics; omit -c`,
		"perf atomic_bw -s 16":                 `-s 16: an atomic is of 8 bytes; omit -s`,
		"perf atomic_lat -A SWAP":              `-A SWAP: choose CMP_AND_SWAP or FETCH_AND_ADD`,
		"perf atomic_lat -I 8":                 `-I, --inline_size is not supported: a request of atomic_lat carries no data; omit it`,
		"perf write_bw -I 513":                 `-I 513: must be 0 to 512`,
		"perf write_bw -r 5":                   `-r 5: write_bw posts no receives; omit -r`,
		"perf read_lat -c uc":                  `-c uc: read_lat needs RC, the only connection type with READ; omit -c`,
		"perf write_bw -s 1X":                  `-s: "1X" is not a number of bytes: such as 4096, 0x1000, 4K, 16M or 1G`,
		"perf write_bw -s 2048M":               `-s 2048M: must be 1 to 2147483647 bytes`,
		"perf write_bw -n 4":                   `-n 4: must be 5 to 100000000`,
		"perf write_bw -r 2":                   `-r 2: write_bw posts no receives; omit -r`,
		"perf write_bw -D 0":                   `-D 0: must be at least 1 second`,
		"perf write_bw -D 4 -a":                `-D and -a do not go together: run one size for a time, or all sizes by number`,
		"perf write_bw -D 4 -f 2":              `-D 4 leaves nothing between two margins of 2 seconds: choose a smaller -f`,
		"perf write_bw -f 2":                   `-f 2: a margin needs -D`,
		"perf write_bw -n 100 -l 33":           `-n 100 is not a multiple of -l 33: choose one that is`,
		"perf write_bw -n 100 -l 10 -Q 3":      `-l 10 is not a multiple of -Q 3: choose one that is`,
		"perf write_bw -q 16384 -s 1M":         `-s 1048576 with 16384 QPs needs 32 GiB of memory: choose less`,
		"perf send_lat -q 2":                   `unknown shorthand flag: 'q' in -q; see 'gorxe perf send_lat --help'`,
		"perf send_lat -D 2 -H":                `-D records no single results: omit -H and -U`,
		"perf send_bw --use-srq":               `--use-srq is not supported: each queue pair here has its own receives; omit it`,
		"perf read_bw -u 32":                   `-u 32: must be 0 to 31`,
		"perf read_bw -x -1":                   `-x -1: GID indexes start at 0; 'gorxe devinfo -v' lists them`,
		"perf write_bw -d 127.66.0.1 -m 12345": `path MTU 12345: choose 256, 512, 1024, 2048 or 4096 with -m`,
		"perf write_bw -m 333 192.0.2.9":       `path MTU 333: choose 256, 512, 1024, 2048 or 4096 with -m`,
		"pingpong uc -m 333 192.0.2.9":         `path MTU 333: choose 256, 512, 1024, 2048 or 4096 with -m`,
		"pingpong rc -s 64kk":                  `-s: "64kk" is not a number of bytes: such as 4096, 0x1000, 4K, 16M or 1G; see 'gorxe pingpong rc --help'`,
		"pingpong rc -s 2G":                    `-s 2147483648: must be 1 to 2147483647`,
		"rping -c -a 192.0.2.9 -S 64k":         `-S 65536: must be 23 to 65535`,
		"help nosuch":                          `there is no command "nosuch" in gorxe; see 'gorxe --help'`,
		"help perf write_bv":                   `there is no command "write_bv" in gorxe perf, did you mean "write_bw"?; see 'gorxe perf --help'`,
		"trace --messages --explain x.pcap":    `--explain is for the lines of packets, which --messages replaces: omit one of them`,
		"trace --flows -v x.pcap":              `-v is for the lines of packets, which --flows replaces: omit one of them`,
	} {
		r := newWorld().Run(t.Context(), line)
		if got := r.Stderr.String(); r.Code != app.ExitUsage || got != "gorxe: "+want+"\n" || r.Stdout.Len() > 0 &&
			!strings.HasPrefix(line, "perf") {
			t.Errorf("gorxe %s: %v\nwant exit code 2 and %q", line, r, want)
		}
	}
}

// Errors that are not in the command line lead to exit code 1 and a message that says what to do.
func TestFailures(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"pingpong rc -d 127.66.0.1 -g 3",
			"A GID that is not there: gorxe0 has no GID with index 3: it has 0 (::ffff:127.66.0.1); choose one with -g"},
		{"perf write_bw -d 127.66.0.1 -x 1",
			"A GID that is not there: gorxe0 has no GID with index 1: it has 0 (::ffff:127.66.0.1); choose one with -x"},
		{"pingpong rc -d 127.66.0.1 -m 4096", "An MTU too large: path MTU 4096 is too large for 127.66.0.1, whose packets carry 1024: use -m 1024, or give the interface an MTU of 4176 or more"},
		{"perf write_bw -d 127.66.0.1 -m 2048", "An MTU too large: path MTU 2048 is too large for 127.66.0.1, whose packets carry 1024: use -m 1024, or give the interface an MTU of 2128 or more"},
	} {
		r := newWorld().Run(t.Context(), tt.line)
		_, want, _ := strings.Cut(tt.want, ": ")
		if got := r.Stderr.String(); r.Code != app.ExitFailure || got != "gorxe: "+want+"\n" {
			t.Errorf("gorxe %s: %v\nwant exit code 1 and %q", tt.line, r, want)
		}
	}
}

func TestRealInterfacesAreNamedInErrors(t *testing.T) {
	for _, line := range []string{"devinfo -d nosuch0", "pingpong rc -d nosuch0", "perf read_lat -d nosuch0"} {
		w := newWorld()
		r := &clitest.Run{Done: make(chan struct{})}
		a := &app.App{Stdout: &r.Stdout, Stderr: &r.Stderr, Open: verbs.Open, Addrs: packet.HostAddrs, TCP: w,
			Commands: commands}
		if code := a.Main(t.Context(), strings.Fields(line)); code != app.ExitFailure {
			t.Errorf("gorxe %s: exit code %d", line, code)
		}
		if got := r.Stderr.String(); strings.Count(got, "\n") != 1 ||
			!strings.Contains(got, `no network interface "nosuch0": there are `) || strings.Contains(got, "packet: ") {
			t.Errorf("gorxe %s: %q", line, got)
		}
	}
}

func TestAnInterruptIsNotAFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newWorld().Run(ctx, "pingpong rc -d 127.66.0.1")
	if r.Code != app.ExitInterrupted || r.Stderr.String() != "gorxe: interrupted\n" {
		t.Error(r)
	}
}

func TestVersion(t *testing.T) {
	r := newWorld().Run(t.Context(), "version")
	if r.Code != 0 || !strings.HasPrefix(r.Stdout.String(), "gorxe ") || strings.Count(r.Stdout.String(), "\n") != 1 {
		t.Error(r)
	}
}

func TestTheVersionIsPrintedHoweverItIsAskedFor(t *testing.T) {
	want := newWorld().Run(t.Context(), "version")
	clitest.MustSucceed(t, "version", want)
	if !strings.HasPrefix(want.Stdout.String(), "gorxe ") || strings.Count(want.Stdout.String(), "\n") != 1 {
		t.Fatal(want)
	}
	for _, line := range []string{"--version", "-v"} {
		r := newWorld().Run(t.Context(), line)
		if clitest.MustSucceed(t, line, r); r.Stdout.String() != want.Stdout.String() {
			t.Errorf("%s: %v", line, r)
		}
	}
}
