package respond

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
)

// secrets are hex digits of a client's key and address that must not be logged.
var secrets = []string{"beef01", "cafe02", "deadf00d", "feedface"}

// shows returns the digits of a secret, at least four of them, that a text contains.
func shows(text string) string {
	text = strings.ToLower(text)
	for _, s := range secrets {
		for i := range len(s) - 3 {
			if strings.Contains(text, s[i:i+4]) {
				return s[i : i+4]
			}
		}
	}
	return ""
}

// No part of a key or address of a client is logged if it is damaged anywhere, truncated or
// misplaced.
func TestNothingOfAKeyIsLogged(t *testing.T) {
	k := (&perftest.Key{QPN: 0xbeef01, PSN: 0xcafe02, RKey: 0xdeadf00d, VAddr: 0x0000feedface0000,
		GID: gid("192.0.2.2")}).Append(nil)
	d := (&pingpong.Dest{QPN: 0xbeef01, PSN: 0xcafe02, GID: gid("192.0.2.2")}).Append(nil)
	var said [][]say // items of each client, without waiting for the last answer
	damage := func(before []say, text []byte) {
		for i := range text {
			b := bytes.Clone(text)
			b[i] = '_'
			said = append(said, append(before[:len(before):len(before)], say{b, 0}))
			said = append(said,
				append(before[:len(before):len(before)], say{append(text[i:len(text):len(text)], text...), 0}))
		}
	}
	damage(opening(), k)
	damage(opening()[:1], k)
	damage(opening()[:3], k)
	damage(nil, k)
	damage(nil, d)
	_, logged := responding(t, Limits{}, both, func(r *rig) {
		for _, items := range said {
			c := r.call("192.0.2.2", deviceAddr)
			go converse(c, items...)
			r.ended()
			c.Close()
			time.Sleep(addressClients.Interval)
		}
	})
	lines := strings.Count(logged, "session ended early")
	if lines < len(said)*9/10 {
		t.Errorf("%d of %d clients are logged", lines, len(said))
	}
	for line := range strings.Lines(logged) {
		if s := shows(line); s != "" {
			t.Fatalf("%s of a key is in the log: %s", s, line)
		}
	}
}
