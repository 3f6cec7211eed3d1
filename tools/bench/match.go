package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// match is one run of a tool at both ends.
type match struct {
	hosts [2]*host
	argv  [2][]string
	alone bool // there is no server
	stays bool // the server does not end with its client
	port  int
	limit time.Duration
	// started, if not nil, is called with each process and its end.
	started func(end int, c *exec.Cmd)
	used    [2]time.Duration // processor time of the server and of the client
}

const (
	// readyLimit is the time within which a server must listen.
	readyLimit = 10 * time.Second
	// partLimit is the time within which a server must end after its client.
	partLimit = 5 * time.Second
)

// process is a program on a host.
type process struct {
	cmd      *exec.Cmd
	out, log bytes.Buffer
	done     chan struct{}
	// Valid once done is closed.
	err  error
	used time.Duration // processor time, including that of child processes it has waited for
}

// startOn starts a program on a host.
func startOn(ctx context.Context, h *host, argv []string, env ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), done: make(chan struct{})}
	if len(env) > 0 {
		p.cmd.Env = append(os.Environ(), env...)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	p.cmd.Cancel = func() error { return endGroup(p.cmd) }
	p.cmd.WaitDelay = partLimit
	if err := h.start(p.cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
		p.used = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}()
	return p, nil
}

// play runs the tool and returns the client's output.
func (m *match) play(parent context.Context) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(parent, m.limit)
	defer cancel()
	var server *process
	if !m.alone {
		if server, err = m.start(ctx, Server); err != nil {
			return nil, err
		}
		defer func() {
			if e := m.end(server, err == nil); err == nil {
				err = e
			}
			m.used[Server] = server.used
		}()
		if err := m.ready(ctx, server); err != nil {
			return nil, err
		}
	}
	client, err := m.start(ctx, Client)
	if err != nil {
		return nil, err
	}
	<-client.done
	m.used[Client] = client.used
	if err := client.failure(ctx); err != nil {
		err = fmt.Errorf("client: %w", err)
		if m.alone {
			return nil, err
		}
		// The server may report the reason for which the client failed.
		select {
		case <-server.done:
			err = errors.Join(err, server.failure(ctx))
		default:
		}
		return nil, err
	}
	return client.out.Bytes(), nil
}

// start starts the process of an end.
func (m *match) start(ctx context.Context, end int) (*process, error) {
	p, err := startOn(ctx, m.hosts[end], m.argv[end])
	if err == nil && m.started != nil {
		m.started(end, p.cmd)
	}
	return p, err
}

// ready waits until the server listens.
func (m *match) ready(ctx context.Context, server *process) error {
	late := time.After(readyLimit)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		listens, err := m.hosts[Server].listens(m.port)
		if err != nil || listens {
			return err
		}
		select {
		case <-look.C:
		case <-server.done:
			return fmt.Errorf("server: %w", cmp.Or(server.failure(ctx), errors.New("it ended before its client came")))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return fmt.Errorf("server: it does not listen on TCP port %d after %v", m.port, readyLimit)
		}
	}
}

// end ends a server. well means that the client succeeded: then a server of one client must end by
// itself within partLimit.
func (m *match) end(server *process, well bool) error {
	if well && !m.stays {
		select {
		case <-server.done:
			if err := server.failure(context.Background()); err != nil {
				return fmt.Errorf("server: %w", err)
			}
			return nil
		case <-time.After(partLimit):
		}
	}
	// The only error is that the process has ended.
	_ = endGroup(server.cmd)
	<-server.done
	if well && !m.stays {
		return fmt.Errorf("server: it went on for %v after its client had ended", partLimit)
	}
	return nil
}

// failure returns the reason for which a process that has ended failed, with its last output, nil
// if it succeeded.
func (p *process) failure(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.err == nil {
		return nil
	}
	said := strings.TrimSpace(p.log.String())
	if said == "" {
		said = strings.TrimSpace(p.out.String())
	}
	lines := strings.Split(said, "\n")
	return fmt.Errorf("%w: %s", p.err, strings.Join(lines[max(0, len(lines)-3):], "; "))
}
