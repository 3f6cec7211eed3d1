package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Ground is two hosts and a path between them, on which a run measures.
type Ground interface {
	// Describe adds the path to the description of the machine.
	Describe(m *Machine)
	// Prepare makes the hosts and the path ready for a job, and fills in its ends.
	Prepare(ctx context.Context, j *Job) error
	// Play makes one measurement: it starts what Argv says of the server and then, when that listens, of the client.
	Play(ctx context.Context, j *Job) (Played, error)
}

// Played is what came of a measurement.
type Played struct {
	Out    []byte           // what the client printed
	CPU    [2]time.Duration // processor time of the server and of the client
	Beside time.Duration    // processor time that the ground itself took
}

// namespaces is a ground on this host.
type namespaces struct{ *ground }

func (n namespaces) Describe(m *Machine) {
	m.MTU = mtu
	for i, h := range n.hosts {
		m.CoreOf[i] = h.core
	}
}

func (n namespaces) Prepare(_ context.Context, j *Job) error {
	if j.Contest.Loss != 0 {
		return errors.New("a veth pair loses nothing: tell gorxe to, with --fault-in")
	}
	for i := range j.Ends {
		j.Ends[i].Address = addresses[i]
	}
	return nil
}

func (n namespaces) Play(ctx context.Context, j *Job) (Played, error) {
	m := &match{ground: n.ground, argv: [2][]string{j.Argv(Server), j.Argv(Client)}, stays: j.Stays(), port: j.Port, limit: j.Limit()}
	out, err := m.play(ctx)
	return Played{Out: out, CPU: m.used}, err
}

// Run measures everything between two network namespaces of this host, and cleans up, also when ctx ends.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.valid(); err != nil {
		return nil, err
	}
	g, err := newGround(o.Cores)
	if err != nil {
		return nil, err
	}
	defer g.close()
	r, err := Measure(ctx, o, namespaces{g})
	if err == nil {
		r.Machine.Revision = revisionOf(o.Gorxe)
	}
	return r, err
}

// valid says what is wrong with what is to be measured.
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
