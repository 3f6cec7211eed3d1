package transport

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Steps of a match, by their first byte. New ones are appended, so that existing inputs keep
// their meaning.
const (
	stepSend       = iota // end, opcode, flags, length, place, remote place, remote offset, remote key
	stepRecv              // end, length
	stepTransmit          // end, packets
	stepDeliver           // to, which
	stepDrop              // to, which
	stepDuplicate         // to, which
	stepAlter             // to, which, field, value
	stepForge             // to, opcode, PSN, ... (see forge)
	stepExchange          //
	stepTimeout           // end
	stepAdvance           // how far
	stepDeregister        // end, place
	stepRegister          // end, place
	stepModify            // end, state
	stepLocal             // end, what
	stepFlip              // to, which, byte, bits
	stepReconnect         //
	stepTrouble           // end, place, limit
)

var matchSteps = []func(*match){
	stepSend:     func(m *match) { m.end().postSend() },
	stepRecv:     func(m *match) { m.end().postRecv() },
	stepTransmit: func(m *match) { m.end().transmit(1 + int(m.byte())%16) },
	stepDeliver: func(m *match) {
		if to, i := m.which(); i >= 0 {
			w := &m.wire[m.index(to)]
			raw := (*w)[i]
			*w = slices.Delete(*w, i, i+1)
			to.receive(raw)
		}
	},
	stepDrop: func(m *match) {
		if to, i := m.which(); i >= 0 {
			w := &m.wire[m.index(to)]
			*w = slices.Delete(*w, i, i+1)
		}
	},
	stepDuplicate: func(m *match) {
		if to, i := m.which(); i >= 0 {
			for range 1 + m.byte()%16 {
				to.receive(m.wire[m.index(to)][i])
			}
		}
	},
	stepAlter:    (*match).alter,
	stepForge:    (*match).forge,
	stepExchange: func(m *match) { m.exchange() },
	stepTimeout: func(m *match) {
		e := m.end()
		if at, ok := e.c.NextTimeout(); ok {
			m.now = max(m.now, at)
			e.expire()
		}
	},
	stepAdvance: func(m *match) {
		m.now += Time(m.byte()) * 1000
		for _, e := range m.ends {
			e.expire()
		}
	},
	stepDeregister: func(m *match) { m.end().deregister(int(m.byte()) % pairPlaces) },
	stepRegister:   func(m *match) { m.end().register(int(m.byte()) % pairPlaces) },
	stepModify: func(m *match) {
		e, to := m.end(), pick(m, qp.SQD, qp.RTS, qp.RTS, qp.ERR)
		if s := e.q.State(); s == qp.RTS || s == qp.SQD {
			e.modify(to)
		}
	},
	stepLocal: func(m *match) { m.end().postLocal() },
	stepFlip: func(m *match) {
		if to, i := m.which(); i >= 0 {
			raw := slices.Clone(m.wire[m.index(to)][i])
			raw[int(m.byte())%min(len(raw), bth.MaxHeaderLen)] ^= m.byte()
			m.wire[m.index(to)][i] = raw
		}
	},
	stepReconnect: (*match).connect,
	stepTrouble: func(m *match) {
		e, place := m.end(), int(m.byte())%pairPlaces
		limit := pick[uint64](m, 0, benchPage, 1, 8, 255, 256, 264, 512, benchPage-8, benchPage-1)
		if far := e.far[place]; far != nil {
			far.limit = limit
		}
	},
}

// which chooses a packet in flight to an end; i is -1 if there is none.
func (m *match) which() (to *pairEnd, i int) {
	to = m.end()
	n := len(m.wire[m.index(to)])
	if i = int(m.byte()); n > 0 {
		return to, i % n
	}
	return to, -1
}

// local returns a segment of n bytes for a work request of this end. No place has data that the
// peer must not see, except one of another protection domain, which is refused.
func (e *pairEnd) local(n uint32) []qp.SGE {
	from := pick(e.m, pairRW, pairRW, pairRW, pairOwn, pairRO, pairOther)
	if n == 0 {
		return nil
	}
	return []qp.SGE{{Addr: e.iova(from), Length: n, LKey: e.regions[from].LKey()}}
}

// remote returns an address of the other end and a key, mostly the right one.
func (e *pairEnd) remote() (va uint64, rkey uint32) {
	m, p := e.m, e.peer
	at := pick(m, pairRW, pairRW, pairAt, pairRO, pairOwn, pairShut, pairOther, pairFast)
	va = p.iova(at) + pick[uint64](m, 0, 0, 8, 1, 256, benchPage-256, benchPage-8, benchPage-1, benchPage,
		^uint64(0), ^uint64(0)-p.iova(at)+1, ^uint64(7)-p.iova(at)+1)
	if at == pairFast {
		rkey = p.fast.Key()
	} else {
		rkey = p.regions[at].RKey()
	}
	switch m.byte() % 16 {
	case 1:
		rkey = p.stale[len(p.stale)-1]
	case 2:
		rkey ^= 1 // another variant
	case 3:
		rkey = 0
	case 4:
		rkey ^= 0x100 // another index
	case 5:
		rkey = p.windows[0].RKey()
	case 6:
		rkey = p.windows[1].RKey()
	case 7:
		rkey = p.regions[pairRW].RKey()
	case 8:
		rkey = e.regions[pairRW].RKey() // of the wrong end
	}
	return va, rkey
}

func (e *pairEnd) post(wr *qp.SendWR) {
	wr.ID = e.posted[0]
	if e.q.CheckPost(wr) == nil && e.q.SQ.Push(wr) == nil {
		e.posted[0]++
		e.c.Posted()
	}
}

func (e *pairEnd) postSend() {
	m := e.m
	wr := qp.SendWR{
		Opcode: pick(m, qp.WRSend, qp.WRWrite, qp.WRRead, qp.WRFetchAdd, qp.WRCmpSwap,
			qp.WRWriteImm, qp.WRSendImm, qp.WRSendInv, qp.WRFlush, qp.WRAtomicWrite),
		Flags: pick(m, 0, 0, qp.Fence, qp.Solicited),
	}
	n := pick[uint32](m, 1, 256, 512, 257, 0, 3000, 8, benchPage)
	switch wr.Opcode {
	case qp.WRFetchAdd, qp.WRCmpSwap, qp.WRAtomicWrite:
		n = 8
	case qp.WRFlush:
		wr.Flush = qp.Flush{Length: n, Type: qp.FlushToGlobal, Level: pick(m, qp.FlushRange, qp.FlushRegion)}
		n = 0
	}
	wr.SGList = e.local(n)
	wr.RemoteAddr, wr.RKey = e.remote()
	wr.CompareAdd, wr.Swap = uint64(n), 1
	if wr.Opcode == qp.WRSendInv {
		wr.Imm = wr.RKey
	}
	e.post(&wr)
}

func (e *pairEnd) postRecv() {
	wr := qp.RecvWR{ID: 1<<32 | e.posted[1]}
	if n := pick[uint32](e.m, 512, 256, 0, 255, 257, benchPage, 8); n > 0 {
		key := e.regions[pairOwn].LKey()
		wr.SGList = []qp.SGE{{Addr: e.iova(pairOwn), Length: n / 2, LKey: key},
			{Addr: e.iova(pairOwn) + uint64(n/2), Length: n - n/2, LKey: key}}
	}
	if e.q.CheckPostRecv() == nil && e.q.Recv.(*qp.RecvQueue).Push(&wr) == nil {
		e.posted[1]++
		e.c.Posted()
	}
}

// postLocal posts an operation on keys of this end.
func (e *pairEnd) postLocal() {
	var wr qp.SendWR
	w := e.windows[1]
	switch e.m.byte() % 5 {
	case 0:
		wr.Opcode = qp.WRBindMW
		wr.Bind = &mr.Bind{
			Key: w.RKey(), NewKey: mr.IncRKey(w.RKey()), LKey: e.regions[pairRW].LKey(), Addr: e.iova(pairRW) + 256,
			Length: pick[uint64](e.m, 512, 8, benchPage), Access: pick(e.m, mr.RemoteWrite, mr.RemoteRead),
		}
	case 1:
		wr.Opcode = qp.WRRegMR
		wr.Reg = &mr.FastReg{
			Key: e.fast.Key(), NewKey: mr.IncRKey(e.fast.Key()), Memory: mr.Bytes(e.place(pairFast)),
			IOVA:   e.iova(pairFast),
			Length: benchPage, Access: mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead,
		}
	case 2:
		wr.Opcode, wr.Imm = qp.WRLocalInv, w.RKey()
	case 3:
		wr.Opcode, wr.Imm = qp.WRLocalInv, e.fast.Key()
	case 4: // a call, not a work request
		w = e.windows[0]
		// Refused if the region is gone.
		_ = e.keys.Bind(e.pd, 0, &mr.Bind{
			Key: w.RKey(), NewKey: mr.IncRKey(w.RKey()), LKey: e.regions[pairRW].LKey(), Addr: e.iova(pairRW),
			Length: 8, Access: mr.RemoteRead,
		})
		return
	}
	e.post(&wr)
}
