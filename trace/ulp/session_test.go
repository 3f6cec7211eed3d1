package ulp_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace/ulp"
)

// nvmeRead returns a Read of 4096 bytes.
func nvmeRead(cid uint16, address uint64, key uint32) []byte {
	b := make([]byte, 64)
	b[0], b[1], b[4], b[39] = 2, 0x40, 1, 0x40
	binary.LittleEndian.PutUint16(b[2:], cid)
	binary.LittleEndian.PutUint64(b[24:], address)
	b[33] = 0x10
	binary.LittleEndian.PutUint32(b[35:], key)
	return b
}

func nvmeDone(cid uint16) []byte {
	b := make([]byte, 16)
	binary.LittleEndian.PutUint16(b[12:], cid)
	return b
}

// session is a Session of an NVMe I/O queue with a count of its messages.
type session struct {
	*ulp.Session
	budget ulp.Budget
	n      int
	now    time.Time
}

func newSession(t *testing.T) *session {
	s := &session{now: time.Unix(1000, 0)}
	private := make([]byte, 32)
	private[2], private[4] = 1, 128
	if s.Session = ulp.FromREQ(4420, private, &s.budget); s.Session == nil {
		t.Fatal("the REQ does not show the protocol")
	}
	return s
}

func (s *session) send(from int, b []byte) *ulp.Role {
	s.n++
	s.now = s.now.Add(time.Millisecond)
	return s.Send(&ulp.Sent{From: from, Payload: b, Length: len(b), Message: s.n, Frame: 10 * s.n, At: s.now})
}

func TestAResponseIsPairedWithTheCommandOfItsID(t *testing.T) {
	s := newSession(t)
	s.send(0, nvmeRead(7, 0x1000, 1))
	s.send(0, nvmeRead(8, 0x2000, 2))
	for _, x := range []struct {
		cid     uint16
		message int
		latency time.Duration
	}{{8, 2, time.Millisecond}, {7, 1, 3 * time.Millisecond}, {7, 0, 0}, {9, 0, 0}} {
		u := s.send(1, nvmeDone(x.cid))
		if u.Message != x.message || u.Latency != x.latency || u.HasLatency != (x.message > 0) ||
			(u.PDU.Command == "Read") != (x.message > 0) {
			t.Errorf("the response to CID %d: %+v", x.cid, u)
		}
	}
}

func TestATimeThatIsUnknownOrGoesBackGivesNoLatency(t *testing.T) {
	s := newSession(t)
	for i, at := range [][2]time.Time{{{}, {}}, {s.now, {}}, {{}, s.now}, {s.now, s.now.Add(-1)}} {
		var u *ulp.Role
		for from, b := range [][]byte{nvmeRead(1, 0, 0), nvmeDone(1)} {
			u = s.Send(&ulp.Sent{From: from, Payload: b, Length: len(b), Message: i + 1, Frame: 1, At: at[from]})
		}
		if u.HasLatency || u.Latency != 0 || u.Message != i+1 || !strings.Contains(u.String(), ", for the command") {
			t.Errorf("times %v: %v", at, u)
		}
	}
}

func TestATransferBelongsToTheCommandWhoseBufferContainsIt(t *testing.T) {
	s := newSession(t)
	s.send(0, nvmeRead(1, 0x1000, 5))
	s.send(0, nvmeRead(2, 0x2000, 5)) // the same key for another range
	s.send(0, nvmeRead(3, 0x1000, 6))
	for _, x := range []struct {
		what       string
		from       int
		write      bool
		address, n uint64
		key        uint32
		message    int
	}{
		{"whole buffer", 1, true, 0x1000, 4096, 5, 1}, {"part", 1, true, 0x1ffe, 2, 5, 1},
		{"the same key, another range", 1, true, 0x2000, 4096, 5, 2}, {"another key", 1, true, 0x1000, 1, 6, 3},
		{"beyond the end", 1, true, 0x1001, 4096, 6, 0}, {"before the beginning", 1, true, 0xfff, 1, 6, 0},
		{"unknown key", 1, true, 0x1000, 1, 7, 0}, {"a READ in a buffer for WRITEs", 1, false, 0x1000, 1, 5, 0},
		{"of the end that sent the command", 0, true, 0x1000, 1, 5, 0},
		{"address that overflows", 1, true, 1<<64 - 1, 1 << 63, 5, 0},
	} {
		u := s.Transfer(x.from, x.write, x.address, x.n, x.key)
		if x.message == 0 {
			if u != nil {
				t.Errorf("%s: %v", x.what, u)
			}
			continue
		}
		if u == nil || u.Message != x.message || !u.Transfer || u.PDU.Command != "Read" {
			t.Errorf("%s: %v", x.what, u)
		}
	}
	s.send(1, nvmeDone(3))
	if u := s.Transfer(1, true, 0x1000, 1, 6); u != nil {
		t.Errorf("after the response: %v", u)
	}
}

func TestTheOldestCommandIsForgottenAtTheLimit(t *testing.T) {
	s := newSession(t)
	for i := range uint16(ulp.MaxCommands + 5) {
		s.send(0, nvmeRead(i, 0, 0))
	}
	if n := s.budget.Commands(); n != ulp.MaxCommands {
		t.Errorf("%d commands", n)
	}
	if u := s.send(1, nvmeDone(4)); u.Message != 0 {
		t.Errorf("the response to a forgotten command: %v", u)
	}
	if u := s.send(1, nvmeDone(5)); u.Message != 6 {
		t.Errorf("the response to the oldest command: %v", u)
	}
	s.Close()
	if n := s.budget.Commands(); n != 0 {
		t.Errorf("%d commands after Close", n)
	}
}

func TestManySessionsStayWithinTheBudget(t *testing.T) {
	var budget ulp.Budget
	const sessions = 500
	for i := range sessions {
		s := ulp.NewSession(ulp.NVMe, 0, &budget)
		for cid := range uint16(200) {
			b := nvmeRead(cid, 0, 0)
			s.Send(&ulp.Sent{Payload: b, Length: len(b), Message: i, Frame: i})
		}
	}
	if n := budget.Commands(); n > ulp.TotalCommands+4*sessions || n < ulp.TotalCommands {
		t.Errorf("%d commands", n)
	}
}

func TestACommandWithTheIDOfAnotherReplacesIt(t *testing.T) {
	s := newSession(t)
	s.send(0, nvmeRead(1, 0x1000, 5))
	s.send(0, nvmeRead(1, 0x2000, 5))
	if n := s.budget.Commands(); n != 1 {
		t.Errorf("%d commands", n)
	}
	if u := s.send(1, nvmeDone(1)); u.Message != 2 {
		t.Errorf("the response: %v", u)
	}
}

func TestSwapEndsKeepsPairs(t *testing.T) {
	s := newSession(t)
	s.send(0, nvmeRead(1, 0x1000, 5))
	s.SwapEnds()
	if u := s.Transfer(0, true, 0x1000, 1, 5); u == nil {
		t.Error("the WRITE is not linked")
	}
	if u := s.send(0, nvmeDone(1)); u == nil || u.Message != 1 {
		t.Errorf("the response: %v", u)
	}
}

func TestTheREQDecides(t *testing.T) {
	nvme, rpc := make([]byte, 32), []byte{0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 0}
	nvme[4] = 1
	other := append([]byte{1}, nvme[1:]...)
	for _, x := range []struct {
		port    uint16
		private []byte
		want    ulp.Protocol
	}{
		{4420, nvme, ulp.NVMe}, {8009, nvme, ulp.NVMe}, {4420, nil, ulp.None}, {4420, other, ulp.None},
		{4420, make([]byte, 32), ulp.None}, {3260, nil, ulp.ISER}, {445, nil, ulp.SMBDirect},
		{5445, nil, ulp.SMBDirect}, {20049, nil, ulp.NFS}, {7000, nil, ulp.None}, {7000, nvme, ulp.None},
		{7000, rpc, ulp.NFS}, {7000, rpc[:7], ulp.None},
	} {
		got := ulp.None
		if s := ulp.FromREQ(x.port, x.private, &ulp.Budget{}); s != nil {
			got = s.Protocol()
		}
		if got != x.want {
			t.Errorf("port %d, private data %x: %v", x.port, x.private, got)
		}
	}
}
