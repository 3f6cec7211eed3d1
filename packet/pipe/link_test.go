package pipe_test

import (
	"testing"

	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/pipe"
)

func TestPipe(t *testing.T) {
	t.Run("IPv4", func(t *testing.T) { linktest.Run(t, linktest.Pipes("192.0.2.1", "192.0.2.2", nil)) })
	t.Run("IPv6", func(t *testing.T) { linktest.Run(t, linktest.Pipes("2001:db8::1", "2001:db8::2", nil)) })
	t.Run("link-local", func(t *testing.T) { linktest.Run(t, linktest.Pipes("fe80::1%a", "fe80::2%b", nil)) })
	t.Run("header hidden", func(t *testing.T) {
		linktest.Run(t, linktest.Pipes("192.0.2.1", "192.0.2.2", func(n *pipe.Net) { n.HideHeader = true }),
			linktest.NoWire())
	})
}
