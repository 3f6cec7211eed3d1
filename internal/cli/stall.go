package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe"
)

// Why traffic that stands still is given up. errors.Is finds them in what a run returns.
var (
	errNoReceives = errors.New("the peer posts no receives")
	errSilence    = errors.New("nothing comes from the peer")
)

// explainStandstill adds to the reason why a run was given up what the peer must be. Other errors stay as they are.
func explainStandstill(err error, service gorxe.QPType, peer string) error {
	for _, cause := range []error{errPeerGone, errNoReceives, errSilence} {
		switch {
		case !errors.Is(err, cause):
		case cause == errSilence && service != gorxe.RC:
			return fmt.Errorf("%w: a message was lost, which %v does not send again, or the peer is not %s with the same parameters", cause, service, peer)
		default:
			return fmt.Errorf("%w: it must be %s with the same parameters", cause, peer)
		}
	}
	return err
}

// A peer that runs another test, or was killed while it was its turn, would leave this end waiting for ever, so
// standstill is looked for.
const (
	stallCheck   = 10 * time.Second
	silentChecks = 3 // without progress and without a packet
)

// standing is how far traffic has come: messages that are through, RNR NAKs taken, packets received.
type standing struct{ progress, refused, packets uint64 }

func (s *standing) add(qp *gorxe.QP) {
	c := qp.Counters()
	s.refused += c.RNRNAKsTaken
	s.packets += c.ReceivedPackets
}

// watchProgress cancels a run when the peer has no receives for what this end sends, or is silent. The returned function
// ends the watch and must be called.
func watchProgress(ctx context.Context, cancel context.CancelCauseFunc, now func() standing) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(stallCheck)
		defer tick.Stop()
		last := now()
		for silent := 0; ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			s := now()
			switch {
			case s.progress != last.progress:
				silent = 0
			case s.refused != last.refused:
				cancel(errNoReceives)
				return
			case s.packets != last.packets:
				silent = 0
			default:
				if silent++; silent == silentChecks {
					cancel(errSilence)
					return
				}
			}
			last = s
		}
	})
	return func() {
		end()
		watching.Wait()
	}
}
