package rival

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
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
	if errors.Is(err, machine.ErrLost) {
		p.lost(err)
	}
	for i, s := range p.sides {
		for _, bug := range s.Complaints() {
			err = errors.Join(err, fmt.Errorf("the kernel of machine %d complained: %s", i, bug))
		}
	}
	if _, lost := p.cable.Counts(); err == nil && j.Contest.Loss > 0 && lost == lostBefore {
		err = errors.New("the cable lost nothing")
	}
	if err == nil && j.Profile != "" {
		err = p.fetchProfiles(ctx, j)
	}
	played := bench.Played{Out: []byte(client.Out.String()), Beside: after.lab - before.lab}
	for i := range played.CPU {
		played.CPU[i] = after.machine[i] - before.machine[i]
	}
	return played, errors.Join(err, uerr)
}

// cpuTimes holds the processor time of the machines and of this process.
type cpuTimes struct {
	machine [2]time.Duration
	lab     time.Duration
}

func (p *pairOfMachines) used() (t cpuTimes, err error) {
	for i, s := range p.sides {
		var merr error
		t.machine[i], merr = s.VM.CPU()
		err = errors.Join(err, merr)
	}
	var lerr error
	t.lab, lerr = vm.ProcessTime(os.Getpid())
	return t, errors.Join(err, lerr)
}

// program returns one end of a job.
func (p *pairOfMachines) program(j *bench.Job, end int) *machine.Program {
	out := &machine.Program{Argv: j.Argv(end), Name: "the server"}
	if end == bench.Client {
		out.Name = "the client"
	}
	if j.Gorxe(end) {
		out.In = sideNetns
	}
	return out
}

// converse runs the two ends.
func (p *pairOfMachines) converse(ctx context.Context, j *bench.Job, server, client *machine.Program) error {
	limit := j.Limit()
	if j.Profile != "" {
		for _, s := range p.sides {
			if _, err := s.VM.Run(ctx, "mkdir", "-p", filepath.Dir(j.Profile)); err != nil {
				return err
			}
		}
	}
	if err := server.Start(p.sides[bench.Server].VM.Session, limit+cell.TimeoutBase+machine.GraceDone,
		j.Port); err != nil {
		return machine.ErrLost
	}
	select {
	case <-server.Process.Ready():
	case <-server.Process.Done():
		return fmt.Errorf("the server ended before its client came: %w", server.Failure())
	case <-time.After(cell.TimeoutBase):
		return errors.Join(fmt.Errorf("the server does not listen after %v: %s", cell.TimeoutBase,
			transcript.LastLines(server.Log.String())), machine.Reap(server))
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), machine.Reap(server))
	}
	if err := client.Start(p.sides[bench.Client].VM.Session, limit, 0); err != nil {
		return machine.ErrLost
	}
	select {
	case <-client.Process.Done():
	case <-time.After(limit + machine.GraceKill):
		return machine.ErrLost
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), machine.Reap(client), machine.Reap(server))
	}
	grace := machine.GraceDone
	if client.Failure() != nil {
		grace = machine.GraceFailed
	}
	select {
	case <-server.Process.Done():
		return errors.Join(client.Failure(), server.Failure())
	case <-time.After(grace):
		return errors.Join(client.Failure(), fmt.Errorf("the server goes on %v after its client: %s", grace,
			transcript.LastLines(server.Log.String())), machine.Reap(server))
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), machine.Reap(server))
	}
}

// fetchProfiles copies the profiles of gorxe's ends to the host, under the same names as in the
// machine.
func (p *pairOfMachines) fetchProfiles(ctx context.Context, j *bench.Job) error {
	for i, s := range p.sides {
		if !j.Profiled(i) {
			continue
		}
		file := j.ProfileOf(i)
		text, err := s.VM.Run(ctx, "base64", "-w", "0", file)
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
