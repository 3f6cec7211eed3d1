package fault

import (
	"net/netip"

	"github.com/gorxe/gorxe/packet"
)

// Recv receives frames from the wrapped link and applies the faults. A reordered frame waits only
// for other frames of its batch. A duplicate shares Data with the first copy.
func (l *Link) Recv(rb *packet.RecvBatch) error { return l.recv(l.Link, rb) }

// Join joins group. The Receiver applies the faults for incoming frames to the frames of the group.
func (l *Link) Join(group netip.Addr) (packet.Receiver, error) {
	r, err := packet.Join(l.Link, group)
	if err != nil {
		return nil, err
	}
	return &faultReceiver{r, l}, nil
}

type faultReceiver struct {
	packet.Receiver
	link *Link
}

func (r *faultReceiver) Stats() packet.Stats { return packet.StatsOf(r.Receiver) }

func (r *faultReceiver) Recv(rb *packet.RecvBatch) error { return r.link.recv(r.Receiver, rb) }

func (l *Link) recv(from packet.Receiver, rb *packet.RecvBatch) error {
	for {
		if err := from.Recv(rb); err != nil || l.rx.idle() {
			return err
		}
		l.injectRx(rb)
		if len(rb.Frames) > 0 {
			return nil
		}
	}
}

func (l *Link) injectRx(rb *packet.RecvBatch) {
	l.rxMu.Lock()
	defer l.rxMu.Unlock()
	out, late := l.spare[:0], l.late[:0]
	for _, f := range rb.Frames {
		ft := l.rx.next()
		if ft.drop {
			continue
		}
		if ft.corrupt {
			flip(f.Data, ft.bit)
		}
		if ft.mark {
			f.TrafficClass |= ecnCE
		}
		if ft.reorder {
			late = append(late, reorderedFrame{frame: f, pass: ft.span})
			if ft.duplicate {
				late = append(late, reorderedFrame{frame: f, pass: ft.span})
			}
			continue
		}
		out = append(out, f)
		if ft.duplicate {
			out = append(out, f)
		}
		waiting := late[:0]
		for _, w := range late {
			if w.pass--; w.pass == 0 {
				out = append(out, w.frame)
			} else {
				waiting = append(waiting, w)
			}
		}
		late = waiting
	}
	for _, w := range late {
		out = append(out, w.frame)
	}
	rb.Frames = append(rb.Frames[:0], out...)
	clear(out)
	clear(late)
	l.spare, l.late = out, late
}
