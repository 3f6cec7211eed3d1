package respond

import "time"

// turn is what a queue pair does with the messages that come.
type turn struct {
	how   how
	until time.Time // of watch: when it is this end's turn
	len   uint32    // of watch: the message that came
}

type how uint8

const (
	echo   how = iota // sends each message back
	open              // nothing has come yet
	watch             // one has come: another one at once means that the client does not wait for an answer
	absorb            // takes them
)

// patience is how long the second message of a client may take that does not wait for an answer to
// the first. It counts once in a session, as the first turn of ib_send_lat.
const patience = 10 * time.Millisecond

// unanswered is how many answers may be under way. The next message shows that its client has the answer to the one before, but
// the acknowledgements of both may be lost; that so many in a row are is out of the question. A client that sends more does not
// wait for answers, and has no receives.
const unanswered = 16

// arrived deals with a message.
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

// due is the next moment at which it is this end's turn; zero for none.
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

// takeTurns answers the clients that have been waiting.
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
