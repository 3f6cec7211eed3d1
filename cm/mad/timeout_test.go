package mad_test

import (
	"math"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
	"pgregory.net/rapid"
)

func TestTimeoutsArePowersOfTwoTimes4096Nanoseconds(t *testing.T) {
	for code, want := range map[mad.Timeout]int64{
		0: 4096, 1: 8192, 14: 67_108_864, 20: 4_294_967_296, 31: 8_796_093_022_208,
		32: 8_796_093_022_208, 255: 8_796_093_022_208,
	} {
		if got := code.Nanoseconds(); got != want {
			t.Errorf("code %d is %d ns, want %d", code, got, want)
		}
	}
}

func TestTimeoutForRoundsUp(t *testing.T) {
	for _, tt := range []struct {
		ns   int64
		want mad.Timeout
	}{
		{math.MinInt64, 0}, {0, 0}, {1, 0}, {4096, 0}, {4097, 1}, {8192, 1}, {8193, 2},
		{1_000_000_000, 18}, {4_294_967_296, 20}, {4_294_967_297, 21},
		{8_796_093_022_208, 31}, {8_796_093_022_209, 31}, {math.MaxInt64, 31},
	} {
		if got := mad.TimeoutFor(tt.ns); got != tt.want {
			t.Errorf("TimeoutFor(%d) = %d, want %d", tt.ns, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(1, mad.MaxTimeout.Nanoseconds()).Draw(t, "ns")
		code := mad.TimeoutFor(ns)
		if code.Nanoseconds() < ns || code > 0 && (code-1).Nanoseconds() >= ns {
			t.Fatalf("TimeoutFor(%d) = %d, which is %d ns", ns, code, code.Nanoseconds())
		}
	})
}

func TestTimeToWaitForAnAnswer(t *testing.T) {
	const second20 = 4_294_967_296 // code 20
	if got, want := mad.ReplyTimeout(18, 20), int64(second20+second20/2); got != want {
		t.Errorf("ReplyTimeout(18, 20) = %d, want %d: half of it there and back", got, want)
	}
	if got, want := mad.ReplyTimeout(31, 31), 3*mad.MaxTimeout.Nanoseconds(); got != want {
		t.Errorf("ReplyTimeout(31, 31) = %d, want %d", got, want)
	}
	if got, want := mad.MRATimeout(24, 16), int64(16*second20+second20/8); got != want {
		t.Errorf("MRATimeout(24, 16) = %d, want %d", got, want)
	}
}

func TestLocalACKTimeoutIsAckDelayAndRoundTrip(t *testing.T) {
	for _, tt := range []struct{ ackDelay, packetLifeTime, want mad.Timeout }{
		{15, 18, 19}, // the round trip is 16 times the delay
		{15, 16, 17},
		{15, 15, 17}, // half of it
		{15, 14, 16}, // as long as it
		{15, 13, 16},
		{15, 12, 15},
		{0, 0, 2},
		{0, 31, 31}, {31, 31, 31}, {31, 0, 31}, {255, 255, 31}, {0, 255, 31},
	} {
		if got := mad.LocalACKTimeout(tt.ackDelay, tt.packetLifeTime); got != tt.want {
			t.Errorf("LocalACKTimeout(%d, %d) = %d, want %d", tt.ackDelay, tt.packetLifeTime, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.Custom(func(t *rapid.T) mad.Timeout {
			return mad.Timeout(rapid.Uint8Range(0, 29).Draw(t, "code"))
		})
		delay, life := code.Draw(t, "ack delay"), code.Draw(t, "packet life time")
		exact := delay.Nanoseconds() + 2*life.Nanoseconds()
		if got := mad.LocalACKTimeout(delay, life).Nanoseconds(); got*3 < exact*2 || got >= exact*2 {
			t.Fatalf("LocalACKTimeout(%d, %d) is %d ns, the exact time is %d", delay, life, got, exact)
		}
	})
}

func TestPacketLifeTimeIsHalfOfTheACKTimeout(t *testing.T) {
	for ack, want := range map[mad.Timeout]mad.Timeout{0: 0, 1: 0, 19: 18, 31: 30} {
		if got := mad.PacketLifeTime(ack); got != want {
			t.Errorf("PacketLifeTime(%d) = %d, want %d", ack, got, want)
		}
	}
}

func TestRxesLocalACKTimeoutFollowsFromItsPacketLifeTime(t *testing.T) {
	// The target ACK delay of rxe's REP, and the packet life time of rdma_cm in Linux 6.1 for RoCE.
	const ackDelay, packetLifeTime = 15, 18
	for _, g := range readGolden(t, "testdata/rxe.txt") {
		var m mad.Message
		if err := m.Decode(g.mad); err != nil {
			t.Fatal(err)
		}
		switch m.Attribute {
		case mad.AttrREQ:
			if got, want := m.REQ.Primary.LocalACKTimeout, mad.LocalACKTimeout(ackDelay, packetLifeTime); got != want {
				t.Errorf("%s: local ACK timeout %d, want %d", &g, got, want)
			}
		case mad.AttrREP:
			if m.REP.TargetACKDelay != ackDelay {
				t.Errorf("%s: target ACK delay %d, want %d", &g, m.REP.TargetACKDelay, ackDelay)
			}
		}
	}
}
