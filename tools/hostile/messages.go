package hostile

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rawcm"
)

// messages attack the connection manager.
var messages = []Pattern{
	{Name: "req", Does: "requests for connections that a program accepts, each another",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram {
			return f.message(f.req(FromSelf, uint32(i)))
		}},
	{Name: "req-dup", Does: "one such request again and again",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram { return f.message(f.req(FromSelf, 1)) }},
	{Name: "req-third", Does: "such requests under a third party's address, which gets the answers",
		By: Forger, Make: func(f *Flood, i uint64) Datagram {
			return f.forged(FromThird, f.req(FromThird, uint32(i)))
		}},
	{Name: "req-third-dup", Does: "one such request again and again under a third party's address",
		By: Forger, Make: func(f *Flood, i uint64) Datagram {
			return f.forged(FromThird, f.req(FromThird, 1))
		}},
	{Name: "req-absent", Does: "requests under addresses of the victim's network that nobody has",
		By: Forger, Make: func(f *Flood, i uint64) Datagram {
			from := FromAbsent + Source(i%absents)
			return f.forged(from, f.req(from, uint32(i)))
		}},
	{Name: "req-many", Does: "requests under 200 addresses of another network, whose router gets the answers",
		By: Forger, Make: func(f *Flood, i uint64) Datagram {
			from := FromRemote + Source(i%remotes)
			return f.forged(from, f.req(from, uint32(i)))
		}},
	{Name: "req-many-no-service", Does: "such requests for services that do not exist",
		By: Forger, Make: func(f *Flood, i uint64) Datagram {
			from := FromRemote + Source(i%remotes)
			return f.forged(from, f.reqNoService(from, uint32(i)))
		}},
	{Name: "req-foreign-gid", Does: "requests that name another host as the peer",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram { return f.message(f.req(FromThird, uint32(i))) }},
	{Name: "req-no-service", Does: "requests for services that do not exist",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram {
			return f.message(f.reqNoService(FromSelf, uint32(i)))
		}},
	{Name: "req-given-up", Does: "requests, each given up at once",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram {
			m := f.req(FromSelf, uint32(i/2))
			if i%2 == 1 {
				m = rawcm.GivenUp(m)
			}
			return f.message(m)
		}},
	{Name: "req-good-guid", Does: "requests under the good host's address",
		By: Forger, Make: func(f *Flood, i uint64) Datagram {
			return f.forged(FromGood, f.req(FromGood, uint32(i)))
		}},
	{Name: "rep-guess", Does: "answers to requests that were not sent", By: Stranger, Make: about(mad.AttrREP)},
	{Name: "rtu-guess", Does: "RTUs for random connections", By: Stranger, Make: about(mad.AttrRTU)},
	{Name: "rej-guess", Does: "REJs for random connections", By: Stranger, Make: about(mad.AttrREJ)},
	{Name: "rej-zero", Does: "REJs that name no connection", By: Stranger, Make: func(f *Flood, i uint64) Datagram {
		return f.message(f.mad(mad.Message{Attribute: mad.AttrREJ, REJ: mad.REJ{RemoteCommID: mad.CommID(f.random.Uint32()), Reason: mad.RejectTimeout}}))
	}},
	{Name: "dreq-guess", Does: "DREQs for random connections", By: Stranger, Make: about(mad.AttrDREQ)},
	{Name: "mra-guess", Does: "MRAs for random connections", By: Stranger, Make: about(mad.AttrMRA)},
	{Name: "lap", Does: "LAPs, which nobody supports", By: Stranger, Make: func(f *Flood, i uint64) Datagram {
		d := f.message(f.mad(mad.Message{Attribute: mad.AttrDREQ, DREQ: mad.DREQ{LocalCommID: 1, RemoteCommID: mad.CommID(f.random.Uint32())}}))
		at := len(d.Bytes) - mad.Len + 16
		d.Bytes[at], d.Bytes[at+1] = 0, byte(mad.AttrLAP)
		return d
	}},
	{Name: "sidr-req", Does: "requests for datagram queue pairs of a service that does not exist",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram {
			return f.message(f.cms[FromSelf].SIDRREQ(uint32(i), f.RpingSrv))
		}},
	{Name: "mad-garbage", Does: "random bytes to queue pair 1", By: Stranger, Make: func(f *Flood, i uint64) Datagram {
		for k := range f.madBuf {
			f.madBuf[k] = byte(f.random.Uint32())
		}
		return f.gsi(f.madBuf[:])
	}},
	{Name: "mad-short", Does: "datagrams of 4 bytes to queue pair 1",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram { return f.gsi(filler[:4]) }},
	{Name: "mad-class", Does: "MADs of another class", By: Stranger, Make: func(f *Flood, i uint64) Datagram {
		d := f.message(f.req(FromSelf, uint32(i)))
		d.Bytes[len(d.Bytes)-mad.Len+1] = 3
		return d
	}},
	{Name: "mad-qkey", Does: "messages with a wrong Q_Key", By: Stranger, Make: func(f *Flood, i uint64) Datagram {
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
