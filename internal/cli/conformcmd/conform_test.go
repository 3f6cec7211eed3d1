package conformcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

// start is a run of a device whose programs start by themselves, with short times.
var start = []string{"192.0.2.7", "--local", "192.0.2.8", "--dut-start", "env", "--silence", "1ms", "--timeout", "1s"}

func line(more ...string) []string { return append(append([]string(nil), start...), more...) }

func TestARunPrintsCasesFailuresMeasurementsAndASummary(t *testing.T) {
	w := newWorld()
	r := w.run(t.Context(), line()...)
	if r.code != app.ExitFailure || r.stderr != "" || !w.dev.closed {
		t.Errorf("%+v", r)
	}
	has(t, r.stdout, "192.0.2.7 (192.0.2.7), from 192.0.2.8 over udp: 6 cases, gorxe",
		"\npsn\n  psn/1         pass          Rule psn/1 holds.", "psn/2         fail", "psn/3         warn",
		"→ too late", "observed", "→ it waits", "unsupported", "not run", "rule     Rule psn/2 holds.",
		"# the provocation", "tester ──▶ device  QP 0x000011", "tester ◀── device",
		"rnr/1  wait                          µs    1      12 ", "all    request to ACK                µs    3 ",
		": 1 pass, 1 fail, 1 warn, 1 observed, 1 unsupported, 1 not run")
	if strings.Contains(r.stdout, "\x1b") {
		t.Error("colours without a terminal")
	}
}

func TestExitCodes(t *testing.T) {
	for args, want := range map[string]int{
		"psn/1": 0, "psn/2": 1, "psn/3": 0, "psn/3 --strict": 1, "rnr": 0, "uc/1": 127, "uc cm": 127, "uc psn/1": 0,
		"--case uc/1 --case cm/1": 127, "psn/9": app.ExitUsage,
	} {
		if r := newWorld().run(t.Context(), line(strings.Fields(args)...)...); r.code != want {
			t.Errorf("%s: %+v, want %d", args, r, want)
		}
	}
}

// A misspelled command must not look like a device that supports nothing, which CI may skip.
func TestAStartCommandThatDoesNotExistIsAnError(t *testing.T) {
	r := newWorld().run(t.Context(), line("uc", "cm", "--dut-start", "/nonexistent/ssh -x")...)
	if r.code != app.ExitFailure {
		t.Errorf("%+v", r)
	}
	if strings.Contains(r.stdout, "cm/1") {
		t.Errorf("cases follow:\n%s", r.stdout)
	}
	has(t, r.stderr, "--dut-start: '/nonexistent/ssh -x true' ended with status 127: command not found", "printed")
}

func TestARunWritesTheFiles(t *testing.T) {
	dir := t.TempDir()
	var flags []string
	for _, f := range []string{"html", "markdown", "badge", "pcapng", "write-baseline"} {
		flags = append(flags, "--"+f, filepath.Join(dir, f))
	}
	flags = append(flags, "-j", filepath.Join(dir, "junit"))
	must(t, os.WriteFile(filepath.Join(dir, "html"), make([]byte, 1<<20), 0o666))
	r := newWorld().run(t.Context(), line(append(flags, "--name", "my device")...)...)
	if r.code != app.ExitFailure {
		t.Errorf("%+v", r)
	}
	has(t, r.stdout, "capture  "+filepath.Join(dir, "pcapng", "psn-2.pcapng"))
	for name, want := range map[string]string{
		"html": "<b>my device</b>", "markdown": "| my device |", "junit": `<testsuites name="gorxe conform" tests="6"`,
		"badge": `"2 of 4 rules"`, "pcapng/psn-2.pcapng": "the provocation", "write-baseline": "\npsn/2         fail",
	} {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		must(t, err)
		has(t, string(b), want)
		if name == "html" && !strings.HasSuffix(string(b), "</html>\n") {
			t.Error("the page does not replace the file")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pcapng", "psn-1.pcapng")); err == nil {
		t.Error("a case that passes has a capture without --keep-all")
	}
}

func TestAFileIsNotWrittenTwice(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	r := newWorld().run(t.Context(), line("--html", name, "--junit", name)...)
	if r.code != app.ExitFailure || r.stderr != "gorxe: --junit: "+name+" is the file of --html: name another one\n" {
		t.Errorf("%+v", r)
	}
}

func TestJSONIsAloneOnStandardOutput(t *testing.T) {
	r := newWorld().run(t.Context(), line("psn", "--json", "--keep-all")...)
	var got struct {
		Device string
		Cases  []struct {
			ID, Verdict string
			Packets     []any
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	if got.Device != "192.0.2.7" || len(got.Cases) != 3 || got.Cases[1].Verdict != "fail" ||
		len(got.Cases[0].Packets) != 2 {
		t.Errorf("%+v", got)
	}
	has(t, r.stderr, "psn/2         fail", "3 cases in")
}

func TestABaselineDecides(t *testing.T) {
	name := filepath.Join(t.TempDir(), "base.txt")
	for _, c := range []struct {
		text string
		code int
		want string
	}{
		{"psn/2 fail # known\npsn/3 warn\nuc/1 unsupported\ncm/1 not run\n", 0, ""},
		{"psn/2 fail\npsn/3 warn\nuc/1 unsupported\n", 1,
			"cm/1: not run, expected pass: no cable\ngorxe: 1 verdict is not as " + name + " expects\n"},
		{"psn/1 fail # sleeps\npsn/2 fail\n", 1,
			"psn/1: pass, expected fail (sleeps)\npsn/3: warn, expected pass: too late\n"},
		{"psn/77 fail\n", 1, "gorxe: --baseline: " + name + ": line 1: there is no case \"psn/77\"\n"},
	} {
		must(t, os.WriteFile(name, []byte(c.text), 0o666))
		r := newWorld().run(t.Context(), line("--baseline", name)...)
		if r.code != c.code || !strings.HasPrefix(r.stderr, c.want) {
			t.Errorf("%q: %+v", c.text, r)
		}
	}
	must(t, os.Remove(name))
	for range 2 {
		newWorld().run(t.Context(), line("--write-baseline", name)...)
		if r := newWorld().run(t.Context(), line("--baseline", name)...); r.code != 0 || r.stderr != "" {
			t.Errorf("a run differs from its own baseline: %+v", r)
		}
	}
	must(t, os.WriteFile(name, []byte("a letter to my aunt\n"), 0o666))
	r := newWorld().run(t.Context(), line("--write-baseline", name)...)
	has(t, r.stderr, "--write-baseline does not replace a file that is no baseline")
}

// Without --dut-start, the user starts each program once.
func TestTheProgramsToStartAreNamed(t *testing.T) {
	r := newWorld().run(t.Context(), "192.0.2.7", "--local", "192.0.2.8", "--silence", "1ms", "--dut-wait", "5m")
	for want, n := range map[string]int{
		"Start this on the device within 5m0s. It runs until the next message:\n" +
			"  while true; do ib_write_bw -p 18515; sleep 0.1; done\n": 1,
		"while true; do ib_read_bw -p 18515; sleep 0.1; done\n":              1,
		"End the loop on the device: the next cases need another program.\n": 1,
	} {
		if strings.Count(r.stdout, want) != n {
			t.Errorf("%d times %q in\n%s", strings.Count(r.stdout, want), want, r.stdout)
		}
	}
}

func TestAnAbsentDeviceEndsTheRun(t *testing.T) {
	for _, broken := range []bool{false, true} {
		w := newWorld()
		w.dev.broken, w.link.silent = broken, true
		all := w.cases[0]
		w.cases = nil
		for i := range 20 {
			c := *all
			c.ID = fmt.Sprintf("psn/%d", i+1)
			w.cases = append(w.cases, &c)
		}
		r := w.run(t.Context(), line("--timeout", "1ms")...)
		if r.code != app.ExitFailure || strings.Count(r.stdout, "Rule psn/1 holds.") != maxCases {
			t.Errorf("%+v", r)
		}
		has(t, r.stderr, "gorxe: no packet came from the device in 6 cases: the rest was not run. The last reason: ")
	}
}

// The run of a device that dies ends soon, and says since when.
func TestADeviceThatDiesEndsTheRun(t *testing.T) {
	for _, broken := range []bool{false, true} {
		w := newWorld()
		all := w.cases[0]
		w.cases = nil
		for i := range 20 {
			c := *all
			c.ID = fmt.Sprintf("psn/%d", i+1)
			c.Run = func(t *conformance.T) {
				t.Connect().Control()
				if i == 2 {
					w.dev.broken, w.link.silent = broken, true
				}
			}
			w.cases = append(w.cases, &c)
		}
		r := w.run(t.Context(), line("--timeout", "100ms", "--dut-gid", "1")...)
		if r.code != app.ExitFailure || strings.Count(r.stdout, "Rule psn/1 holds.") != 3+diedCases {
			t.Errorf("%+v", r)
		}
		has(t, r.stderr, "gorxe: no packet came from the device in 4 cases after psn/3: the rest was not run.",
			map[bool]string{
				false: "check that no firewall drops UDP port 4791 between 192.0.2.8 and 192.0.2.7, in both directions",
				true: "check that 'env ib_write_bw -s 65536 -p 18515 -m 1024 -n 1000000 -F -x 1' prints no error and runs until " +
					"you end it, and that this host reaches TCP ports 18515 to 18578 of 192.0.2.7",
			}[broken])
	}
}

// A program that never worked says nothing about the device.
func TestAProgramThatDoesNotWorkDoesNotEndTheRun(t *testing.T) {
	w := newWorld()
	first := w.cases[0]
	w.cases = []*conformance.Case{first}
	for i := range 12 {
		c := *first
		c.ID, c.Program = fmt.Sprintf("psn/%d", i+2), conformance.RPing
		c.Run = func(t *conformance.T) { t.Inconclusive("rping -s does not answer a REQ") }
		w.cases = append(w.cases, &c)
	}
	r := w.run(t.Context(), line()...)
	has(t, r.stdout, "13 cases in", "12 inconclusive")
	if r.code != 0 {
		t.Errorf("%+v", r)
	}
}

// A device that floods the tester with packets is not absent, but no case may be conclusive.
func TestManyInconclusiveCasesInARowEndTheRun(t *testing.T) {
	w := newWorld()
	first := w.cases[0]
	w.cases = []*conformance.Case{first}
	for i := range 2 * maxInconclusive {
		c := *first
		c.ID = fmt.Sprintf("psn/%d", i+2)
		c.Program = []conformance.Program{conformance.RPing, conformance.ReadServer, conformance.WriteServer}[i%3]
		c.Run = func(t *conformance.T) {
			t.ConnectTo(conformance.WriteServer).Control() // the link answers
			t.Inconclusive("the device floods the tester")
		}
		w.cases = append(w.cases, &c)
	}
	r := w.run(t.Context(), line()...)
	has(t, r.stdout, "21 cases in", ": 1 pass, 20 inconclusive")
	has(t, r.stderr, "gorxe: 20 cases in a row were inconclusive: the rest was not run. The last reason: the device ")
	if r.code != app.ExitFailure {
		t.Errorf("%+v", r)
	}
}

func TestAUserIsAskedOnceWhoStartsNothing(t *testing.T) {
	w := newWorld()
	w.dev.broken = true
	r := w.run(t.Context(), "192.0.2.7", "--local", "192.0.2.8")
	if r.code != app.ExitFailure || strings.Count(r.stdout, "Rule ") != 1 {
		t.Errorf("%+v", r)
	}
	has(t, r.stderr, "no packet came from the device in 1 case: the rest was not run")
}

func TestAnInterruptedRunReportsTheCasesThatEnded(t *testing.T) {
	w := newWorld()
	ctx, cancel := context.WithCancel(t.Context())
	w.cases[1].Run = func(t *conformance.T) { cancel(); <-t.Context().Done(); t.Inconclusive("interrupted") }
	name := filepath.Join(t.TempDir(), "x.json")
	r := w.run(ctx, line("--markdown", name)...)
	if r.code != app.ExitInterrupted || r.stderr != "gorxe: interrupted\n" {
		t.Errorf("%+v", r)
	}
	b, err := os.ReadFile(name)
	must(t, err)
	has(t, string(b), "| psn/1 | shall | Rule psn/1 holds. | ✓ pass |")
}

func TestAPortInUseIsExplained(t *testing.T) {
	w := newWorld()
	w.listen["udp"] = func(a netip.Addr) (wire.Link, error) {
		return nil, fmt.Errorf("port 4791 of %v: %w", a, syscall.EADDRINUSE)
	}
	r := w.run(t.Context(), line()...)
	if r.code != app.ExitFailure {
		t.Errorf("%+v", r)
	}
	has(t, r.stderr, "gorxe: UDP port 4791 of 192.0.2.8 is in use on this host, probably by a gorxe", "rdma_rxe",
		"--local", "ss -ulpn sport = 4791")
}

func TestTheTesterHasAnotherAddressThanTheDevice(t *testing.T) {
	w := newWorld()
	udp := w.listen["udp"]
	w.listen["udp"] = func(a netip.Addr) (wire.Link, error) {
		if a == netip.MustParseAddr("127.0.0.10") {
			return nil, syscall.EADDRINUSE
		}
		return udp(a)
	}
	for host, want := range map[string]string{
		"127.0.0.1": "127.0.0.2", "127.0.0.9": "127.0.0.11", "localhost": "127.0.0.2",
		"127.255.255.254": "127.0.0.1",
	} {
		if r := w.run(t.Context(), host, "--dut-start", "x", "psn/1"); w.link.local.String() != want || r.code != 0 {
			t.Errorf("%s: tester at %v, want %s: %+v", host, w.link.local, want, r)
		}
	}
}

func TestRawLinksAreUsedWherePermitted(t *testing.T) {
	w := newWorld()
	if r := w.run(t.Context(), line("--link", "raw")...); r.code != 1 || !strings.Contains(r.stderr, "CAP_NET_RAW") {
		t.Errorf("%+v", r)
	}
	w.listen["raw"] = w.listen["udp"]
	w.link.raw = true
	has(t, w.run(t.Context(), line()...).stdout, "from 192.0.2.8 over raw")
}

func TestCasesAreListed(t *testing.T) {
	r := newWorld().run(t.Context(), "--list", "psn/2", "rnr")
	if want := `case   level     device runs  rule
psn/2  shall     ib_read_bw   Rule psn/2 holds.
rnr/1  observed  ib_write_bw  Rule rnr/1 holds.
`; r.code != 0 || r.stdout != want {
		t.Errorf("%+v", r)
	}
	var list []struct{ ID, Program string }
	r = newWorld().run(t.Context(), "192.0.2.7", "--list", "--json")
	must(t, json.Unmarshal([]byte(r.stdout), &list))
	if len(list) != 6 || list[5].Program != "ucmatose -s" {
		t.Errorf("%+v", list)
	}
}

func TestShellsCompleteCases(t *testing.T) {
	for words, want := range map[string]string{"192.0.2.7 p": "psn/2\tRule psn/2 holds.", "192.0.2.7 psn/1 r": "rnr\n",
		"x --case u": "uc/1", "x --link r": "raw"} {
		w := newWorld()
		var out locked
		a := &app.App{Stdout: &out, Stderr: &locked{},
			Commands: []app.Command{func(a *app.App) *cobra.Command { return command(a, &w.env) }}}
		a.Main(t.Context(), append([]string{"__complete", "conform"}, strings.Fields(words)...))
		has(t, out.b.String(), want)
		if strings.Contains(out.b.String(), "xdp") {
			t.Error(out.b.String())
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for args, want := range map[string]string{
		"":                            "name the device: gorxe conform HOST; see 'gorxe conform --help'",
		"192.0.2.7 psm":               `"psm" is no case and no chapter; 'gorxe conform --list' lists the cases, chapters are psn, rnr, uc, cm`,
		"x --link ip":                 `--link "ip": choose udp, raw or auto`,
		"x --local eth0":              `--local "eth0" is no IP address`,
		"x --dut-gid -2":              "--dut-gid -2: GID indexes start at 0",
		"x --timeout 0s":              "--timeout 0s: must be 1ms to 24h0m0s",
		"192.0.2.7 --local 192.0.2.7": "--local 192.0.2.7 is the address of the device: name another one",
		"192.0.2.7 --local ::1": "the tester has ::1 and the device 192.0.2.7: choose two of IPv4, or two of IPv6, with " +
			"--local and --dut-addr",
		"0.0.0.0":                 "0.0.0.0 is no address of a device",
		"x --dut-port 65500":      "--dut-port 65500: must be 1 to 65472",
		"report":                  "name the files that 'gorxe conform HOST --json' has written",
		"report a b --badge x":    "--badge is for one device: name one file",
		"report a b --name x":     "--name is given 1 times for 2 files",
		"192.0.2.7 --case psn/50": `"psn/50" is no case and no chapter; 'gorxe conform --list' lists the cases, chapters are psn, rnr, uc, cm`,
	} {
		r := newWorld().run(t.Context(), strings.Fields(args)...)
		if r.code != app.ExitUsage || r.stderr != "gorxe: "+want+"\n" || r.stdout != "" {
			t.Errorf("%s: %+v\nwant %s", args, r, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
