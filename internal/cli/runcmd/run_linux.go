//go:build linux && (amd64 || arm64)

package runcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/programs"
	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/packet"
)

// run runs a program on a device until it and all its descendants have ended.
func run(ctx context.Context, a *app.App, p *params, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		fmt.Fprintln(a.Stderr, "gorxe: "+app.OneLine(err))
		return &app.StatusError{Code: notStarted(err)}
	}
	if trap.Nested() {
		// The outer gorxe run serves the program.
		return fmt.Errorf("executing %s: %w", path, syscall.Exec(path, argv, os.Environ()))
	}
	if err := trap.Probe(); err != nil {
		return err
	}
	host, end, err := openHost(ctx, a, p)
	if err != nil {
		return err
	}
	status, err := serve(host, trap.Command{Path: path, Args: argv, Subreaper: true})
	if err := errors.Join(err, end()); err != nil {
		return err
	}
	return exitStatus(status)
}

// openHost returns the host that serves the program, and a function that closes it.
func openHost(ctx context.Context, a *app.App, p *params) (host *programs.Host, end func() error, err error) {
	log := slog.New(slog.NewTextHandler(a.Stderr, nil))
	if !p.alone {
		c, err := connect(ctx, a, p)
		if err != nil {
			return nil, nil, err
		}
		if host, err = programs.NewRemoteHost(c, p.name, log); err != nil {
			return nil, nil, err
		}
		told := make(chan struct{})
		go func() {
			defer close(told)
			switch err := c.Err(); {
			case errors.Is(err, io.EOF):
				fmt.Fprintln(a.Stderr, "gorxe: the daemon has ended: RDMA calls of the program fail from now on")
			case err != nil:
				fmt.Fprintf(a.Stderr, "gorxe: the daemon is lost, so RDMA calls of the program fail from now on: %s\n",
					app.OneLine(err))
			}
		}()
		return host, func() error {
			err := host.Close()
			<-told // the program may end before the message about the daemon is printed
			return err
		}, nil
	}
	name, err := p.choose(a)
	if err != nil {
		return nil, nil, err
	}
	// A device that follows the host waits for a missing interface, but a user who starts a
	// program expects an error.
	if _, _, _, err := packet.HostAddrs(name); err != nil {
		return nil, nil, err
	}
	p.device.Follow = true
	dev, err := a.OpenDevice(&p.device, name)
	if err != nil {
		return nil, nil, err
	}
	if host, err = programs.NewHost(dev, p.name, log); err != nil {
		return nil, nil, errors.Join(err, dev.Close())
	}
	return host, func() error { return errors.Join(host.Close(), dev.Close()) }, nil
}

// serve starts the program and answers its calls.
func serve(host *programs.Host, c trap.Command) (status syscall.WaitStatus, err error) {
	// Signals of the terminal also reach the program; other signals are sent to this process only.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // ignored under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	proc, listener, err := trap.Start(c)
	if err != nil {
		return 0, err
	}
	server, err := host.Serve(listener, proc.Descriptors)
	if err = errors.Join(err, listener.Close()); err != nil {
		return 0, errors.Join(err, proc.Signal(syscall.SIGKILL))
	}
	defer server.Close()
	go forward(signals, proc)
	status = proc.Status()
	<-server.Done()
	proc.Wait()
	return status, proc.Err()
}

// forward forwards signals until the program has ended.
func forward(signals <-chan os.Signal, proc *trap.Process) {
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				_ = proc.Signal(s.(syscall.Signal)) // the program may have ended
			}
		case <-proc.Exited():
			return
		}
	}
}

// notStarted returns the exit status of a program that was not started, as a shell reports it.
func notStarted(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return 127
	}
	return 126
}

// exitStatus returns the exit status as a shell reports it.
func exitStatus(s syscall.WaitStatus) error {
	switch {
	case s.Signaled():
		return &app.StatusError{Code: 128 + int(s.Signal())}
	case s.ExitStatus() != 0:
		return &app.StatusError{Code: s.ExitStatus()}
	}
	return nil
}
