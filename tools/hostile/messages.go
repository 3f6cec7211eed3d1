package hostile

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rawcm"
)

// messages attack the connection manager.
var messages = []Pattern{
	{Name: "req", Description: "requests for connections that a program accepts, each another",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram {
			return f.message(f.req(FromSelf, uint32(i)))
		}},
	{Name: "req-dup", Description: "one such request again and again",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram { return f.message(f.req(FromSelf, 1)) }},
	{Name: "req-third", Description: "such requests under a third party's address, which gets the answers",
		Actor: Forger, Make: func(f *Flood, i uint64) Datagram {
			return f.forged(FromThird, f.req(FromThird, uint32(i)))
		}},
	{Name: "req-third-dup", Description: "one such request again and again under a third party's address",
		Actor: Forger, Make: func(f *Flood, i uint64) Datagram {
			return f.forged(FromThird, f.req(FromThird, 1))
		}},
	{Name: "req-absent", Description: "requests under addresses of the victim's network that nobody has",
		Actor: Forger, Make: func(f *Flood, i uint64) Datagram {
			from := FromAbsent + Source(i%absents)
			return f.forged(from, f.req(from, uint32(i)))
		}},
	{Name: "req-many", Description: "requests under 200 addresses of another network, whose router gets the answers",
		Actor: Forger, Make: func(f *Flood, i uint64) Datagram {
			from := FromRemote + Source(i%remotes)
			return f.forged(from, f.req(from, uint32(i)))
		}},
	{Name: "req-many-no-service", Description: "such requests for services that do not exist",
		Actor: Forger, Make: func(f *Flood, i uint64) Datagram {
			from := FromRemote + Source(i%remotes)
			return f.forged(from, f.reqNoService(from, uint32(i)))
		}},
	{Name: "req-foreign-gid", Description: "requests that name another host as the peer",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram { return f.message(f.req(FromThird, uint32(i))) }},
	{Name: "req-no-service", Description: "requests for services that do not exist",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram {
			return f.message(f.reqNoService(FromSelf, uint32(i)))
		}},
	{Name: "req-given-up", Description: "requests, each given up at once",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram {
			m := f.req(FromSelf, uint32(i/2))
			if i%2 == 1 {
				m = rawcm.TimeoutREJ(m)
			}
			return f.message(m)
		}},
	{Name: "req-good-guid", Description: "requests under the good host's address",
		Actor: Forger, Make: func(f *Flood, i uint64) Datagram {
			return f.forged(FromGood, f.req(FromGood, uint32(i)))
		}},
	{Name: "rep-guess", Description: "answers to requests that were not sent", Actor: Stranger,
		Make: about(mad.AttrREP)},
	{Name: "rtu-guess", Description: "RTUs for random connections", Actor: Stranger, Make: about(mad.AttrRTU)},
	{Name: "rej-guess", Description: "REJs for random connections", Actor: Stranger, Make: about(mad.AttrREJ)},
	{Name: "rej-zero", Description: "REJs that name no connection", Actor: Stranger,
		Make: func(f *Flood, i uint64) Datagram {
			return f.message(f.mad(mad.Message{Attribute: mad.AttrREJ,
				REJ: mad.REJ{RemoteCommID: mad.CommID(f.random.Uint32()), Reason: mad.RejectTimeout}}))
		}},
	{Name: "dreq-guess", Description: "DREQs for random connections", Actor: Stranger, Make: about(mad.AttrDREQ)},
	{Name: "mra-guess", Description: "MRAs for random connections", Actor: Stranger, Make: about(mad.AttrMRA)},
	{Name: "lap", Description: "LAPs, which nobody supports", Actor: Stranger, Make: func(f *Flood, i uint64) Datagram {
		d := f.message(f.mad(mad.Message{Attribute: mad.AttrDREQ,
			DREQ: mad.DREQ{LocalCommID: 1, RemoteCommID: mad.CommID(f.random.Uint32())}}))
		at := len(d.Bytes) - mad.Len + 16
		d.Bytes[at], d.Bytes[at+1] = 0, byte(mad.AttrLAP)
		return d
	}},
	{Name: "sidr-req", Description: "requests for datagram queue pairs of a service that does not exist",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram {
			return f.message(f.cms[FromSelf].SIDRREQ(uint32(i), f.RpingSrv))
		}},
	{Name: "mad-garbage", Description: "random bytes to queue pair 1", Actor: Stranger,
		Make: func(f *Flood, i uint64) Datagram {
			for k := range f.madBuf {
				f.madBuf[k] = byte(f.random.Uint32())
			}
			return f.gsi(f.madBuf[:])
		}},
	{Name: "mad-short", Description: "datagrams of 4 bytes to queue pair 1",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram { return f.gsi(filler[:4]) }},
	{Name: "mad-class", Description: "MADs of another class", Actor: Stranger, Make: func(f *Flood, i uint64) Datagram {
		d := f.message(f.req(FromSelf, uint32(i)))
		d.Bytes[len(d.Bytes)-mad.Len+1] = 3
		return d
	}},
	{Name: "mad-qkey", Description: "messages with a wrong Q_Key", Actor: Stranger,
		Make: func(f *Flood, i uint64) Datagram {
			f.message(f.req(FromSelf, uint32(i)))
			f.p.DETH.QKey = uint32(i) | 0x100
			return f.sealed(&f.p)
		}},
}

// req returns the i-th request of a host. No two requests have the same IDs.
func (f *Flood) req(of Source, i uint32) *mad.Message { return f.cms[of].REQ(i+1, f.RpingSrv) }

// reqNoService returns the i-th request of a host, for a service that does not exist.
func (f *Flood) reqNoService(of Source, i uint32) *mad.Message {
	m := f.req(of, i)
	m.REQ.ServiceID = mad.IPServiceID(mad.PortSpaceTCP, uint16(i)|0x8000)
	return m
}

// forged returns a message with the source address from.
func (f *Flood) forged(from Source, m *mad.Message) Datagram {
	d := f.message(m)
	d.From = from
	return d
}

func (f *Flood) mad(m mad.Message) *mad.Message {
	f.msg = m
	return &f.msg
}

// about returns a maker of messages with guessed IDs.
func about(a mad.Attribute) func(*Flood, uint64) Datagram {
	return func(f *Flood, i uint64) Datagram {
		mine, its := mad.CommID(f.random.Uint32()), mad.CommID(f.random.Uint32())
		m := mad.Message{Attribute: a, TransactionID: i}
		switch a {
		case mad.AttrREP:
			m.REP = mad.REP{LocalCommID: mine, RemoteCommID: its, LocalQPN: bth.QPN(i & 0xffffff)}
		case mad.AttrRTU:
			m.RTU = mad.RTU{LocalCommID: mine, RemoteCommID: its}
		case mad.AttrREJ:
			m.REJ = mad.REJ{LocalCommID: mine, RemoteCommID: its, Reason: mad.RejectConsumerDefined}
		case mad.AttrDREQ:
			m.DREQ = mad.DREQ{LocalCommID: mine, RemoteCommID: its, RemoteQPN: f.GoodQPN}
		case mad.AttrMRA:
			m.MRA = mad.MRA{LocalCommID: mine, RemoteCommID: its, ServiceTimeout: 31}
		}
		return f.message(f.mad(m))
	}
}
