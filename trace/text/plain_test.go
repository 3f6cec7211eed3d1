package text

import "testing"

func TestPlainTextHasNothingThatATerminalObeys(t *testing.T) {
	for s, want := range map[string]string{
		"rdma-ping-0: ABC~ ä":        "rdma-ping-0: ABC~ ä",
		"\x1b]0;owned\a\x1b[31m\r\n": "\ufffd]0;owned\ufffd\ufffd[31m  ",
		"a\u202eb\xffc\u009b":        "a\ufffdb\ufffdc\ufffd",
		"\ufffd":                     "\ufffd",
	} {
		if got := Plain(s); got != want {
			t.Errorf("Plain(%q) = %q, want %q", s, got, want)
		}
	}
}
