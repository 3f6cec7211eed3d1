package record_test

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/record"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

var (
	here4, there4 = netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")
	here6, there6 = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
)

// stub is a link that sends nothing and receives the frames that it is given.
type stub struct {
	packet.Link
	local  netip.Addr
	frames []packet.Received
}

func (s *stub) Caps() packet.Caps { return packet.Caps{Name: "stub"} }
func (s *stub) Local() netip.Addr { return s.local }
func (s *stub) Close() error      { return nil }

func (s *stub) Send(b *packet.Batch) error {
	b.Sent = b.Len()
	return nil
}

func (s *stub) Recv(rb *packet.RecvBatch) error {
	rb.Frames = s.frames
	return nil
}

// sealed returns a SEND with the ICRC for a datagram with this identification.
func sealed(src, dst netip.Addr, id uint16, psn bth.PSN) []byte {
	p := bth.Packet{Opcode: bth.RCSendOnly, PKey: 0xffff, DestQP: 0x11, PSN: psn, Payload: []byte("data")}
	b := p.Append(nil)
	n := bth.UDPHeaderLen + len(b) + bth.ICRCLen
	if src.Is4() {
		h := bth.Header4{Src: src.As4(), Dst: dst.As4(), ID: id, FlagsFragment: packet.DontFragment, SrcPort: 4791,
			DstPort: 4791, UDPLen: n}
		return bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
	}
	h := bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: 4791, DstPort: 4791, UDPLen: n}
	return bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
}

func received(src, dst netip.Addr, id uint16, psn bth.PSN) packet.Received {
	f := packet.Received{Data: sealed(src, dst, id, psn), Src: src, Dst: dst, SrcPort: 4791, HeaderSeen: true, ID: id,
		HopLimit: 64}
	if src.Is4() {
		f.FlagsFragment = packet.DontFragment
	}
	return f
}

// send sends a packet through l like an engine.
func send(t *testing.T, l packet.Link, dst netip.Addr, id uint16, psn bth.PSN) {
	t.Helper()
	b := packet.NewBatch(1)
	f := b.AppendFrame()
	f.Path = &packet.Path{Dst: dst}
	f.SrcPort, f.ID = 4791, id
	if dst.Is4() {
		f.FlagsFragment = packet.DontFragment
	}
	f.Header = append(f.Header, sealed(l.Local(), dst, id, psn)...)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
}

// packets reads a capture.
func packets(t *testing.T, r io.Reader) (all []trace.Packet) {
	t.Helper()
	in, err := capture.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	var d trace.Decoder
	for f, err := range in.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(f, func(p *trace.Packet) { all = append(all, *p) })
	}
	return all
}

func TestWhatIsSentAndReceivedIsInTheTrace(t *testing.T) {
	unseen := received(there4, here4, 777, 3)
	unseen.HeaderSeen, unseen.ID = false, 0
	for _, test := range []struct {
		rule        string
		here, there netip.Addr
		frame       packet.Received
		id          uint16
	}{
		{"IPv4 whose header the link saw", here4, there4, received(there4, here4, 777, 3), 777},
		{"IPv4 whose identification only the ICRC tells", here4, there4, unseen, 777},
		{"IPv6", here6, there6, received(there6, here6, 0, 3), 0},
	} {
		var file bytes.Buffer
		r := record.New(&file, record.Options{Application: "test"})
		l := r.Wrap("", &stub{local: test.here, frames: []packet.Received{test.frame}})
		send(t, l, test.there, 0, 2)
		if err := l.Recv(packet.NewRecvBatch(1)); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		all := packets(t, &file)
		if len(all) != 2 || r.Stats() != (record.Stats{Frames: 2}) {
			t.Fatalf("%s: %d packets, %+v", test.rule, len(all), r.Stats())
		}
		for i, want := range []struct {
			dir      capture.Direction
			src, dst netip.Addr
			psn      bth.PSN
		}{{capture.Outbound, test.here, test.there, 2}, {capture.Inbound, test.there, test.here, 3}} {
			p := &all[i]
			if p.Err != nil || p.ICRC.Verdict != trace.Right || p.Direction != want.dir || p.Src.Addr() != want.src ||
				p.Dst.Addr() != want.dst ||
				p.BTH.PSN != want.psn || p.IP.HopLimit != 64 {
				t.Errorf("%s: packet %d: %+v", test.rule, i, p)
			}
		}
		if all[1].IP.ID != test.id {
			t.Errorf("%s: identification %d, want %d", test.rule, all[1].IP.ID, test.id)
		}
	}
}

// A wrong ICRC is recorded unchanged.
func TestAPacketWithAWrongICRCKeepsIt(t *testing.T) {
	f := received(there4, here4, 0, 3)
	f.HeaderSeen = false
	f.Data[14] ^= 1
	var file bytes.Buffer
	r := record.New(&file, record.Options{})
	l := r.Wrap("", &stub{local: here4, frames: []packet.Received{f}})
	if err := l.Recv(packet.NewRecvBatch(1)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if all := packets(t, &file); len(all) != 1 || all[0].ICRC.Verdict != trace.Wrong {
		t.Errorf("%+v", all)
	}
}

func TestOnlyWhatIsChosenIsKept(t *testing.T) {
	var file bytes.Buffer
	r := record.New(&file, record.Options{Keep: func(_ packet.Direction, f packet.TapFrame) bool {
		return f.Data[11] == 2
	}})
	l := r.Wrap("", &stub{local: here4})
	for psn := range bth.PSN(4) {
		send(t, l, there4, 0, psn)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if all := packets(t, &file); len(all) != 1 || all[0].BTH.PSN != 2 {
		t.Errorf("%+v", all)
	}
}

// gate is a writer that blocks until it is opened.
type gate struct {
	bytes.Buffer
	open chan struct{}
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(b)
}

func TestADeviceDoesNotWaitForTheWriterAndTheTraceSaysWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &gate{open: make(chan struct{})}
		r := record.New(file, record.Options{Buffer: 1000})
		l := r.Wrap("", &stub{local: here4})
		send(t, l, there4, 0, 0)
		synctest.Wait() // until it writes the first packet, and blocks
		for psn := range bth.PSN(100) {
			send(t, l, there4, 0, psn+1)
		}
		lost := r.Stats().Lost
		if lost == 0 || lost >= 100 {
			t.Fatalf("%d of 100 packets are lost", lost)
		}
		close(file.open)
		synctest.Wait()
		send(t, l, there4, 0, 101)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		all := packets(t, &file.Buffer)
		if got := r.Stats(); got.Frames != uint64(len(all)) || got.Frames+lost != 102 {
			t.Errorf("%+v, %d packets", got, len(all))
		}
		last := all[len(all)-1]
		if last.BTH.PSN != 101 || len(last.Comments) != 1 || trace.Missing(last.Comments[0]) != lost {
			t.Errorf("PSN %d, %q", last.BTH.PSN, last.Comments)
		}
	})
}

func TestAFileIsNoLongerThanItMayBe(t *testing.T) {
	const limit = 4000
	for _, rotate := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.pcapng")
		r, err := record.Create(path, record.Options{MaxBytes: limit, Rotate: rotate})
		if err != nil {
			t.Fatal(err)
		}
		l := r.Wrap("", &stub{local: here4})
		for psn := range bth.PSN(200) {
			send(t, l, there4, 0, psn)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		all := fileOf(t, path, limit)
		s := r.Stats()
		if !rotate {
			if s.Frames == 0 || s.Refused == 0 || s.Frames+s.Refused != 200 || uint64(len(all)) != s.Frames {
				t.Errorf("%+v, %d packets", s, len(all))
			}
			continue
		}
		before := fileOf(t, path+".1", limit)
		if s.Frames != 200 || len(all) == 0 || len(before) == 0 || all[len(all)-1].BTH.PSN != 199 ||
			before[len(before)-1].BTH.PSN+1 != all[0].BTH.PSN {
			t.Errorf("%+v, %d packets, and %d before", s, len(all), len(before))
		}
	}
}

func fileOf(t *testing.T, path string, limit int) []trace.Packet {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > limit {
		t.Errorf("%s has %d bytes", path, len(b))
	}
	return packets(t, bytes.NewReader(b))
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWhatCannotBeWrittenEndsTheTraceAndNothingElse(t *testing.T) {
	failed := make(chan error, 10)
	r := record.New(broken{}, record.Options{Failed: func(err error) { failed <- err }})
	l := r.Wrap("", &stub{local: here4})
	if err := <-failed; !errors.Is(err, errBroken) { // before Close
		t.Errorf("the error that is told is %v", err)
	}
	send(t, l, there4, 0, 0)
	if err := r.Close(); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	if s := r.Stats(); s != (record.Stats{Refused: 1}) || len(failed) > 0 {
		t.Errorf("%+v, and %d errors more are told", s, len(failed))
	}
	send(t, l, there4, 0, 1)
	if _, err := record.Create(filepath.Join(t.TempDir(), "no", "such", "folder"), record.Options{}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestRecordingAllocatesNothingOnceItRuns(t *testing.T) {
	r := record.New(io.Discard, record.Options{Buffer: 1 << 16})
	l := r.Wrap("", &stub{local: here4})
	b := packet.NewBatch(1)
	f := b.AppendFrame()
	f.Path = &packet.Path{Dst: there4}
	f.Header = append(f.Header, sealed(here4, there4, 0, 2)...)
	one := func() {
		b.Sent = 0
		if err := l.Send(b); err != nil {
			t.Fatal(err)
		}
	}
	for range 10_000 { // until both buffers have their full size
		one()
	}
	if n := testing.AllocsPerRun(1000, one); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheLatestPacketsAreKept(t *testing.T) {
	r := record.NewRecent(4000)
	l := r.Wrap("", &stub{local: here4})
	for psn := range bth.PSN(100) {
		send(t, l, there4, 0, psn)
		var file bytes.Buffer
		if err := r.Write(&file, "test"); err != nil {
			t.Fatal(err)
		}
		all := packets(t, &file)
		if n := len(all); n > 30 || n < min(int(psn)+1, 8) || all[n-1].BTH.PSN != psn ||
			all[0].BTH.PSN != psn+1-bth.PSN(n) {
			t.Fatalf("after PSN %d: %d packets, from %d on", psn, n, all[0].BTH.PSN)
		}
	}
}

func TestRecordersComeAndGo(t *testing.T) {
	var h record.Hub
	l := h.Wrap("", &stub{local: here4})
	var files [2]bytes.Buffer
	var rs [2]*record.Recorder
	for psn := range bth.PSN(5) {
		switch psn {
		case 1, 2:
			rs[psn-1] = record.New(&files[psn-1], record.Options{})
			h.Add(rs[psn-1])
		case 3, 4:
			h.Remove(rs[psn-3])
		}
		send(t, l, there4, 0, psn)
	}
	for i, r := range rs {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if all := packets(t, &files[i]); len(all) != 2 || all[0].BTH.PSN != bth.PSN(i+1) ||
			all[1].BTH.PSN != bth.PSN(i+2) {
			t.Errorf("%+v", all)
		}
	}
}
