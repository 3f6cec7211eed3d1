package bounce

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/gorxe/gorxe/tools/bench/packets"
)

// hearPacket returns the packet of the next datagram as a word.
func (p *peer) hearPacket(s *sends) uint64 {
	p.t.Helper()
	var b [128]byte
	p.udp.SetReadDeadline(time.Now().Add(limit))
	n, at, err := p.udp.ReadFrom(b[:])
	if err != nil {
		p.t.Fatal(err)
	}
	p.at = at
	if psn, ok := packets.ReadAck(b[:n]); ok {
		return ackWord(uint64(psn))
	}
	word, rest, ok := s.next(b[:n], 0)
	if !ok || len(rest) > 0 {
		p.t.Fatalf("no packet: %x", b[:n])
	}
	return word
}

func TestAClientOfSendsRepairsLosses(t *testing.T) {
	for _, way := range SendWays() {
		t.Run(string(way), func(t *testing.T) {
			const last = 5 + 2 // including the warm-up
			p, client := startPeer(t, way, "2")
			p.say(report{})
			s := newSends()
			asked := map[uint64]int{}
			for answered := uint64(0); answered < last; {
				word := p.hearPacket(s)
				n := word >> 1
				if word&ackBit != 0 {
					continue
				}
				if asked[n]++; n > last-2 && asked[n] < 2 {
					continue // lost, from the client's point of view
				}
				b := slices.Concat(s.message(n), s.ack(n))
				if n == last-1 { // first with a wrong ICRC
					wrong := slices.Clone(b[:sendLen])
					wrong[sendLen-1] ^= 1
					p.udp.WriteTo(wrong, p.at)
				}
				if _, err := p.udp.WriteTo(b[:sendLen], p.at); err != nil {
					t.Fatal(err)
				}
				p.udp.WriteTo(b[sendLen:], p.at)
				answered = max(answered, n)
			}
			var r Result
			if err := json.Unmarshal([]byte(client.line(t)), &r); err != nil {
				t.Fatal(err)
			}
			if r.Resent < 2 || r.Average < float64(recvTimeout.Microseconds())/2 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// An answer and the acknowledgement behind it are sent as one train, which a socket without
// UDP_GRO receives as two datagrams.
func TestAnAnswerAndItsAcknowledgementAreOneTrain(t *testing.T) {
	p, client := startPeer(t, Sends, "3")
	p.say(report{})
	s := newSends()
	if got := p.hearPacket(s); got != messageWord(1) {
		t.Fatalf("the client begins with %#x", got)
	}
	p.udp.WriteTo(s.message(1), p.at)
	for _, want := range []uint64{messageWord(2), ackWord(1)} {
		if got := p.hearPacket(s); got != want {
			t.Errorf("%#x, want %#x", got, want)
		}
	}
	p.tcp.Close()
	client.fails(t, "the server has ended")
}

func TestTrainsAreTakenApart(t *testing.T) {
	s := newSends()
	both := slices.Concat(s.message(7), s.ack(6))
	word, rest, ok := s.next(both, 6)
	if word != messageWord(7) || len(rest) != packets.AckLen || !ok {
		t.Fatalf("%#x, %d bytes left, %v", word, len(rest), ok)
	}
	if word, rest, ok := s.next(rest, 6); word != ackWord(6) || len(rest) != 0 || !ok {
		t.Errorf("%#x, %d bytes left, %v", word, len(rest), ok)
	}
	const far = 6 + 1<<24
	if word, _, ok := s.next(both[sendLen:], far); word != ackWord(far) || !ok {
		t.Errorf("a number of more than 24 bits: %#x, %v", word, ok)
	}
	for name, b := range map[string][]byte{
		"of another message": both[sendLen:], "short": both[:8], "long": append(slices.Clone(both[sendLen:]), 0),
	} {
		if _, _, ok := s.next(b, 5); ok {
			t.Errorf("an acknowledgement %s is taken", name)
		}
	}
	both[3] ^= 1
	if _, rest, ok := s.next(both, 6); ok || len(rest) != packets.AckLen {
		t.Errorf("a wrong ICRC is taken, or ends the train: %v, %d bytes left", ok, len(rest))
	}
}
