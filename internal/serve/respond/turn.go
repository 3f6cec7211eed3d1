package respond

import "time"

// turn is the state of a queue pair with respect to answering messages.
type turn struct {
	how   how
	until time.Time // of watch: when this end answers
	len   uint32    // of watch: length of the received message
}

type how uint8

const (
	echo   how = iota // sends each message back
	open              // no message received yet
	watch             // one received: another one within patience means that the client does not wait for an answer
	absorb            // receives without answering
)

// patience is the time in which the second message of a client that does not wait for an answer
// to the first must arrive. It delays a session once, the first answer of ib_send_lat.
const patience = 10 * time.Millisecond

// unanswered is the maximum number of outstanding answers. The next message shows that the client
// has the previous answer, but the acknowledgements of both may be lost; it is practically
// impossible that so many in a row are lost. A client that sends more does not wait for answers,
// and has posted no receives.
const unanswered = 16

// arrived handles a message.
func (s *session) arrived(q *queue, length uint32) error {
	t := &q.turn
	switch t.how {
	case open:
		t.how, t.len, t.until = watch, length, time.Now().Add(patience)
		return nil
	case watch:
		t.how = absorb
	case echo:
		if s.kind == Perftest && q.sent >= unanswered {
			t.how = absorb
			return nil
		}
		return s.answer(q, length)
	}
	return nil
}

// due returns the next time at which this end answers; zero if there is none.
func (s *session) due() (first time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.qps {
		if t := q.turn; t.how == watch && (first.IsZero() || t.until.Before(first)) {
			first = t.until
		}
	}
	return first
}

// takeTurns answers the clients whose time has come.
func (s *session) takeTurns(now time.Time) error {
	s.mu.Lock()
	qps := s.qps
	s.mu.Unlock()
	for _, q := range qps {
		if t := &q.turn; t.how == watch && !t.until.After(now) {
			t.how = echo
			if err := s.answer(q, t.len); err != nil {
				return err
			}
		}
	}
	return nil
}
