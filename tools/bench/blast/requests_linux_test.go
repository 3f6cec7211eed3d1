package blast

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
	"golang.org/x/sys/unix"
)

// Two packets that arrive, or are known to be lost, become one request.
func TestRequestsFollowWhatArrives(t *testing.T) {
	c := Config{Segment: 4112, ICRC: true, Requests: true}
	window := c.window()
	const room = requestTrains * maxTrain
	for _, tt := range []struct {
		name      string
		arrived   []uint32 // packets so far at the end of each batch; 0: nothing for recvTimeout
		requests  []int    // per batch
		requested uint32   // packets in addition to the window
	}{
		{"an odd packet is carried over", []uint32{15, 30, 31, 32}, []int{7, 8, 0, 1}, 32},
		{"after the timeout the last request is repeated", []uint32{15, 0, 0, 16}, []int{7, 1, 1, 1}, 16},
		{"of too many the first are left out", []uint32{1, 5*room + 1}, []int{0, room}, 5*room + 1},
	} {
		q := openReader(t, c)
		for i, n := range tt.arrived {
			if n == 0 {
				q.take(0)
			} else {
				q.next = bth.PSN(0).Add(n)
			}
			if got := q.fill(); got != tt.requests[i] {
				t.Errorf("%s: %d requests after %d packets, want %d", tt.name, got, n, tt.requests[i])
			}
		}
		if want := bth.PSN(0).Add(window + tt.requested); q.requested != want {
			t.Errorf("%s: requested up to %d, want %d", tt.name, q.requested, want)
		}
	}
}

func openReader(t *testing.T, c Config) *reader {
	t.Helper()
	r, err := listen(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	q, err := newReader(r.fd, newChecker(c))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestTheSenderTakesTheRequestsOfATrain(t *testing.T) {
	c := Config{Segment: 4112, ICRC: true, Requests: true}
	q := openReader(t, c)
	q.next = bth.PSN(0).Add(101)
	train := q.requests[:q.fill()*packets.RequestLen]
	wrong := slices.Clone(train)
	wrong[len(wrong)-1] ^= 1
	for _, tt := range []struct {
		name  string
		train []byte
		sent  bth.PSN
		want  bth.PSN
	}{
		{"all", train, 200, 100},
		{"the last one with a wrong ICRC", wrong, 200, 98},
		{"a part of one", train[:packets.RequestLen-1], 200, 0},
		{"for packets that were never sent", train, 99, 98},
	} {
		s := newBursts(c)
		s.next = tt.sent
		if s.takeRequests(tt.train); s.settled != tt.want {
			t.Errorf("%s: %d packets have arrived, want %d", tt.name, s.settled, tt.want)
		}
	}
}

// Requests of several trains move the window of the sender.
func TestRequestsOverLoopback(t *testing.T) {
	c := Config{Segment: 528, ICRC: true, Copied: true, Requests: true}
	r, err := listen(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	fd, err := c.dial(netip.MustParseAddr("127.0.0.1"), uint16(r.port))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
		t.Fatal(err)
	}
	s := newBursts(c)
	s.fill()
	for range 2 {
		if err := s.send(fd); err != nil {
			t.Fatal(err)
		}
		s.fill()
	}
	if err := r.answerFirst(); err != nil {
		t.Fatal(err)
	}
	q, err := newReader(r.fd, newChecker(c))
	if err != nil {
		t.Fatal(err)
	}
	for q.next != s.next {
		n, err := q.receive(r.fd)
		if err != nil || n == 0 {
			t.Fatalf("%d packets, then %v", q.good, err)
		}
		q.take(n)
	}
	if q.good != uint64(s.next) || q.wrong != 0 {
		t.Errorf("%d right packets and %d wrong ones before PSN %d", q.good, q.wrong, s.next)
	}
	if err := q.answer(r.fd); err != nil {
		t.Fatal(err)
	}
	for s.settled != s.next {
		before := s.settled
		if err := s.await(fd); err != nil || s.settled == before {
			t.Fatalf("requests up to %d of %d: %v", s.settled, s.next, err)
		}
		if before == 0 && s.acks[0].len != requestRoom {
			t.Errorf("a train of %d bytes, want %d", s.acks[0].len, requestRoom)
		}
	}
}

func TestRequestsDoNotAllocate(t *testing.T) {
	q := openReader(t, Config{Segment: 4112, ICRC: true, Requests: true})
	s := newBursts(q.c)
	if n := testing.AllocsPerRun(100, func() {
		q.next = q.next.Add(120)
		s.next = q.next
		s.takeRequests(q.requests[:q.fill()*packets.RequestLen])
	}); n != 0 {
		t.Errorf("%v allocations for each batch", n)
	}
	if s.settled != s.next {
		t.Errorf("%d of %d packets have arrived", s.settled, s.next)
	}
}
