package bounce

import "testing"

// step is a received datagram or, with post, a message to send.
type step struct {
	word uint64
	post uint64
	want outcome
}

func TestAnExchangeRepairsWhatIsLost(t *testing.T) {
	delivered := outcome{ack: true, delivered: true}
	both := outcome{ack: true, completed: true, delivered: true}
	for name, tt := range map[string]struct {
		x     exchange
		steps []step
		lacks bool // the last message has no answer
	}{
		"client, nothing lost": {exchange{client: true, acks: true}, []step{
			{post: 1}, {word: ackWord(1), want: outcome{completed: true}},
			{word: messageWord(1), want: delivered}, {post: 2},
		}, true},
		"client, acknowledgement lost": {exchange{client: true, acks: true}, []step{
			{post: 1}, {word: messageWord(1), want: both}, {word: ackWord(1)},
		}, false},
		"client, answer comes twice": {exchange{client: true, acks: true}, []step{
			{post: 1}, {word: messageWord(1), want: both}, {word: messageWord(1), want: outcome{ack: true}},
		}, false},
		"client, answer to nothing": {exchange{client: true},
			[]step{{word: messageWord(1)}, {word: messageWord(7)}}, false},
		"client, without acknowledgements": {exchange{client: true}, []step{
			{post: 1}, {word: ackWord(1)}, {word: messageWord(1), want: outcome{delivered: true}},
		}, false},
		"server, nothing lost": {exchange{acks: true}, []step{
			{word: messageWord(1), want: delivered}, {post: 1}, {word: ackWord(1), want: outcome{completed: true}},
			{word: messageWord(2), want: delivered},
		}, false},
		"server, acknowledgement lost": {exchange{acks: true}, []step{
			{word: messageWord(1), want: delivered}, {post: 1}, {word: messageWord(2), want: both},
		}, false},
		"server, answer lost": {exchange{acks: true}, []step{
			{word: messageWord(1), want: delivered}, {word: messageWord(1), want: outcome{ack: true}}, {post: 1},
			{word: messageWord(1), want: outcome{ack: true, again: true}},
		}, false},
		"server, from the future": {exchange{acks: true}, []step{{word: messageWord(2)}, {word: ackWord(1)}}, false},
	} {
		for i, s := range tt.steps {
			if s.post != 0 {
				if !tt.x.post(s.post) || tt.x.post(s.post) {
					t.Errorf("%s, step %d: message %d is not sent once", name, i, s.post)
				}
				continue
			}
			if got := tt.x.receive(s.word); got != s.want {
				t.Errorf("%s, step %d: %+v, want %+v", name, i, got, s.want)
			}
		}
		if tt.x.unanswered() != tt.lacks {
			t.Errorf("%s: %+v, unanswered %v", name, tt.x, tt.x.unanswered())
		}
	}
}

func TestAResultHasTheMessagesAfterTheWarmUp(t *testing.T) {
	// Two messages that are not counted, and three that take 2, 4 and 6 µs.
	sent := []int64{0, 9_000_000, 50_000_000, 50_002_000, 50_006_000, 50_012_000}
	r := Config{Way: Trap, Messages: 3, Warm: 2}.result(sent, 4)
	var count int64
	for _, b := range r.Histogram {
		count += b.Count
	}
	if r.Average != 2 || r.Messages != 3 || count != 3 || r.Resent != 4 || r.Way != Trap {
		t.Errorf("%+v", r)
	}
}

func TestWrongConfigurationsAreRefused(t *testing.T) {
	for _, c := range []Config{
		{Way: "", Messages: 1}, {Way: "bird", Messages: 1}, {Way: Trap}, {Way: Trap, Messages: MaxMessages + 1},
		{Way: Trap, Messages: 1, Warm: -1}, {Way: Trap, Messages: 1, Warm: MaxMessages + 1},
	} {
		if c.check() == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	for _, w := range Ways() {
		if err := (Config{Way: w, Messages: 1}).check(); err != nil {
			t.Errorf("%s: %v", w, err)
		}
	}
}
