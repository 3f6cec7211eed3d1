package trace

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// Kept returns the number of records and messages that the Analyzer remembers.
func (a *Analyzer) Kept() (records, messages int) { return a.use.records, a.use.works }

// CheckBounds returns an error if the Analyzer exceeds a limit, or if its counts are
// inconsistent.
func (a *Analyzer) CheckBounds() error {
	t := &a.table
	records, held, conns, commands := 0, 0, 0, 0
	for c := t.oldest; c != nil; c = c.newer {
		conns++
		if c.upper != nil {
			commands += c.upper.Outstanding()
		}
		for i := range c.dir {
			st := c.seen(i)
			records += len(st.recs)
			held += st.works.n
			if st.works.n-st.works.done > a.o.Outstanding || st.works.done > kept || len(st.recs) > maxRecords {
				return fmt.Errorf("flow %d has %d messages, %d of them over, and %d records", c.Number, st.works.n,
					st.works.done, len(st.recs))
			}
			if st.open && c.Service == bth.ServiceRC && (st.next.Diff(st.una) < 0 || st.next.Diff(st.latestEnd) < 0) {
				return fmt.Errorf("flow %d: acknowledged up to PSN %d, at %d, newest %d", c.Number, st.una,
					st.latestEnd, st.next)
			}
		}
		for _, h := range c.directions {
			if t.directions[h.key] != h || h.conn != c {
				return fmt.Errorf("flow %d has the direction %+v, which leads to flow %d: %v, %v", c.Number, h.key,
					h.conn.Number, t.directions[h.key] == h, h.paired)
			}
		}
	}
	loose := 0
	for _, s := range t.unpaired {
		loose += s.Len()
		responding := 0
		for _, h := range s.All() {
			if t.directions[h.key] != h || h.paired {
				return fmt.Errorf("a direction without a partner is not in the table, or has one")
			}
			if h.conn.seen(1 - h.from).open {
				responding++
			}
		}
		if responding != s.responding {
			return fmt.Errorf("%d directions without a partner have responses, counted are %d", responding,
				s.responding)
		}
	}
	keys := 0
	for k, e := range a.cms {
		keys++
		if e.c.cm != e {
			return fmt.Errorf("the communication ID %v leads to a flow that is not its own", k)
		}
	}
	switch {
	case conns != t.count || conns > a.o.Flows:
		return fmt.Errorf("%d flows, counted are %d", conns, t.count)
	case len(t.directions) > 2*conns || loose > len(t.directions):
		return fmt.Errorf("%d directions, %d of them without a partner, in %d flows", len(t.directions), loose, conns)
	case keys > 2*conns:
		return fmt.Errorf("%d communication IDs in %d flows", keys, conns)
	case commands != a.uppers.Commands():
		return fmt.Errorf("%d commands, counted are %d", commands, a.uppers.Commands())
	case records != a.use.records || held != a.use.works:
		return fmt.Errorf("%d records and %d messages, counted are %d and %d", records, held,
			a.use.records, a.use.works)
	case len(a.hosts) > maxHosts:
		return fmt.Errorf("%d hosts", len(a.hosts))
	}
	return nil
}

// Commands returns the number of commands of upper-layer protocols that the Analyzer remembers.
func (a *Analyzer) Commands() int { return a.uppers.Commands() }
