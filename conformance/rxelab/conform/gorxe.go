package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
)

// link are the two ends of a connection between gorxe and the tester: namespaces, "" for the
// current one, and addresses.
type link struct {
	netns [2]string
	addr  [2]string
}

// testGorxe tests a gorxe daemon on this host count times: over loopback as an ordinary user, over
// veth as root.
func (o *Options) testGorxe(ctx context.Context, m *machine.Options, c Column,
	count int) (reports []*report.Report, err error) {
	l := link{addr: [2]string{"127.91.0.1", "127.91.0.2"}}
	if os.Geteuid() == 0 {
		if err := l.veth(ctx); err != nil {
			return nil, err
		}
		defer l.remove()
	} else if c.Link != "udp" {
		return nil, &leftError{"the link " + c.Link + " needs root"}
	}
	dir, err := os.MkdirTemp("", "conform-") // short: the path of a socket must fit in 108 bytes
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	stop, err := l.daemon(ctx, m, c, dir)
	if err != nil {
		return nil, err
	}
	defer stop()
	for n := range count {
		m.Step(fmt.Sprintf("testing %s, run %d of %d", c.Name, n+1, count))
		r, err := o.onHost(ctx, m, c, &l, dir, n)
		if err != nil {
			return reports, fmt.Errorf("%s: %w", c.Name, err)
		}
		o.say("%s", summary(r))
		reports = append(reports, r)
	}
	return reports, nil
}

// veth makes two namespaces that are connected by veth.
func (l *link) veth(ctx context.Context) error {
	for i := range l.netns {
		l.netns[i] = fmt.Sprintf("conform-%d-%d", os.Getpid(), i)
		l.addr[i] = fmt.Sprintf("198.18.91.%d", i+1)
	}
	var cmds []string
	for _, ns := range l.netns {
		cmds = append(cmds, "netns add "+ns, "-n "+ns+" link set lo up")
	}
	cmds = append(cmds, fmt.Sprintf("-n %s link add v0 type veth peer name v0 netns %s", l.netns[0], l.netns[1]))
	for i, ns := range l.netns {
		cmds = append(cmds, fmt.Sprintf("-n %s addr add %s/24 dev v0", ns, l.addr[i]),
			fmt.Sprintf("-n %s link set v0 up", ns))
	}
	for _, c := range cmds {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			l.remove()
			return fmt.Errorf("ip %s: %w: %s", c, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// remove removes the namespaces.
func (l *link) remove() {
	for _, ns := range l.netns {
		if ns != "" {
			// A namespace that was never made cannot be removed.
			_ = exec.Command("ip", "netns", "del", ns).Run()
		}
	}
}

// command returns a command of one end.
func (l *link) command(ctx context.Context, end int, dir string, argv ...string) *exec.Cmd {
	if ns := l.netns[end]; ns != "" {
		argv = append([]string{"ip", "netns", "exec", ns}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "GORXE_SOCKET="+filepath.Join(dir, "programs.sock"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// readyLimit limits the time until the daemon is ready.
const readyLimit = 15 * time.Second

// daemon starts gorxe's daemon and waits until it serves programs.
func (l *link) daemon(ctx context.Context, m *machine.Options, c Column, dir string) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	d := l.command(ctx, 0, dir, m.Gorxe, "daemon", "--device", l.addr[0]+",link="+c.Link, "--perftest=false",
		"--pingpong=false", "--control-socket", filepath.Join(dir, "control.sock"))
	var log transcript.Buffer
	d.Stdout, d.Stderr = &log, &log
	if err := d.Start(); err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(readyLimit)
	for err == nil {
		if _, e := os.Stat(filepath.Join(dir, "programs.sock")); e == nil {
			return func() { cancel(); <-ended }, nil
		}
		select {
		case <-tick.C:
		case e := <-ended:
			cancel()
			err := fmt.Errorf("the daemon ended: %w: %s", e, transcript.LastLines(log.String()))
			if c.Link != "udp" {
				return nil, &leftError{err.Error()} // the host may not permit the link
			}
			return nil, err
		case <-late:
			err = fmt.Errorf("the daemon is not ready after %v: %s", readyLimit, transcript.LastLines(log.String()))
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	cancel()
	<-ended
	return nil, err
}

// onHost runs gorxe conform once.
func (o *Options) onHost(ctx context.Context, m *machine.Options, c Column, l *link,
	dir string, n int) (*report.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start, kind := m.Gorxe+" run --", "udp"
	if l.netns[0] != "" {
		start, kind = "ip netns exec "+l.netns[0]+" "+start, "raw"
	}
	t := l.command(ctx, 1, dir, append([]string{m.Gorxe}, o.arguments(c, l.addr[0], l.addr[1], kind, start, "0")...)...)
	return o.read(m, c, n, func(out, log io.Writer) error {
		t.Stdout, t.Stderr = out, log
		err := t.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && ctx.Err() == nil {
			return nil // a case failed
		}
		return err
	})
}
