package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cmsg"
)

// starting is a device with programs that do not always start.
type starting struct {
	listening
	starts string // of each start in turn: 's' starts, 'f' does not, 'g' ends when its traffic must begin
	begun  int    // starts so far
}

func (d *starting) Open(context.Context, conformance.Program, conformance.Local) (conformance.Peer, error) {
	how := d.starts[d.begun]
	d.begun++
	if how == 'f' {
		return nil, errors.New("no space left")
	}
	return &started{d.listening, how}, nil
}

// started is a program.
type started struct {
	listening
	how byte
}

func (p *started) Go() error {
	if p.how == 'g' {
		return errors.New("connection reset")
	}
	return nil
}

func TestACaseWhoseProgramDoesNotStartIsRunTwice(t *testing.T) {
	const again = "run again, because a program did not start: ib_write_bw: "
	for _, c := range []struct{ starts, want string }{
		{"ssss", "pass pass pass pass"},
		{"sfsss", "pass pass+no space left pass pass"},
		{"sgsss", "pass pass+connection reset pass pass"},
		{"sffsfs", "pass inconclusive pass pass+no space left"},
		{"sfffs", "pass inconclusive inconclusive pass"},
		{"ffffff", "inconclusive inconclusive inconclusive inconclusive"},
	} {
		d := &starting{starts: c.starts + "s"}
		r := &conformance.Runner{Device: d, Link: newManager(func(*cmsg.MAD, func(*cmsg.MAD)) {}),
			Timeout: time.Second, Silence: time.Millisecond}
		var all []*conformance.Case
		for i := range 4 {
			all = append(all, &conformance.Case{ID: fmt.Sprint("psn/", i), Program: conformance.WriteServer,
				Run: func(t *conformance.T) {
					c := t.Connect()
					c.Send(c.Packet(bth.RCAck, 0))
					c.Go()
				}})
		}
		var got []string
		for _, x := range r.Run(t.Context(), all) {
			s := x.Verdict.String()
			for _, p := range x.Packets {
				if notes := strings.Join(p.Notes, " "); notes != "" {
					s += "+" + strings.TrimPrefix(notes, "the case was "+again)
				}
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("programs %s:\n%s, want\n%s", c.starts, s, c.want)
		}
	}
}
