package transport

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Memory without a pointer to it is read in one call for the short messages that lie within one
// page.
func TestShortMessagesAreReadTogether(t *testing.T) {
	type message struct {
		op       qp.WROpcode
		region   int
		off, len uint64
		flags    qp.SendFlags
	}
	write := func(off, n uint64) message { return message{op: qp.WRWrite, off: off, len: n} }
	for name, c := range map[string]struct {
		limit    uint64
		messages []message
		reads    []string
	}{
		"one behind the other": {8192, []message{write(0, 64), write(64, 64), write(128, 10)}, []string{"138 at 0"}},
		"with gaps": {8192, []message{write(10, 1), write(1000, 64), write(500, 64)},
			[]string{"1054 at 10"}},
		"the same":             {8192, []message{write(10, 64), write(10, 64)}, []string{"64 at 10"}},
		"to the end of a page": {8192, []message{write(10, 64), write(4042, 64)}, []string{"4096 at 10"}},
		"far apart":            {8192, []message{write(10, 64), write(4043, 64)}, []string{"64 at 10", "64 at 4043"}},
		"before the first":     {8192, []message{write(64, 64), write(0, 64)}, []string{"64 at 64", "64 at 0"}},
		"around": {8192, []message{write(0, 64), write(64, 64), write(0, 64), write(64, 64)},
			[]string{"128 at 0"}},
		"as long as a packet": {8192, []message{write(0, 256), write(256, 64)}, []string{"320 at 0"}},
		"of several packets":  {8192, []message{write(0, 257), write(257, 64)}, []string{"257 at 0", "64 at 257"}},
		"long":                {8192, []message{write(0, 64), write(0, 5000)}, []string{"64 at 0", "3840 at 0"}},
		"that cannot all be read": {100, []message{write(0, 64), write(64, 36), write(36, 64)},
			[]string{"100 at 0"}},
		"of which one cannot be read": {100, []message{write(0, 64), write(0, 101)},
			[]string{"101 at 0", "64 at 0", "101 at 0", "101 at 0"}},
		"a READ between": {8192, []message{write(0, 64), {op: qp.WRRead, off: 64, len: 64}, write(64, 64)},
			[]string{"64 at 0", "64 at 64"}},
		"another region": {8192, []message{write(0, 64), {op: qp.WRWrite, region: 1, off: 64, len: 64}},
			[]string{"64 at 0"}},
		"a fence between": {8192, []message{write(0, 64), {op: qp.WRWrite, off: 64, len: 64, flags: qp.Fence}},
			[]string{"64 at 0", "64 at 64"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, nil)
			var regions [2]*mr.Region
			var mem [2]*vectored
			for i := range regions {
				mem[i] = newVectored(make([]byte, 8192))
				var err error
				if regions[i], err = s.keys.Register(s.qp.PD, mem[i], 0x700000, 8192, mr.LocalWrite); err != nil {
					t.Fatal(err)
				}
			}
			for i := range mem[0].b {
				mem[0].b[i] = byte(i * 7 / 5)
			}
			mem[0].limit = c.limit
			for _, m := range c.messages {
				wr := qp.SendWR{Opcode: m.op, Flags: m.flags, SGList: []qp.SGE{
					{Addr: 0x700000 + m.off, Length: uint32(m.len), LKey: regions[m.region].LKey()},
				}}
				if err := s.qp.SQ.Push(&wr); err != nil {
					t.Fatal(err)
				}
			}
			s.rc.Transmit(s.now, nil, s.batch, 64)
			at := 0
			for _, m := range c.messages {
				if m.op != qp.WRWrite || m.region != 0 || m.off+m.len > c.limit {
					at++
					continue
				}
				var got []byte
				for n := uint64(0); n < m.len && at < s.batch.Len(); n += 256 {
					for _, p := range s.batch.At(at).Payload {
						got = append(got, p...)
					}
					at++
				}
				if !slices.Equal(got, mem[0].b[m.off:][:min(m.len, 15*256)]) { // of a long message, as much as is sent
					t.Errorf("the message at %d has other bytes", m.off)
				}
			}
			if !slices.Equal(mem[0].reads, c.reads) {
				t.Errorf("the reads were %q, want %q", mem[0].reads, c.reads)
			}
		})
	}
}

func TestNoMoreIsReadThanMayBeSent(t *testing.T) {
	s := newScript(t, nil)
	m := newVectored(make([]byte, 1024))
	region, err := s.keys.Register(s.qp.PD, m, 0x700000, 1024, mr.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		sg := []qp.SGE{{Addr: 0x700000 + 64*i, Length: 64, LKey: region.LKey()}}
		if err := s.qp.SQ.Push(&qp.SendWR{Opcode: qp.WRWrite, SGList: sg}); err != nil {
			t.Fatal(err)
		}
	}
	s.rc.Transmit(s.now, nil, s.batch, 2)
	if want := []string{"128 at 0"}; s.batch.Len() != 2 || !slices.Equal(m.reads, want) {
		t.Errorf("%d packets, the reads were %q, want %q", s.batch.Len(), m.reads, want)
	}
}

func TestAnExtentIsAtMostAPage(t *testing.T) {
	for _, c := range []struct {
		addr, n uint64
		takes   bool
		end     uint64
	}{
		{1100, 10, true, 1110}, {1000, 4096, true, 5096}, {5095, 1, true, 5096}, {5096, 0, true, 5096},
		{1000, 4097, false, 1001}, {5095, 2, false, 1001}, {5097, 0, false, 1001}, {999, 1, false, 1001},
	} {
		e := extent{1000, 1001}
		if got := e.extend(c.addr, c.n); got != c.takes || e.end != c.end {
			t.Errorf("%d bytes at %d: %v, up to %d, want %v, %d", c.n, c.addr, got, e.end, c.takes, c.end)
		}
	}
}

func TestMemoryOfShortREADsIsReadTogether(t *testing.T) {
	for _, c := range []struct {
		rule, requests string
		reads          []string
	}{
		{"one behind the other", `
			<+ RDMA_READ_REQUEST psn=100 va=0x600000 dma=64 rkey=far
			<+ RDMA_READ_REQUEST psn=101 va=0x600040 dma=64 rkey=far
			<+ RDMA_READ_REQUEST psn=102 va=0x600080 dma=64 rkey=far`, []string{"192 at 0"}},
		{"as long as a packet", `
			<+ RDMA_READ_REQUEST psn=100 va=0x600000 dma=256 rkey=far
			<+ RDMA_READ_REQUEST psn=101 va=0x600100 dma=256 rkey=far`, []string{"512 at 0"}},
		{"before the first", `
			<+ RDMA_READ_REQUEST psn=100 va=0x600040 dma=64 rkey=far
			<+ RDMA_READ_REQUEST psn=101 va=0x600000 dma=64 rkey=far`, []string{"64 at 64", "64 at 0"}},
		{"one is of several packets", `
			<+ RDMA_READ_REQUEST psn=100 va=0x600000 dma=64 rkey=far
			<+ RDMA_READ_REQUEST psn=101 va=0x600040 dma=257 rkey=far`, []string{"64 at 0", "257 at 64"}},
		{"one is of other memory with near addresses", `
			<+ RDMA_READ_REQUEST psn=100 va=0x600000 dma=64 rkey=far
			<+ RDMA_READ_REQUEST psn=101 va=0x600040 dma=64 rkey=other`, []string{"64 at 0"}},
		{"one is an atomic", `
			<+ RDMA_READ_REQUEST psn=100 va=0x600000 dma=64 rkey=far
			<+ FETCH_ADD psn=101 va=0x10000 rkey=rw add=1`, []string{"64 at 0"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newScript(t, func(a *qp.Attr, _ *Config) { a.MaxDestRdAtomic = 3 })
			m := newVectored(make([]byte, 1024))
			var err error
			s.regions["far"], err = s.keys.Register(s.qp.PD, m, 0x600000, m.Size(), mr.RemoteRead)
			if err != nil {
				t.Fatal(err)
			}
			other := newVectored(make([]byte, 1024))
			s.regions["other"], err = s.keys.Register(s.qp.PD, other, 0x600000, other.Size(), mr.RemoteRead)
			if err != nil {
				t.Fatal(err)
			}
			s.run(c.requests)
			s.rc.Transmit(s.now, nil, s.batch, 64)
			if s.batch.Len() < 2 || !slices.Equal(m.reads, c.reads) {
				t.Errorf("%d responses, the reads were %q, want %q", s.batch.Len(), m.reads, c.reads)
			}
		})
	}
}
