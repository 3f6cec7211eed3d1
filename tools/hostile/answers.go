package hostile

import "github.com/gorxe/gorxe/bth"

// answers are responses to requests of the victim, mostly without a matching request. Meanwhile
// the victim's program may send requests to the flooder (Needs).
var answers = []Pattern{
	{Name: "ack-ghost", Description: "ACKs of what was never sent",
		Actor: Peer, Needs: Needs{Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.latest(i).Add(100_000+uint32(i)%1000), bth.AckUnlimited))
		}},
	{Name: "ack-stale", Description: "ACKs of what was acknowledged",
		Actor: Peer, Needs: Needs{Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.own(i).Sends.Sub(1+uint32(i)%1000), bth.AckUnlimited))
		}},
	{Name: "ack-one-by-one", Description: "an ACK for each packet, with ever other credits",
		Actor: Peer, Needs: Needs{Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.step(i), bth.Syndrome(i%31)))
		}},
	{Name: "nak-same", Description: "sequence NAKs for the oldest packet",
		Actor: Peer, Needs: Needs{Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.own(i).Sends, bth.NakPSNSequence))
		}},
	{Name: "nak-storm", Description: "sequence NAKs that acknowledge one packet each: the window is sent again for each",
		Actor: Peer, Needs: Needs{Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.step(i), bth.NakPSNSequence))
		}},
	{Name: "nak-storm-qps", Description: "the same at 16 queue pairs",
		Actor: Peer, Needs: Needs{QPs: 16, Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.step(i), bth.NakPSNSequence))
		}},
	{Name: "nak-implied", Description: "ACKs that pass a READ without its data, and then its first packet",
		Actor: Peer, Needs: Needs{Reads: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			if i%2 == 0 {
				p := f.answer(f.own(i), bth.RCReadResponseMiddle, f.step(i), bth.AckUnlimited)
				p.Payload = filler[:MTU]
				return f.sealed(p)
			}
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.latest(i), bth.AckUnlimited))
		}},
	{Name: "rnr-naks", Description: "RNR NAKs with the shortest wait, each for the next packet",
		Actor: Peer, Needs: Needs{Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.step(i), bth.RNR(1)))
		}},
	{Name: "error-naks", Description: "NAKs that end the connection",
		Actor: Peer, Needs: Needs{QPs: 4, Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.own(i).Sends, bth.NakRemoteAccess))
		}},
	{Name: "read-responses", Description: "READ responses of 4,096 bytes that nobody asked for",
		Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
			p := f.answer(f.own(i), bth.RCReadResponseOnly, f.own(i).Sends, bth.AckUnlimited)
			p.Payload = filler
			return f.sealed(p)
		}},
	{Name: "atomic-responses", Description: "answers to atomics that nobody sent",
		Actor: Peer, Needs: Needs{Writes: true, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAtomicAck, f.own(i).Sends, bth.AckUnlimited))
		}},
	{Name: "silence", Description: "nothing that means anything, while the victim's requests are never answered",
		Actor: Peer, Needs: Needs{QPs: 16, Writes: true, Revive: true},
		Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.answer(f.own(i), bth.RCAck, f.own(i).Sends.Sub(1), bth.AckUnlimited))
		}},
}

// latest returns the PSN of the victim's latest request to the i-th packet's queue pair.
func (f *Flood) latest(i uint64) bth.PSN {
	o := f.own(i)
	if psn, any := f.Seen(o.PeerQPN); any {
		return psn
	}
	return o.Sends
}

// step advances the acknowledged PSN of the i-th packet's queue pair by one, up to the latest
// request, and resets it after a reconnection.
func (f *Flood) step(i uint64) bth.PSN {
	k := i % uint64(len(f.Own))
	switch d := f.latest(i).Diff(f.una[k]); {
	case d > 0:
		f.una[k] = f.una[k].Add(1)
	case d < -4096:
		f.una[k] = f.Own[k].Sends
	}
	return f.una[k]
}
