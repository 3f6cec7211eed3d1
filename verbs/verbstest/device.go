package verbstest

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// OpenPipe opens a device with a link for each address, on its own network in memory.
func OpenPipe(t *testing.T, mtu int, addrs ...string) *verbs.Device {
	t.Helper()
	n := pipe.NewNet()
	var cfg verbs.Config
	for _, a := range addrs {
		l, err := n.Open(netip.MustParseAddr(a), mtu)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Links = append(cfg.Links, l)
	}
	d, err := verbs.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// MustMention fails the test unless err is an error of one line that contains all words.
func MustMention(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error is %q, it should say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", err)
	}
}
