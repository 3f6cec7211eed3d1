package packet

import "net/netip"

// Recv does to what is received what the configuration says. A frame waits for others of its batch at most.
// A duplicate is the same Data again.
func (l *FaultLink) Recv(rb *RecvBatch) error { return l.recv(l.Link, rb) }

// Join lets what comes to the group meet the faults in what is received.
func (l *FaultLink) Join(group netip.Addr) (Receiver, error) {
	r, err := Join(l.Link, group)
	if err != nil {
		return nil, err
	}
	return &faultReceiver{r, l}, nil
}

type faultReceiver struct {
	Receiver
	link *FaultLink
}

func (r *faultReceiver) Stats() Stats { return StatsOf(r.Receiver) }

func (r *faultReceiver) Recv(rb *RecvBatch) error { return r.link.recv(r.Receiver, rb) }

func (l *FaultLink) recv(from Receiver, rb *RecvBatch) error {
	for {
		if err := from.Recv(rb); err != nil || l.rx.idle() {
			return err
		}
		l.harm(rb)
		if len(rb.Frames) > 0 {
			return nil
		}
	}
}

func (l *FaultLink) harm(rb *RecvBatch) {
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
			late = append(late, lateFrame{frame: f, pass: ft.span})
			if ft.duplicate {
				late = append(late, lateFrame{frame: f, pass: ft.span})
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
