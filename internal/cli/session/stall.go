package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// Why traffic that stands still is given up. errors.Is finds them in what a run returns.
var (
	errNoReceives = errors.New("the peer posts no receives")
	ErrSilence    = errors.New("nothing comes from the peer")
)

// ExplainStandstill adds to the reason why a run was given up what the peer must be. Other errors stay as they are.
func ExplainStandstill(err error, service verbs.QPType, peer string) error {
	for _, cause := range []error{ErrPeerGone, ErrPeerDead, errNoReceives, ErrSilence} {
		switch {
		case !errors.Is(err, cause):
		case cause == ErrSilence && service != verbs.RC:
			return fmt.Errorf("%w: it has ended, or a message was lost, which %v does not send again, or the peer is not %s with the same parameters", cause, service, peer)
		case cause == ErrSilence:
			return fmt.Errorf("%w: it has ended, or it is not %s with the same parameters", cause, peer)
		case cause == ErrPeerDead:
			return cause
		default:
			return fmt.Errorf("%w: it must be %s with the same parameters", cause, peer)
		}
	}
	return err
}

// ErrPeerDead is why traffic ends when the peer does not answer KeepAlive.
var ErrPeerDead = errors.New("the peer has ended or is out of reach: it does not answer any more")

// A peer that runs another test, or was killed while it was its turn, would leave this end waiting for ever, so
// standstill is looked for.
const (
	stallCheck    = 500 * time.Millisecond
	refusalLimit  = 10 * time.Second // without progress, while the peer has no receives
	SilenceLimit  = 30 * time.Second // without progress and without a packet, where something else tells that the peer is gone
	silenceInTurn = 2 * time.Second
)

// SilenceFor is how long a peer may be silent whose only sign of life is its next message. It may have to fill or to check
// a long message first.
func SilenceFor(size int) time.Duration {
	const bytesPerSecond = 100 << 20
	return silenceInTurn + time.Duration(size)*time.Second/bytesPerSecond
}

// Standing is how far traffic has come: completed messages, RNR NAKs received, packets received.
type Standing struct{ Progress, refused, packets uint64 }

// Add adds the RNR NAKs and the received packets of a queue pair.
func (s *Standing) Add(qp *verbs.QP) {
	c := qp.Counters()
	s.refused += c.RNRNAKsTaken
	s.packets += c.ReceivedPackets
}

// WatchProgress cancels a run when the peer has no receives for what this end sends, or is silent for so long. It counts
// looks, not time: a program that was stopped for a while has not waited. The returned function ends the watch and must
// be called.
func WatchProgress(ctx context.Context, cancel context.CancelCauseFunc, silence time.Duration, now func() Standing) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(stallCheck)
		defer tick.Stop()
		last, moved := now(), now() // at the last look, at the last progress
		for silent, waiting := 0, 0; ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			s := now()
			silent++
			waiting++
			if s.Progress != last.Progress {
				silent, waiting, moved = 0, 0, s
			}
			if s.packets != last.packets {
				silent = 0
			}
			last = s
			switch {
			case waiting >= int(refusalLimit/stallCheck) && s.refused != moved.refused:
				cancel(errNoReceives)
				return
			case silent >= int(silence/stallCheck):
				cancel(ErrSilence)
				return
			}
		}
	})
	return func() {
		end()
		watching.Wait()
	}
}

// ErrPeerGone is why traffic ends when the peer's TCP connection does.
var ErrPeerGone = errors.New("the peer ended the test; look at its output")
