package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Ends of processes that do not belong to one end: to both, and to none, which is not measured.
const (
	bothEnds = Client + 1
	noEnd    = Client + 2
)

// daemon is a gorxe daemon that owns the device of one end, or of both.
type daemon struct {
	*process
	ends int // Server, Client or bothEnds
}

// daemons are the daemons of a job.
type daemons []daemon

// startDaemons starts the daemons that a job needs and returns when they serve programs. In case
// of an error it also returns those that were started.
func (n namespaces) startDaemons(ctx context.Context, j *Job) (ds daemons, err error) {
	if !j.Daemons() {
		return nil, nil
	}
	defer func() {
		for _, d := range ds {
			j.start(d.ends, d.cmd)
		}
	}()
	if j.Contest.OneHost {
		err = ds.start(ctx, n.shared, j.daemonArgv(Server), n.dir, bothEnds)
		return ds, err
	}
	for end, h := range n.hosts {
		if end == Server && j.Alone() {
			continue
		}
		if err := ds.start(ctx, h, j.daemonArgv(end), n.dir, end); err != nil {
			return ds, err
		}
	}
	return ds, nil
}

// start starts a daemon on a host. dir is the directory for the socket on which the daemon
// reports that it is ready.
func (ds *daemons) start(ctx context.Context, h *host, argv []string, dir string, ends int) error {
	name := filepath.Join(dir, "ready")
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer os.Remove(name)
	defer ready.Close()
	p, err := startOn(ctx, h, argv, "NOTIFY_SOCKET="+name)
	if err != nil {
		return err
	}
	*ds = append(*ds, daemon{p, ends})
	if err := ready.SetReadDeadline(time.Now().Add(readyLimit)); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-p.done:
			ready.Close() // ends the wait
		case <-stop:
		}
	}()
	var b [64]byte
	m, err := ready.Read(b[:])
	switch {
	case err == nil && string(b[:m]) == "READY=1":
		return nil
	case errors.Is(err, net.ErrClosed):
		return fmt.Errorf("daemon: %w", cmp.Or(p.failure(ctx), errors.New("it ended before it was ready")))
	case err == nil:
		return fmt.Errorf("daemon: it says %q, want READY=1", b[:m])
	}
	return fmt.Errorf("daemon: it is not ready after %v: %w", readyLimit, err)
}

// end ends the daemons. A daemon that does not end when asked is killed, which is an error.
func (ds daemons) end() error {
	var errs []error
	for _, d := range ds {
		// The only error is that the process has ended.
		_ = terminate(d.cmd)
		select {
		case <-d.done:
			if err := d.failure(context.Background()); err != nil {
				errs = append(errs, fmt.Errorf("daemon: %w", err))
			}
		case <-time.After(partLimit):
			_ = endGroup(d.cmd)
			<-d.done
			errs = append(errs, fmt.Errorf("daemon: it goes on %v after it was asked to end", partLimit))
		}
	}
	return errors.Join(errs...)
}
