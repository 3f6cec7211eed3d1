package packet_test

import (
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/pipe"
)

// The wrapped link determines whether a decorator reports pending frames.
func TestDecoratorsPassPendingOn(t *testing.T) {
	for name, wrap := range map[string]func(packet.Link) packet.Link{"fault": faultless, "tap": linktest.IgnoringTap} {
		t.Run(name, func(t *testing.T) {
			n := pipe.NewNet()
			l := linktest.OpenPipe(t, n, "192.0.2.1")
			tells, mute := wrap(l).(packet.PendingReporter), wrap(struct{ packet.Link }{l}).(packet.PendingReporter)
			b := packet.NewBatch(1)
			b.AppendFrame().Path = &packet.Path{Dst: l.Local()}
			l.Prepare(b)
			if err := l.Send(b); err != nil {
				t.Fatal(err)
			}
			if !tells.Pending() || mute.Pending() {
				t.Errorf("Pending is %v over a link that tells, %v over one that cannot, want true and false",
					tells.Pending(), mute.Pending())
			}
		})
	}
}
