//go:build linux && (amd64 || arm64)

package runcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/host/netns"
	"github.com/gorxe/gorxe/internal/serve/broker"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"golang.org/x/sys/unix"
)

// startPatience is the maximum time for a daemon to start, including the end of its predecessor.
const startPatience = 30 * time.Second

// retryInterval is the time between two tries while another process starts or ends a daemon.
const retryInterval = 10 * time.Millisecond

// connect connects to the daemon with the requested device. The sockets of all network namespaces
// are in the same directories, so unless the user names the socket, the daemon must be in the
// network namespace of this process.
func connect(ctx context.Context, a *app.App, p *params) (*broker.Client, error) {
	request := broker.Request{Device: p.device.Interface}
	if path := cmp.Or(p.socket, os.Getenv(socketVariable)); path != "" {
		c, err := broker.Dial(ctx, path, request)
		if err != nil {
			return nil, explain(path, err)
		}
		return c, nil
	}
	var err error
	if request.NetNS, err = netns.ID(); err != nil {
		return nil, err
	}
	dir, dirErr := control.OwnDir()
	var passed []error // reasons against existing daemons, for the error if none can be started
	for _, path := range sockets(dirErr == nil) {
		c, err := broker.Dial(ctx, path, request)
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENODEV):
			passed = append(passed, explain(path, err))
		case !hasNoDevice(err):
			return nil, explain(path, err)
		}
	}
	if dirErr != nil {
		return nil, fmt.Errorf("no directory for the daemon's sockets (not needed with --no-daemon): %w", dirErr)
	}
	c, err := connectStarted(ctx, a, p, dir, request.NetNS)
	if err != nil {
		return nil, errors.Join(append([]error{err}, passed...)...)
	}
	return c, nil
}

// connectStarted connects to the daemon that gorxe run starts for the device in a network
// namespace.
func connectStarted(ctx context.Context, a *app.App, p *params, dir, ns string) (*broker.Client, error) {
	name, err := p.choose(a)
	if err != nil {
		return nil, err
	}
	if name, err = interfaceOf(a, name); err != nil {
		return nil, err // a daemon would wait for the interface instead of failing
	}
	s := &starter{
		request: broker.Request{Device: name, NetNS: ns}, idle: p.idle, dir: dir,
		socket: control.StartedSocket(name, ns),
	}
	return s.connect(ctx)
}

// interfaceOf returns the interface that has an address, so that all its addresses select the
// same daemon. It returns loopback addresses that no interface has unchanged.
func interfaceOf(a *app.App, name string) (string, error) {
	addrs, _, ifname, err := a.Addrs(name)
	if err != nil || ifname == "" || ifname == name {
		return name, err
	}
	all, _, _, err := a.Addrs(ifname)
	if err == nil && slices.Contains(all, addrs[0]) {
		return ifname, nil
	}
	return name, nil
}

// sockets returns the programs sockets of daemons that users have started: that of this user,
// unless other users can write to its directory (own is false), and [control.SystemPrograms].
func sockets(own bool) []string {
	mine := control.ProgramsSocket(control.DefaultSocket())
	if !own || mine == control.SystemPrograms {
		return []string{control.SystemPrograms}
	}
	return []string{mine, control.SystemPrograms}
}

// hasNoDevice reports whether an error means that there is no daemon, or that the daemon does not
// have the requested device.
func hasNoDevice(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, broker.ErrGone) ||
		errors.Is(err, unix.ENODEV)
}

// explain adds a remedy to the error of a daemon that cannot be used.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf(
			"no gorxe daemon answers at %s: start one with 'gorxe daemon'; without --socket and $%s gorxe run "+
				"starts one", path, socketVariable)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: you may not open it: see programs.mode and programs.group of the daemon's configuration",
			path)
	case errors.Is(err, unix.EPROTOTYPE):
		return fmt.Errorf("%s is not a programs socket; 'gorxe status' names that of a daemon", path)
	}
	return fmt.Errorf("the daemon at %s: %w", path, err)
}

// A starter connects to the daemon for one device of this user, and starts it if there is none.
type starter struct {
	request broker.Request
	idle    time.Duration
	dir     string // directory that only this user can access
	socket  string // control socket
}

func (s *starter) connect(ctx context.Context) (*broker.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	programs := control.ProgramsSocket(s.socket)
	c, err := broker.Dial(ctx, programs, s.request)
	if err == nil || !hasNoDevice(err) {
		return c, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for failed := false; ; {
		c, err := broker.Dial(ctx, programs, s.request)
		switch {
		case err == nil:
			return c, nil
		case !hasNoDevice(err):
			return nil, explain(programs, err)
		case s.ending():
			// The previous daemon has not released the device yet.
		default:
			if err = s.start(ctx); err == nil {
				continue
			}
			// The previous daemon may have ended just now, so only a second failure is final.
			if !s.ending() && failed {
				return nil, err
			}
			failed = true
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return nil, fmt.Errorf("the daemon at %s does not serve programs, and does not end: %w", s.socket, err)
		}
	}
}

// ending reports whether a daemon still has the control socket.
func (s *starter) ending() bool {
	c, err := net.Dial("unix", s.socket)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// lock prevents two processes of gorxe run from starting a daemon at the same time. The lock file
// is in a directory of this user alone.
func (s *starter) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(s.file("start", ".lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", f.Name(), err), f.Close())
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			err := fmt.Errorf("another gorxe run has been starting a daemon for %v (%s)", startPatience, f.Name())
			return nil, errors.Join(err, f.Close())
		}
	}
}

// file returns the path of a file for this device.
func (s *starter) file(name, ending string) string {
	return filepath.Join(s.dir, name+"-"+s.request.Device+"-"+s.request.NetNS+ending)
}

// start starts the daemon and waits until it is ready.
func (s *starter) start(ctx context.Context) error {
	log := s.file("daemon", ".log")
	c := exec.CommandContext(ctx, "/proc/self/exe", "daemonize", "--log", log, "--",
		"--control-socket", s.socket, "--device", s.request.Device, "--rping=false", "--perftest=false",
		"--pingpong=false",
		"--programs-idle", s.idle.String())
	c.Args[0] = "gorxe"
	var said strings.Builder
	c.Stderr = &said
	err := c.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("a daemon for %s is not ready after %v (its log is %s)", s.request.Device, startPatience, log)
	}
	why := strings.TrimPrefix(strings.TrimSpace(said.String()), "gorxe: ")
	if why == "" {
		why = err.Error()
	}
	return fmt.Errorf("a daemon for %s cannot be started: %s (its log is %s)", s.request.Device, why, log)
}
