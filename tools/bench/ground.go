package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Ground is two hosts and a path between them, on which a run measures.
type Ground interface {
	// Describe adds the path to the description of the machine.
	Describe(m *Machine)
	// Prepare prepares the hosts and the path for a job, and fills in its ends.
	Prepare(ctx context.Context, j *Job) error
	// Play makes one measurement: it starts the server with its Argv and, once the server
	// listens, the client.
	Play(ctx context.Context, j *Job) (Played, error)
}

// Played is the outcome of a measurement.
type Played struct {
	Out    []byte           // output of the client
	CPU    [2]time.Duration // processor time of the server and of the client
	Shared time.Duration    // processor time of a daemon that owned the device of both ends
	Beside time.Duration    // processor time of processes of the ground, such as the busy neighbour
}

// namespaces is a [Ground] in network namespaces of this host.
type namespaces struct{ *ground }

func (n namespaces) Describe(m *Machine) {
	m.MTU = mtu
	for i, h := range n.hosts {
		m.CoreOf[i], m.PerEnd = h.cores[0], len(h.cores)
	}
}

func (n namespaces) Prepare(_ context.Context, j *Job) error {
	if j.Contest.Loss != 0 {
		return errors.New("a veth pair loses nothing: tell gorxe to, with --fault-in")
	}
	for i := range j.Ends {
		at := i
		if j.Contest.OneHost {
			at = Server
		}
		j.Ends[i].Address = addresses[at]
		if j.Daemons() {
			j.Ends[i].Socket = filepath.Join(n.dir, [...]string{"server", "client"}[at])
		}
	}
	return nil
}

// hostsOf returns the hosts of a job's ends.
func (n namespaces) hostsOf(j *Job) [2]*host {
	if j.Contest.OneHost {
		return n.inside
	}
	return n.hosts
}

func (n namespaces) Play(ctx context.Context, j *Job) (Played, error) {
	ds, err := n.startDaemons(ctx, j)
	if err != nil {
		_ = ds.end() // the cause is in err
		return Played{}, err
	}
	var neighbour *process
	if j.Who.Busy {
		if neighbour, err = startOn(ctx, n.hostsOf(j)[Server], []string{j.bench, "busy"}); err != nil {
			return Played{}, errors.Join(err, ds.end())
		}
		j.start(noEnd, neighbour.cmd)
	}
	m := &match{
		hosts: n.hostsOf(j), argv: [2][]string{j.Argv(Server), j.Argv(Client)}, alone: j.Alone(), stays: j.Stays(),
		port: j.Port, limit: j.Limit(), started: j.start,
	}
	out, err := m.play(ctx)
	p := Played{Out: out, CPU: m.used}
	if neighbour != nil {
		_ = endGroup(neighbour.cmd)
		<-neighbour.done
		p.Beside = neighbour.used
	}
	err = errors.Join(err, ds.end())
	for _, d := range ds {
		if d.ends == bothEnds {
			p.Shared += d.used
		} else {
			p.CPU[d.ends] += d.used
		}
	}
	return p, err
}

// Run makes all measurements between two network namespaces of this host. It cleans up, also when
// ctx ends.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.valid(); err != nil {
		return nil, err
	}
	g, err := newGround(o.Cores, o.PerEnd)
	if err != nil {
		return nil, err
	}
	r, err := Measure(ctx, o, namespaces{g})
	if err = errors.Join(err, g.close()); err != nil {
		return nil, err
	}
	r.Machine.Revision = revisionOf(o.Gorxe)
	return r, nil
}

// valid returns an error if the options are not usable.
func (o *Options) valid() error {
	for i := range o.Contests {
		if err := o.Contests[i].Valid(); err != nil {
			return err
		}
	}
	if o.Rounds < 1 || o.Seconds < 1 {
		return fmt.Errorf("%d rounds of %d seconds: want 1 of 1 at least", o.Rounds, o.Seconds)
	}
	return nil
}
