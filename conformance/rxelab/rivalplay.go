package rxelab

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/tools/bench"
)

// Play implements bench.Ground.
func (p *pairOfMachines) Play(ctx context.Context, j *bench.Job) (bench.Played, error) {
	before, err := p.used()
	if err != nil {
		return bench.Played{}, err
	}
	_, lostBefore := p.cable.Counts()
	server, client := p.program(j, bench.Server), p.program(j, bench.Client)
	err = p.converse(ctx, j, server, client)
	after, uerr := p.used()
	if errors.Is(err, errLost) {
		p.lost(err)
	}
	for i, s := range p.sides {
		for _, bug := range s.complaints() {
			err = errors.Join(err, fmt.Errorf("the kernel of machine %d complained: %s", i, bug))
		}
	}
	if _, lost := p.cable.Counts(); err == nil && j.Contest.Loss > 0 && lost == lostBefore {
		err = errors.New("the cable lost nothing")
	}
	if err == nil && j.Profile != "" {
		err = p.fetchProfiles(ctx, j)
	}
	played := bench.Played{Out: []byte(client.out.String()), Beside: after.lab - before.lab}
	for i := range played.CPU {
		played.CPU[i] = after.machine[i] - before.machine[i]
	}
	return played, errors.Join(err, uerr)
}

// cpuTimes are what the machines and this process have used.
type cpuTimes struct {
	machine [2]time.Duration
	lab     time.Duration
}

func (p *pairOfMachines) used() (t cpuTimes, err error) {
	for i, s := range p.sides {
		var merr error
		t.machine[i], merr = s.vm.CPU()
		err = errors.Join(err, merr)
	}
	var lerr error
	t.lab, lerr = vm.ProcessTime(os.Getpid())
	return t, errors.Join(err, lerr)
}

// program is one end of a job.
func (p *pairOfMachines) program(j *bench.Job, end int) *program {
	out := &program{argv: j.Argv(end), name: "the server"}
	if end == bench.Client {
		out.name = "the client"
	}
	if j.Gorxe(end) {
		out.in = sideNetns
	}
	return out
}

// converse lets the two ends talk.
func (p *pairOfMachines) converse(ctx context.Context, j *bench.Job, server, client *program) error {
	limit := j.Limit()
	if j.Profile != "" {
		for _, s := range p.sides {
			if _, err := s.vm.Run(ctx, "mkdir", "-p", filepath.Dir(j.Profile)); err != nil {
				return err
			}
		}
	}
	if err := server.start(p.sides[bench.Server].vm.Session, limit+timeoutBase+graceDone, j.Port); err != nil {
		return errLost
	}
	select {
	case <-server.p.Ready():
	case <-server.p.Done():
		return fmt.Errorf("the server ended before its client came: %w", server.failure())
	case <-time.After(timeoutBase):
		return errors.Join(fmt.Errorf("the server does not listen after %v: %s", timeoutBase, lastLines(server.log.String())), reap(server))
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), reap(server))
	}
	if err := client.start(p.sides[bench.Client].vm.Session, limit, 0); err != nil {
		return errLost
	}
	select {
	case <-client.p.Done():
	case <-time.After(limit + graceKill):
		return errLost
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), reap(client), reap(server))
	}
	grace := graceDone
	if client.failure() != nil {
		grace = graceFailed
	}
	select {
	case <-server.p.Done():
		return errors.Join(client.failure(), server.failure())
	case <-time.After(grace):
		return errors.Join(client.failure(), fmt.Errorf("the server goes on %v after its client: %s", grace, lastLines(server.log.String())), reap(server))
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), reap(server))
	}
}

// fetchProfiles brings the profiles of gorxe's ends to the host, under the names that they have in the machine.
func (p *pairOfMachines) fetchProfiles(ctx context.Context, j *bench.Job) error {
	for i, s := range p.sides {
		if !j.Gorxe(i) {
			continue
		}
		file := j.ProfileOf(i)
		text, err := s.vm.Run(ctx, "base64", "-w", "0", file)
		if err != nil {
			return err
		}
		data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
