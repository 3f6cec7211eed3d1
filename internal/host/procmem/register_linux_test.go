package procmem

import (
	"errors"
	"math"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

func TestRegistrationChecksEveryPage(t *testing.T) {
	p := start(t)
	query, text := p.space(), p.space()
	text.textMaps.Store(true)
	for _, s := range []*AddressSpace{query, text} {
		checkRegistrations(t, p, s)
	}
	if query.textMaps.Load() {
		t.Log("this kernel does not answer PROCMAP_QUERY: only the text of maps was tested")
	}
}

func checkRegistrations(t *testing.T, p *program, s *AddressSpace) {
	const size = 6 * page // rw rw r- hole rw --
	base := p.mapped(size, protWrite)
	p.protect(base+2*page, page, protRead)
	p.unmap(base+3*page, page)
	p.protect(base+5*page, page, 0)
	for _, c := range []struct {
		off, n uint64
		access mr.Access
		want   Kind
		at     uint64
	}{
		{0, 2 * page, allFlag, 0, 0},
		{2*page - 1, 1, allFlag, 0, 0},
		{0, 3 * page, 0, 0, 0},
		{0, 3 * page, mr.RemoteRead | mr.FlushGlobal | mr.RelaxedOrdering, 0, 0},
		{0, 2*page + 1, mr.LocalWrite, NotWritable, 2 * page},
		{0, 3 * page, mr.RemoteWrite, NotWritable, 2 * page},
		{0, 3 * page, mr.RemoteAtomic, NotWritable, 2 * page},
		{2*page + 8, 8, mr.MWBind, NotWritable, 2*page + 8},
		{0, 3*page + 1, 0, Unmapped, 3 * page},
		{3*page + 5, page, 0, Unmapped, 3*page + 5},
		{4 * page, page, allFlag, 0, 0},
		{4 * page, page + 1, 0, NotReadable, 5 * page},
		{4 * page, page + 1, mr.LocalWrite, NotReadable, 5 * page},
		{0, 0, 0, BadRange, 0},
		{0, math.MaxUint64 - base + 1, 0, BadRange, 0},
		{0, math.MaxUint64 - base, 0, Unmapped, 3 * page},
		{math.MaxUint64 - base, 1, 0, BadRange, math.MaxUint64 - base},
		{math.MaxUint64 - base - 9, 8, 0, Unmapped, math.MaxUint64 - base - 9},
		{-base, math.MaxUint64, 0, Unmapped, -base},
		{-base, 8, mr.LocalWrite, Unmapped, -base},
		{1<<63 - base, 8, 0, Unmapped, 1<<63 - base},
	} {
		r, err := s.Region(base+c.off, c.n, c.access)
		if c.want == 0 {
			if err != nil {
				t.Errorf("%d bytes at %#x, %v: %v", c.n, c.off, c.access, err)
				continue
			}
			if r.Size() != c.n || r.ReadOnly() == (c.access&mr.LocalWrite != 0) {
				t.Errorf("%d bytes at %#x, %v: size %d, read-only %v", c.n, c.off, c.access, r.Size(), r.ReadOnly())
			}
			r.Close()
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Kind != c.want || e.At != base+c.at || e.Addr != base+c.off || e.Length != c.n ||
			e.PID != s.PID() {
			t.Errorf("%d bytes at %#x, %v: %v, want %v at %#x", c.n, c.off, c.access, err, c.want, base+c.at)
		}
	}
}
