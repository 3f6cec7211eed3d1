// Package conformcmd implements 'gorxe conform'.
package conformcmd

import (
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

// Command makes the command 'gorxe conform'.
func Command(a *app.App) *cobra.Command { return command(a, thisHost()) }

func command(a *app.App, e *env) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "conform HOST [CASE|CHAPTER]... [flags]",
		Short: "Test whether a RoCEv2 endpoint keeps the rules of the InfiniBand specification",
		Long: `conform tests a RoCEv2 endpoint: Linux rxe, an RNIC, an FPGA or gorxe. It breaks rules of the
InfiniBand specification on purpose and judges the replies. The device runs only stock programs
of rdma-core and perftest. --dut-start is the command that starts a program there; without it,
gorxe says which program to start and waits for it.

Each rule is a case of a chapter, such as psn/3. Without CASE and CHAPTER all cases run. The
tester needs a local address whose UDP port 4791 no other process uses. Cases that send their own
IP headers need CAP_NET_RAW; otherwise they are not run.

Exit status: 0 if no rule is violated (with --baseline: if every verdict is expected), 1 otherwise,
127 if the device supports none of the cases.`,
		Example: `  gorxe conform 192.0.2.7 --dut-start 'ssh -tt root@192.0.2.7'   all cases, programs started by ssh
  gorxe conform 192.0.2.7 --dut-device rxe0 --dut-gid 1 psn      chapter psn, programs started by hand
  gorxe conform 192.0.2.7 --dut-start 'ssh -tt fpga {}' --html page.html --baseline fpga.txt
  gorxe conform 127.0.0.1 --dut-gid 0 --dut-start 'gorxe run --' a gorxe daemon on this host
  gorxe conform --list                                           all cases`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if p.list {
				return p.printList(a, e.cases, args)
			}
			if err := p.check(args, e.cases); err != nil {
				return err
			}
			return p.run(c.Context(), a, e)
		},
	}
	p.addFlags(c)
	p.complete(c, e.cases)
	c.AddCommand(reportCommand(a), selfCommand(a))
	return c
}

func (p *params) addFlags(c *cobra.Command) {
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&p.device.Start, "dut-start", "",
		"shell `command` that runs a program on the device; {} stands for the program, else it is appended")
	fs.StringVar(&p.device.Name, "dut-device", "", "RDMA `device` of the programs (their -d)")
	fs.IntVar(&p.device.GIDIndex, "dut-gid", -1,
		"GID `index` of the programs (their -g or -x); the pingpongs need it (gorxe: 0)")
	fs.StringVar(&p.addr, "dut-addr", "", "`address` of the device's RoCEv2 packets (default: HOST)")
	fs.Uint16Var(&p.device.Port, "dut-port", 18515, "first TCP `port` of the programs; 64 are used in turn")
	fs.DurationVar(&p.wait, "dut-wait", 0, "`time` to wait for each program (default: 10s, without --dut-start 10m)")
	fs.StringVar(&p.local, "local", "", "local `address` of the tester (default: the one on the route to HOST)")
	fs.StringVar(&p.link, "link", "auto", "`kind` of link: udp, raw (needs CAP_NET_RAW) or auto (raw if permitted)")
	fs.StringArrayVar(&p.only, "case", nil, "run only this `case` or chapter; may be repeated")
	fs.BoolVar(&p.list, "list", false, "list the cases and exit; with --json as JSON")
	fs.BoolVar(&p.strict, "strict", false, "a warning is a failure, too")
	fs.DurationVar(&p.timeout, "timeout", time.Second, "`time` that an expected reply may take")
	fs.DurationVar(&p.silence, "silence", 250*time.Millisecond, "`time` without a reply that counts as none")
	fs.StringVar(&p.name, "name", "", "`name` of the device in reports (default: HOST)")
	fs.BoolVar(&p.keepAll, "keep-all", false,
		"keep the packets of all cases, not only of failures and inconclusive cases")
	fs.BoolVar(&p.json, "json", false, "print the report as JSON; progress goes to standard error")
	fs.StringVar(&p.captures, "pcapng", "", "write the packets of each case that has them into this `folder`")
	p.files.add(fs)
	fs.StringVar(&p.baseline, "baseline", "", "`file` with expected verdicts: only others are failures")
	fs.StringVar(&p.newBaseline, "write-baseline", "",
		"write the verdicts of this run to `file`, as --baseline reads them")
}

// longest is the maximum of flags that are a duration.
const longest = 24 * time.Hour

// defaultWait are the default values of --dut-wait with (false) and without --dut-start.
var defaultWait = map[bool]time.Duration{false: 10 * time.Second, true: 10 * time.Minute}

// caseLimit limits the duration of a case whose program runs.
const caseLimit = 30 * time.Second

// check checks the command line.
func (p *params) check(args []string, all []*conformance.Case) (err error) {
	if len(args) == 0 {
		return app.Usagef("name the device: gorxe conform HOST; see 'gorxe conform --help'")
	}
	p.host = args[0]
	if p.selected, err = choose(all, append(args[1:], p.only...)); err != nil {
		return err
	}
	if p.wait == 0 {
		p.wait = defaultWait[p.device.Start == ""]
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"--timeout", p.timeout}, {"--silence", p.silence}, {"--dut-wait", p.wait}} {
		if d.value < time.Millisecond || d.value > longest {
			return app.Usagef("%s %v: must be 1ms to %v", d.flag, d.value, longest)
		}
	}
	if p.device.Port == 0 || p.device.Port > 65535-63 {
		return app.Usagef("--dut-port %d: must be 1 to %d", p.device.Port, 65535-63)
	}
	if p.device.GIDIndex < -1 {
		return app.Usagef("--dut-gid %d: GID indexes start at 0", p.device.GIDIndex)
	}
	return p.checkLink()
}
