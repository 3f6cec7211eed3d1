package respond

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/host/hostmem"
	"github.com/gorxe/gorxe/verbs"
)

func TestAPayloadDividesTheStepOfMessages(t *testing.T) {
	for n := range 130 {
		want := n == 4 || n == 8 || n == 16 || n == 32 || n == 64
		if err := CheckPayload(make([]byte, n)); (err == nil) != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

const eight = "\x04\x03\x02\x01\x08\x07\x06\x05"

// checked returns a check and its counters. Slots have 8 KiB.
func checked(t *testing.T) (*check, *counters) {
	t.Helper()
	limits := Limits{Memory: 256 << 10, QPs: 2, Payload: []byte(eight)}
	mem, err := hostmem.Anonymous(limits.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	count := &counters{}
	c := newPattern(&limits).newCheck(count, mem)
	if c.recvLen != 8<<10 {
		t.Fatalf("rooms have %d bytes", c.recvLen)
	}
	return c, count
}

// put writes n bytes of the payload at off.
func put(t *testing.T, c *check, off, n int) {
	t.Helper()
	if err := c.mem.WriteAt(bytes.Repeat([]byte(eight), n/8+1)[:n], uint64(off)); err != nil {
		t.Fatal(err)
	}
}

func poke(t *testing.T, c *check, off int, b byte) {
	t.Helper()
	if err := c.mem.WriteAt([]byte{b}, uint64(off)); err != nil {
		t.Fatal(err)
	}
}

func TestEveryByteOfAMessageIsCompared(t *testing.T) {
	at := func(c *check) int { return c.offset(1, 3) }
	for _, c := range []struct {
		name   string
		length uint32
		spoil  func(c *check)
		want   string
	}{
		{"right", 5000, func(*check) {}, ""},
		{"of a whole room", 8 << 10, func(*check) {}, ""},
		{"of nothing", 0, func(*check) {}, ""},
		{"shorter than the payload", 3, func(*check) {}, ""},
		{"first byte", 5000, func(c *check) { poke(t, c, at(c), 9) }, "byte 0 of message 1 is 0x09, want 0x04"},
		{"last byte", 5000, func(c *check) { poke(t, c, at(c)+4999, 9) }, "byte 4999 of message 1 is 0x09, want 0x05"},
		{"a bit", 5000, func(c *check) { poke(t, c, at(c)+2001, 0x83) }, "byte 2001 of message 1 is 0x83, want 0x03"},
		{"longer than what came", 5001, func(*check) {},
			"byte 5000 of message 1 is 0xfb, want 0x04: nothing was written there"},
		{"that was not written", 5000, func(c *check) {
			if err := c.clear(uint64(at(c)), 8<<10); err != nil {
				t.Error(err)
			}
		}, "byte 0 of message 1 is 0xfb, want 0x04: nothing was written there"},
	} {
		k, count := checked(t)
		put(t, k, at(k), max(int(c.length)&^1, 3))
		c.spoil(k)
		err := k.checkMessage(1, 3, c.length)
		if c.want != "" {
			var e *earlyEnd
			if !errors.As(err, &e) || e.why != wrongPayload || err.Error() != c.want {
				t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
			}
			if rest := k.checkWritten(); rest == nil || rest.Error() != c.want {
				t.Errorf("%s: at the end: %v", c.name, rest)
			}
			if n := count.checkedMessages.Load(); n != 0 {
				t.Errorf("%s: %d messages were right", c.name, n)
			}
			continue
		}
		if err != nil || count.checkedMessages.Load() != 1 || count.checkedBytes.Load() != uint64(c.length) ||
			k.messages != 1 || k.right != uint64(c.length) {
			t.Errorf("%s: %v, %d messages and %d bytes are right", c.name, err, k.messages, k.right)
		}
		if err := k.checkMessage(1, 3, c.length); (err == nil) != (c.length == 0) {
			t.Errorf("%s: the same room again, in which nothing came: %v", c.name, err)
		}
	}
}

func TestMemoryThatWasWrittenIsLookedThroughAtTheEnd(t *testing.T) {
	c, _ := checked(t)
	if err := c.checkWritten(); err != nil || c.right != 0 {
		t.Errorf("before anything came: %v, %d bytes", err, c.right)
	}
	put(t, c, 64, 10)
	put(t, c, 128, 100_000)
	if err := c.checkWritten(); err != nil || c.right != 100_010 {
		t.Errorf("of two writes: %v, %d bytes are right", err, c.right)
	}
	c, count := checked(t)
	put(t, c, 0, 256<<10)
	poke(t, c, 70_000, 0)
	poke(t, c, 200_001, 1)
	if err := c.checkWritten(); err == nil || err.Error() != "byte 70000 of the memory is 0x00, want 0x04" ||
		c.wrong.bytes != 2 {
		t.Errorf("of two wrong bytes: %v, %+v", err, c.wrong)
	}
	if n := count.checkedBytes.Load(); n != 256<<10-2 {
		t.Errorf("%d bytes are right", n)
	}
	var log strings.Builder
	c.report(slog.New(slog.NewTextHandler(&log, nil)))
	for _, want := range []string{
		`level=WARN msg="wrong payload" offset=70000 of="the memory" got=0x00 want=0x04 wrong_bytes=2`,
		`level=INFO msg="payload checked" messages_checked=0 bytes_checked=262142`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s\nwant %s", log.String(), want)
		}
	}
}

// Each receive has its slot, in which the byte of a payload follows from the offset alone.
func TestRoomsOfReceivesAreApart(t *testing.T) {
	for _, memory := range []uint64{64 << 10, 100_000, DefaultMemory} {
		limits := Limits{Memory: memory, Payload: []byte(eight)}.withDefaults()
		c := &check{pattern: newPattern(&limits)}
		end := 0
		for q := range limits.QPs {
			for slot := range checkDepth {
				if off := c.offset(q, slot); off < end || off%payloadStep != 0 {
					t.Fatalf("of %d bytes: room %d of queue pair %d is at %d, the one before ends at %d", memory,
						slot, q, off, end)
				}
				end = c.offset(q, slot) + c.recvLen
			}
		}
		if c.recvLen < payloadStep || uint64(end) > memory {
			t.Errorf("of %d bytes: rooms of %d, the last ends at %d", memory, c.recvLen, end)
		}
	}
}

// A message that arrived before the session ended is checked, even though no call waits for
// completions any more.
func TestWhatCameBeforeTheEndIsLookedAt(t *testing.T) {
	for first, want := range map[byte]string{4: "", 5: "byte 0 of message 1 is 0x05, want 0x04"} {
		responding(t, Limits{Memory: 64 << 10, QPs: 1, Payload: []byte(eight)}, both, func(r *rig) {
			s := r.untaken([]byte{first, 3, 2, 1}, verbs.WCSuccess)
			s.drainCompletions()
			wrong := s.close()
			r.r.removeSession(s)
			if want == "" && (wrong != nil || s.check.messages != 1) || want != "" &&
				(wrong == nil || wrong.Error() != want) {
				r.Errorf("%d messages are right, %v, want %q", s.check.messages, wrong, want)
			}
		})
	}
}

// The reason why a client's request was rejected is reported even if the client disconnected
// before the completion was polled.
func TestWhatEndedAClientIsToldAfterItHungUp(t *testing.T) {
	responding(t, Limits{Memory: 4096}, both, func(r *rig) {
		s := r.untaken(make([]byte, 5000), verbs.WCRemInvReqErr)
		s.drainCompletions()
		if err := s.close(); err != nil {
			r.Error(err)
		}
		r.r.removeSession(s)
		if s.wcErr == nil || !strings.Contains(s.wcErr.Error(), "a message of more than 4096 bytes came") {
			r.Errorf("the session ended with %v", s.wcErr)
		}
	})
}

// untaken returns a session that received payload with the given status, whose completion was not
// polled.
func (r *rig) untaken(payload []byte, want verbs.WCStatus) *session {
	r.Helper()
	must := func(err error) {
		if err != nil {
			r.Fatal(err)
		}
	}
	cq, err := r.dev.CreateCQ(1)
	must(err)
	defer cq.Close()
	pd := r.dev.AllocPD()
	mr, err := pd.RegMR(payload, 0)
	must(err)
	defer mr.Dereg()
	q, err := pd.CreateQP(verbs.QPInitAttr{SendCQ: cq})
	must(err)
	defer q.Close()
	client, err := q.Local(0, 7)
	must(err)

	s := newSession(r.Context(), r.r, nil, netip.MustParseAddr(deviceAddr))
	s.dev, s.here, s.kind = r.dev, r.dev.GIDs()[0], Perftest
	must(s.open())
	room := s.mr.SGE(0, s.mr.Len())
	if s.check != nil {
		room = s.check.payloadMR.SGE(0, s.check.recvLen)
	}
	served, err := s.connect(&clientEnd{info: client, mtu: 1024, reads: 1, buffer: room})
	must(err)
	attr := verbs.DefaultConnAttr()
	attr.PathMTU = 1024
	must(q.Connect(client, verbs.ConnInfo{QPN: served.QPN(), PSN: served.psn, GID: served.gid.GID}, attr))
	must(q.PostSend(&verbs.SendWR{Opcode: verbs.WRSend, Flags: verbs.Signaled,
		SGList: []verbs.SGE{mr.SGE(0, mr.Len())}}))
	var wc [1]verbs.WC
	if n, err := cq.Wait(r.Context(), wc[:]); n != 1 || err != nil || wc[0].Status != want {
		r.Fatalf("%d, %v: %+v, want %v", n, err, wc[0], want)
	}
	return s
}
