package respond

import "time"

// replyState is the state of a queue pair with respect to answering messages.
type replyState struct {
	mode    replyMode
	replyAt time.Time // if undecided: when this end answers
	len     uint32    // if undecided: length of the received message
}

type replyMode uint8

const (
	replyEach replyMode = iota // sends each message back
	noMessage                  // no message received yet
	// undecided: one message received. A second message within secondMessageWait means that the
	// client does not wait for an answer.
	undecided
	replyNone // receives without answering
)

// secondMessageWait is the time in which the second message of a client that does not wait for an
// answer to the first must arrive. It delays a session once, the first answer of ib_send_lat.
const secondMessageWait = 10 * time.Millisecond

// maxUnackedReplies is the maximum number of outstanding answers. The next message shows that the
// client has the previous answer, but the acknowledgements of both may be lost; it is practically
// impossible that those of this number of messages in a row are lost. A client that sends more does
// not wait for answers, and has posted no receives.
const maxUnackedReplies = 16

// handleMessage answers a received message of length bytes if the client waits for an answer.
func (s *session) handleMessage(q *queue, length uint32) error {
	t := &q.reply
	switch t.mode {
	case noMessage:
		t.mode, t.len, t.replyAt = undecided, length, time.Now().Add(secondMessageWait)
		return nil
	case undecided:
		t.mode = replyNone
	case replyEach:
		if s.kind == Perftest && q.sent >= maxUnackedReplies {
			t.mode = replyNone
			return nil
		}
		return s.sendReply(q, length)
	}
	return nil
}

// nextReplyTime returns the next time at which this end answers; zero if there is none.
func (s *session) nextReplyTime() (first time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.qps {
		if t := q.reply; t.mode == undecided && (first.IsZero() || t.replyAt.Before(first)) {
			first = t.replyAt
		}
	}
	return first
}

// sendDueReplies answers the clients whose replyAt has come.
func (s *session) sendDueReplies(now time.Time) error {
	s.mu.Lock()
	qps := s.qps
	s.mu.Unlock()
	for _, q := range qps {
		if t := &q.reply; t.mode == undecided && !t.replyAt.After(now) {
			t.mode = replyEach
			if err := s.sendReply(q, t.len); err != nil {
				return err
			}
		}
	}
	return nil
}
