package mad_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
	"pgregory.net/rapid"
)

// messages are the attributes with an encoding.
var messages = []mad.Attribute{
	mad.AttrREQ, mad.AttrMRA, mad.AttrREJ, mad.AttrREP, mad.AttrRTU, mad.AttrDREQ, mad.AttrDREP, mad.AttrSIDRREQ,
	mad.AttrSIDRREP,
}

// A drawer draws values for the fields of a message.
type drawer struct{ t *rapid.T }

func (d drawer) u8(name string, limit uint8) uint8   { return rapid.Uint8Range(0, limit).Draw(d.t, name) }
func (d drawer) u16(name string) uint16              { return rapid.Uint16().Draw(d.t, name) }
func (d drawer) u24(name string) uint32              { return rapid.Uint32Range(0, 1<<24-1).Draw(d.t, name) }
func (d drawer) u32(name string) uint32              { return rapid.Uint32().Draw(d.t, name) }
func (d drawer) u64(name string) uint64              { return rapid.Uint64().Draw(d.t, name) }
func (d drawer) id(name string) mad.CommID           { return mad.CommID(d.u32(name)) }
func (d drawer) timeout(name string) mad.Timeout     { return mad.Timeout(d.u8(name, 31)) }
func (d drawer) flag(name string) bool               { return rapid.Bool().Draw(d.t, name) }
func (d drawer) private(limit int) []byte            { return d.bytes("private data", limit) }
func (d drawer) CommIDs() (local, remote mad.CommID) { return d.id("local ID"), d.id("remote ID") }
func (d drawer) qpn() bth.QPN                        { return bth.QPN(d.u24("QPN")) }
func (d drawer) psn() bth.PSN                        { return bth.PSN(d.u24("PSN")) }
func (d drawer) depths() (resources, initiator uint8) {
	return d.u8("resources", 255), d.u8("depth", 255)
}

func (d drawer) gid(name string) (g qp.GID) {
	binary.BigEndian.PutUint64(g[:], d.u64(name))
	binary.BigEndian.PutUint64(g[8:], d.u64(name))
	return g
}

// bytes draws a slice of up to limit bytes, each different from its neighbours.
func (d drawer) bytes(name string, limit int) []byte {
	b := make([]byte, rapid.IntRange(0, limit).Draw(d.t, name))
	first, step := d.u8("first byte", 255), d.u8("step", 126)+1
	for i := range b {
		b[i] = first
		first += step
	}
	return b
}

func (d drawer) path() mad.Path {
	return mad.Path{
		LocalLID: d.u16("local LID"), RemoteLID: d.u16("remote LID"),
		LocalGID: d.gid("local GID"), RemoteGID: d.gid("remote GID"),
		FlowLabel: d.u24("flow label") >> 4, PacketRate: d.u8("rate", 63), TrafficClass: d.u8("traffic class", 255),
		HopLimit: d.u8("hop limit", 255), SL: d.u8("SL", 15), SubnetLocal: d.flag("subnet local"),
		LocalACKTimeout: d.timeout("ACK timeout"),
	}
}

func (d drawer) req() mad.REQ {
	r := mad.REQ{
		LocalCommID: d.id("local ID"), VendorID: d.u24("vendor"), ServiceID: mad.ServiceID(d.u64("service")),
		LocalCAGUID: mad.GUID(d.u64("GUID")),
		LocalQKey:   d.u32("Q_Key"), LocalQPN: d.qpn(), LocalEECN: d.u24("EECN"), RemoteEECN: d.u24("remote EECN"),
		RemoteCMResponseTimeout: d.timeout("remote"), LocalCMResponseTimeout: d.timeout("local"),
		TransportService: mad.TransportService(d.u8("transport", 3)), ExtendedTransport: d.u8("extended", 7),
		EndToEndFlowControl: d.flag("flow control"), StartingPSN: d.psn(),
		RetryCount: d.u8("retries", 7), RNRRetryCount: d.u8("RNR", 7),
		MaxCMRetries: d.u8("CM retries", 15), PKey: d.u16("P_Key"),
		PathMTU: d.u8("MTU", 15), RDCExists: d.flag("RDC"), SRQ: d.flag("SRQ"),
		Primary: d.path(), Alternate: d.path(), SAPSupported: d.flag("SAP"), PrivateData: d.private(mad.REQPrivateLen),
	}
	r.ResponderResources, r.InitiatorDepth = d.depths()
	return r
}

func (d drawer) rep() mad.REP {
	r := mad.REP{
		LocalQKey: d.u32("Q_Key"), LocalQPN: d.qpn(), VendorID: d.u24("vendor"), LocalEECN: d.u24("EECN"),
		StartingPSN: d.psn(), TargetACKDelay: d.timeout("ACK delay"), FailoverAccepted: d.u8("failover", 3),
		EndToEndFlowControl: d.flag("flow control"), RNRRetryCount: d.u8("RNR", 7), SRQ: d.flag("SRQ"),
		LocalCAGUID: mad.GUID(d.u64("GUID")), PrivateData: d.private(mad.REPPrivateLen),
	}
	r.LocalCommID, r.RemoteCommID = d.CommIDs()
	r.ResponderResources, r.InitiatorDepth = d.depths()
	return r
}

// drawMAD draws a message with values in the range of their fields.
func drawMAD(t *rapid.T, attr mad.Attribute) mad.Message {
	d := drawer{t}
	m := mad.Message{TransactionID: d.u64("transaction"), Attribute: attr, AttributeModifier: d.u32("modifier")}
	switch attr {
	case mad.AttrREQ:
		m.REQ = d.req()
	case mad.AttrMRA:
		m.MRA = mad.MRA{MessageMRAed: mad.MessageType(d.u8("message", 3)), ServiceTimeout: d.timeout("service"),
			PrivateData: d.private(mad.MRAPrivateLen)}
		m.MRA.LocalCommID, m.MRA.RemoteCommID = d.CommIDs()
	case mad.AttrREJ:
		m.REJ = mad.REJ{
			MessageRejected: mad.MessageType(d.u8("message", 3)), Reason: mad.RejectReason(d.u16("reason")),
			ARI: d.bytes("ARI", mad.InfoLen), PrivateData: d.private(mad.REJPrivateLen),
		}
		m.REJ.LocalCommID, m.REJ.RemoteCommID = d.CommIDs()
	case mad.AttrREP:
		m.REP = d.rep()
	case mad.AttrRTU:
		m.RTU.LocalCommID, m.RTU.RemoteCommID = d.CommIDs()
		m.RTU.PrivateData = d.private(mad.RTUPrivateLen)
	case mad.AttrDREQ:
		m.DREQ.LocalCommID, m.DREQ.RemoteCommID = d.CommIDs()
		m.DREQ.RemoteQPN, m.DREQ.PrivateData = d.qpn(), d.private(mad.DREQPrivateLen)
	case mad.AttrDREP:
		m.DREP.LocalCommID, m.DREP.RemoteCommID = d.CommIDs()
		m.DREP.PrivateData = d.private(mad.DREPPrivateLen)
	case mad.AttrSIDRREQ:
		m.SIDRREQ = mad.SIDRREQ{
			RequestID: d.id("request"), PKey: d.u16("P_Key"), ServiceID: mad.ServiceID(d.u64("service")),
			PrivateData: d.private(mad.SIDRREQPrivateLen),
		}
	case mad.AttrSIDRREP:
		m.SIDRREP = mad.SIDRREP{
			RequestID: d.id("request"), Status: mad.SIDRStatus(d.u8("status", 255)), VendorID: d.u24("vendor"),
			QPN: d.qpn(), ServiceID: mad.ServiceID(d.u64("service")), QKey: d.u32("Q_Key"),
			AdditionalInformation: d.bytes("information", mad.InfoLen), PrivateData: d.private(mad.SIDRREPPrivateLen),
		}
	}
	return m
}

// filled returns m with its private data as Decode returns it: padded to the maximum length.
func filled(m mad.Message) mad.Message {
	for p, n := range map[*[]byte]int{
		&m.REQ.PrivateData: mad.REQPrivateLen, &m.MRA.PrivateData: mad.MRAPrivateLen,
		&m.REJ.PrivateData: mad.REJPrivateLen,
		&m.REP.PrivateData: mad.REPPrivateLen, &m.RTU.PrivateData: mad.RTUPrivateLen,
		&m.DREQ.PrivateData: mad.DREQPrivateLen,
		&m.DREP.PrivateData: mad.DREPPrivateLen, &m.SIDRREQ.PrivateData: mad.SIDRREQPrivateLen,
		&m.SIDRREP.PrivateData: mad.SIDRREPPrivateLen,
	} {
		if *p != nil {
			*p = private(string(*p), n)
		}
	}
	return m
}

func TestPropertyDecodeInvertsEncode(t *testing.T) {
	for _, attr := range messages {
		t.Run(attr.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := drawMAD(t, attr)
				b := [mad.Len]byte(bytes.Repeat([]byte{rapid.Byte().Draw(t, "earlier content")}, mad.Len))
				if err := want.Encode(&b); err != nil {
					t.Fatal(err)
				}
				var got mad.Message
				if err := got.Decode(b[:]); err != nil {
					t.Fatal(mad.Explain(b[:]))
				}
				if want := filled(want); !reflect.DeepEqual(want, got) {
					t.Fatalf("Decode(Encode(m)) (-m +got):\n%s", cmp.Diff(want, got))
				}
			})
		})
	}
}
