package fields

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace/ulp"
)

// upper appends the header fields of the upper-layer protocol in the payload, which is at offset
// at: those of the first packet of a SEND.
func (l *list) upper(at int) {
	p := l.p
	info := p.BTH.Opcode.Info()
	if p.Message == nil || p.Message.ULP == nil || p.Message.ULP.Transfer || info.Op != bth.OpSend || !info.Starts() ||
		p.BTH.PSN != p.Message.First {
		return
	}
	n := p.PayloadLen()
	if !info.Ends() {
		n = ulp.UnknownLen
	}
	u := p.Message.ULP
	l.appendUpper(at, ulp.AppendFields(nil, u.PDU.Protocol, u.Context, p.BTH.Payload, n))
}

// upperPrivate appends the fields of the upper-layer protocol in the private data of a CM message,
// which are at offset at.
func (l *list) upperPrivate(m *mad.Message, at int, data []byte) {
	if l.p.Flow == nil {
		return
	}
	x := ulp.Request
	switch m.Attribute {
	case mad.AttrREQ:
	case mad.AttrREP:
		x = ulp.Reply
	case mad.AttrREJ:
		x = ulp.Reject
	default:
		return
	}
	l.appendUpper(at, ulp.AppendPrivateFields(nil, l.p.Flow.ULP, x, data))
}

func (l *list) appendUpper(at int, fields []ulp.Field) {
	for _, f := range fields {
		l.begin(f.Header, at)
		l.add(f.Offset, f.Len, f.Name, "%s", f.Value)
	}
}
