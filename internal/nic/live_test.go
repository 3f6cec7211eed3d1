package nic

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// A liveLink changes memory after frames were sealed and before they are sent, like a program
// that does not wait for its NIC, and records which frames then have a wrong ICRC.
type liveLink struct {
	packet.Link
	mu     sync.Mutex
	memory []byte // every byte changes with each Send
	sent   map[bth.Opcode]int
	wrong  map[bth.Opcode]int
}

func (l *liveLink) Send(b *packet.Batch) error {
	l.mu.Lock()
	for i := range l.memory {
		l.memory[i]++
	}
	var p bth.Packet
	for i := b.Sent; i < b.Len(); i++ {
		f := b.At(i)
		raw := f.AppendTo(nil)
		h := bth.Header4{
			Src: l.Local().As4(), Dst: f.Path.Dst.As4(), ID: f.ID, FlagsFragment: f.FlagsFragment,
			SrcPort: f.SrcPort, DstPort: packet.Port, UDPLen: bth.UDPHeaderLen + len(raw),
		}
		if err := p.Decode(raw); err != nil {
			l.mu.Unlock()
			return err
		}
		l.sent[p.Opcode]++
		if !bth.CheckICRC(h.Seed(), raw) {
			l.wrong[p.Opcode]++
		}
	}
	l.mu.Unlock()
	return l.Link.Send(b)
}

// live starts to change memory with each Send, and resets the counts.
func (l *liveLink) live(memory []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.memory, l.sent, l.wrong = memory, map[bth.Opcode]int{}, map[bth.Opcode]int{}
}

// livePair is newPair over links of type liveLink.
func livePair(t *testing.T, r retry) (a, b *end, links []*liveLink) {
	t.Helper()
	a, b = newPair(t, 8192, r, func(l packet.Link) packet.Link {
		live := &liveLink{Link: l}
		live.live(nil)
		links = append(links, live)
		return live
	})
	return a, b, links
}

func TestReadResponsesAreCopiedBeforeTheyAreSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, links := livePair(t, usualRetry)
		defer closeAll(t, a, b)
		links[1].live(b.buf)
		for i := range 10 {
			a.post(a.read(b, uint64(i), 0, len(b.buf)))
		}
		a.succeed(10)
		synctest.Wait()
		sent, wrong := 0, 0
		for op, n := range links[1].sent {
			if op.Info().Op == bth.OpReadResponse {
				sent, wrong = sent+n, wrong+links[1].wrong[op]
			}
		}
		if sent == 0 || wrong > 0 {
			t.Errorf("%d of %d READ responses from memory that changes have a wrong ICRC", wrong, sent)
		}
	})
}

// Payload of a first transmission is borrowed: it arrives with a wrong ICRC, as if the packet
// were lost.
func TestWhatIsSentAgainIsCopiedBeforeItIsSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, links := livePair(t, usualRetry)
		defer closeAll(t, a, b)
		links[0].live(a.buf)
		a.post(a.write(b, 2, 0, 1000))
		a.succeed(1)
		synctest.Wait()
		if sent, wrong := links[0].sent[bth.RCWriteOnly], links[0].wrong[bth.RCWriteOnly]; sent != 2 || wrong != 1 {
			t.Errorf("a WRITE of memory that changes: %d packets, %d of them with a wrong ICRC; want 2 and 1",
				sent, wrong)
		}
	})
}

// Datagrams and packets of unreliable connections are not retransmitted.
func TestUnreliableServicesCopyBeforeTheySeal(t *testing.T) {
	v := newFortress(t)
	defer closeAll(t, v.end)
	for name, post := range map[string]func(wr *qp.SendWR) error{
		"UD": func(wr *qp.SendWR) error {
			wr.AH, wr.RemoteQPN, wr.RemoteQKey = v.ah(0, addrB), peerQPN, testQKey
			_, err := v.ud.PostSend([]*qp.SendWR{wr})
			return err
		},
		"UC": func(wr *qp.SendWR) error {
			_, err := v.uc.PostSend([]*qp.SendWR{wr})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := v.dev.shard0()
			live := &liveLink{Link: s.out[0].link}
			live.live(v.buf)
			s.mu.Lock()
			s.out[0].link = live
			s.mu.Unlock()
			if err := post(&qp.SendWR{ID: 1, Opcode: qp.WRSend, SGList: v.sge(0, 1000)}); err != nil {
				t.Fatal(err)
			}
			sent, wrong := 0, 0
			for op, n := range live.sent {
				sent, wrong = sent+n, wrong+live.wrong[op]
			}
			if sent != 1 || wrong != 0 {
				t.Errorf("%d packets, %d of them with a wrong ICRC; want 1 and 0", sent, wrong)
			}
			s.mu.Lock()
			s.out[0].link = live.Link
			s.mu.Unlock()
		})
	}
}
