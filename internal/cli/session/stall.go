package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// Reasons to end traffic without progress. They are wrapped in the error of a run.
var (
	errNoReceives = errors.New("the peer posts no receives")
	ErrSilence    = errors.New("the peer is silent")
)

// ExplainStandstill adds the required peer to an error of WatchProgress. It returns other errors
// unchanged.
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

// ErrPeerDead ends traffic when the peer does not respond to KeepAlive.
var ErrPeerDead = errors.New("the peer has ended or is unreachable: it no longer responds")

// Limits of WatchProgress. Without it, this end would wait forever for a peer that runs another
// test, or that was killed before it sent its message.
const (
	stallCheck   = 500 * time.Millisecond
	refusalLimit = 10 * time.Second // without progress, while the peer has no receives
	// SilenceLimit is the maximum time without progress and without a packet, if other means
	// detect that the peer is gone.
	SilenceLimit  = 30 * time.Second
	silenceInTurn = 2 * time.Second // while it is the peer's turn to send
)

// SilenceFor returns the maximum silence of a peer whose next message is the only sign that it is
// alive. The peer may have to fill or to check a message of size bytes first.
func SilenceFor(size int) time.Duration {
	const bytesPerSecond = 100 << 20
	return silenceInTurn + time.Duration(size)*time.Second/bytesPerSecond
}

// Snapshot is the progress of traffic: numbers of completed messages, of RNR NAKs received and of
// packets received.
type Snapshot struct{ Progress, refused, packets uint64 }

// Add adds the RNR NAKs and the received packets of a queue pair.
func (s *Snapshot) Add(qp *verbs.QP) {
	c := qp.Counters()
	s.refused += c.RNRNAKsTaken
	s.packets += c.ReceivedPackets
}

// WatchProgress cancels a run when the peer has no receives for what this end sends, or has been
// silent for the given time. It counts its checks, not time, so a program that was stopped for a
// while is not cancelled. The returned function stops the watch and must be called.
func WatchProgress(ctx context.Context, cancel context.CancelCauseFunc, silence time.Duration,
	now func() Snapshot) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(stallCheck)
		defer tick.Stop()
		last, moved := now(), now() // at the last check, at the last progress
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

// ErrPeerGone ends traffic when the peer's TCP connection ends.
var ErrPeerGone = errors.New("the peer ended the test; look at its output")
