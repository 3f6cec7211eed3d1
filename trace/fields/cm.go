package fields

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/cm/mad"
)

// cmField is a field of a CM message. at is its offset after the common MAD header and n its
// length, in bytes.
type cmField struct {
	at, n int
	name  string
	value func(*mad.Message) any
}

// cmFields are the CM message formats of IBA chapter 12, except reserved fields and those for
// Reliable Datagram, which RoCEv2 does not support.
var cmFields = map[mad.Attribute][]cmField{
	mad.AttrREQ: {
		{0, 4, "Local Communication ID", func(m *mad.Message) any { return m.REQ.LocalCommID }},
		{8, 8, "ServiceID", func(m *mad.Message) any { return m.REQ.ServiceID }},
		{16, 8, "Local CA GUID", func(m *mad.Message) any { return m.REQ.LocalCAGUID }},
		{28, 4, "Local Q_Key", func(m *mad.Message) any { return hex(m.REQ.LocalQKey) }},
		{32, 3, "Local QPN", func(m *mad.Message) any { return hex24(m.REQ.LocalQPN) }},
		{35, 1, "Responder Resources", func(m *mad.Message) any { return m.REQ.ResponderResources }},
		{39, 1, "Initiator Depth", func(m *mad.Message) any { return m.REQ.InitiatorDepth }},
		{43, 1, "Remote CM Response Timeout",
			func(m *mad.Message) any { return timeout(m.REQ.RemoteCMResponseTimeout) }},
		{43, 1, "Transport Service Type", func(m *mad.Message) any { return m.REQ.TransportService }},
		{43, 1, "End-to-End Flow Control", func(m *mad.Message) any { return m.REQ.EndToEndFlowControl }},
		{44, 3, "Starting PSN", func(m *mad.Message) any { return psn(m.REQ.StartingPSN) }},
		{47, 1, "Local CM Response Timeout", func(m *mad.Message) any { return timeout(m.REQ.LocalCMResponseTimeout) }},
		{47, 1, "Retry Count", func(m *mad.Message) any { return m.REQ.RetryCount }},
		{48, 2, "Partition Key (P_Key)", func(m *mad.Message) any { return fmt.Sprintf("0x%04x", m.REQ.PKey) }},
		{50, 1, "Path Packet Payload MTU", func(m *mad.Message) any { return mtu(m.REQ.PathMTU) }},
		{50, 1, "RDC Exists", func(m *mad.Message) any { return m.REQ.RDCExists }},
		{50, 1, "RNR Retry Count", func(m *mad.Message) any { return rnrRetry(m.REQ.RNRRetryCount) }},
		{51, 1, "Max CM Retries", func(m *mad.Message) any { return m.REQ.MaxCMRetries }},
		{51, 1, "SRQ", func(m *mad.Message) any { return m.REQ.SRQ }},
		{51, 1, "Extended Transport Type", func(m *mad.Message) any { return m.REQ.ExtendedTransport }},
		{52, 2, "Primary Local Port LID", func(m *mad.Message) any { return m.REQ.Primary.LocalLID }},
		{54, 2, "Primary Remote Port LID", func(m *mad.Message) any { return m.REQ.Primary.RemoteLID }},
		{56, 16, "Primary Local Port GID", func(m *mad.Message) any { return gid(m.REQ.Primary.LocalGID) }},
		{72, 16, "Primary Remote Port GID", func(m *mad.Message) any { return gid(m.REQ.Primary.RemoteGID) }},
		{88, 3, "Primary Flow Label",
			func(m *mad.Message) any { return fmt.Sprintf("0x%05x", m.REQ.Primary.FlowLabel) }},
		{91, 1, "Primary Packet Rate", func(m *mad.Message) any { return m.REQ.Primary.PacketRate }},
		{92, 1, "Primary Traffic Class", func(m *mad.Message) any { return m.REQ.Primary.TrafficClass }},
		{93, 1, "Primary Hop Limit", func(m *mad.Message) any { return m.REQ.Primary.HopLimit }},
		{94, 1, "Primary SL", func(m *mad.Message) any { return m.REQ.Primary.SL }},
		{94, 1, "Primary Subnet Local", func(m *mad.Message) any { return m.REQ.Primary.SubnetLocal }},
		{95, 1, "Primary Local ACK Timeout",
			func(m *mad.Message) any { return timeout(m.REQ.Primary.LocalACKTimeout) }},
		{96, 44, "Alternate Path", func(m *mad.Message) any { return alternate(&m.REQ) }},
	},
	mad.AttrMRA: {
		{0, 4, "Local Communication ID", func(m *mad.Message) any { return m.MRA.LocalCommID }},
		{4, 4, "Remote Communication ID", func(m *mad.Message) any { return m.MRA.RemoteCommID }},
		{8, 1, "Message MRAed", func(m *mad.Message) any { return m.MRA.MessageMRAed }},
		{9, 1, "Service Timeout", func(m *mad.Message) any { return timeout(m.MRA.ServiceTimeout) }},
	},
	mad.AttrREJ: {
		{0, 4, "Local Communication ID", func(m *mad.Message) any { return m.REJ.LocalCommID }},
		{4, 4, "Remote Communication ID", func(m *mad.Message) any { return m.REJ.RemoteCommID }},
		{8, 1, "Message REJected", func(m *mad.Message) any { return m.REJ.MessageRejected }},
		{9, 1, "Reject Info Length", func(m *mad.Message) any { return len(m.REJ.ARI) }},
		{10, 2, "Reason", func(m *mad.Message) any {
			return fmt.Sprintf("%d (%s)", uint16(m.REJ.Reason), m.REJ.Reason)
		}},
		{12, 72, "Additional Reject Information (ARI)",
			func(m *mad.Message) any { return fmt.Sprintf("%x", m.REJ.ARI) }},
	},
	mad.AttrREP: {
		{0, 4, "Local Communication ID", func(m *mad.Message) any { return m.REP.LocalCommID }},
		{4, 4, "Remote Communication ID", func(m *mad.Message) any { return m.REP.RemoteCommID }},
		{8, 4, "Local Q_Key", func(m *mad.Message) any { return hex(m.REP.LocalQKey) }},
		{12, 3, "Local QPN", func(m *mad.Message) any { return hex24(m.REP.LocalQPN) }},
		{20, 3, "Starting PSN", func(m *mad.Message) any { return psn(m.REP.StartingPSN) }},
		{24, 1, "Responder Resources", func(m *mad.Message) any { return m.REP.ResponderResources }},
		{25, 1, "Initiator Depth", func(m *mad.Message) any { return m.REP.InitiatorDepth }},
		{26, 1, "Target ACK Delay", func(m *mad.Message) any { return timeout(m.REP.TargetACKDelay) }},
		{26, 1, "Failover Accepted", func(m *mad.Message) any { return m.REP.FailoverAccepted }},
		{26, 1, "End-To-End Flow Control", func(m *mad.Message) any { return m.REP.EndToEndFlowControl }},
		{27, 1, "RNR Retry Count", func(m *mad.Message) any { return rnrRetry(m.REP.RNRRetryCount) }},
		{27, 1, "SRQ", func(m *mad.Message) any { return m.REP.SRQ }},
		{28, 8, "Local CA GUID", func(m *mad.Message) any { return m.REP.LocalCAGUID }},
	},
	mad.AttrRTU: {
		{0, 4, "Local Communication ID", func(m *mad.Message) any { return m.RTU.LocalCommID }},
		{4, 4, "Remote Communication ID", func(m *mad.Message) any { return m.RTU.RemoteCommID }},
	},
	mad.AttrDREQ: {
		{0, 4, "Local Communication ID", func(m *mad.Message) any { return m.DREQ.LocalCommID }},
		{4, 4, "Remote Communication ID", func(m *mad.Message) any { return m.DREQ.RemoteCommID }},
		{8, 3, "Remote QPN", func(m *mad.Message) any { return hex24(m.DREQ.RemoteQPN) }},
	},
	mad.AttrDREP: {
		{0, 4, "Local Communication ID", func(m *mad.Message) any { return m.DREP.LocalCommID }},
		{4, 4, "Remote Communication ID", func(m *mad.Message) any { return m.DREP.RemoteCommID }},
	},
	mad.AttrSIDRREQ: {
		{0, 4, "RequestID", func(m *mad.Message) any { return m.SIDRREQ.RequestID }},
		{4, 2, "Partition Key (P_Key)", func(m *mad.Message) any { return fmt.Sprintf("0x%04x", m.SIDRREQ.PKey) }},
		{8, 8, "ServiceID", func(m *mad.Message) any { return m.SIDRREQ.ServiceID }},
	},
	mad.AttrSIDRREP: {
		{0, 4, "RequestID", func(m *mad.Message) any { return m.SIDRREP.RequestID }},
		{4, 1, "Status", func(m *mad.Message) any {
			return fmt.Sprintf("%d (%s)", uint8(m.SIDRREP.Status), m.SIDRREP.Status)
		}},
		{5, 1, "Additional Information Length",
			func(m *mad.Message) any { return len(m.SIDRREP.AdditionalInformation) }},
		{8, 3, "QPN", func(m *mad.Message) any { return hex24(m.SIDRREP.QPN) }},
		{12, 8, "ServiceID", func(m *mad.Message) any { return m.SIDRREP.ServiceID }},
		{20, 4, "Q_Key", func(m *mad.Message) any { return hex(m.SIDRREP.QKey) }},
		{24, 72, "Additional Information",
			func(m *mad.Message) any { return fmt.Sprintf("%x", m.SIDRREP.AdditionalInformation) }},
	},
}

// cmPrivate is the offset and value of the private data of each message.
var cmPrivate = map[mad.Attribute]struct {
	at   int
	data func(*mad.Message) []byte
}{
	mad.AttrREQ:     {140, func(m *mad.Message) []byte { return m.REQ.PrivateData }},
	mad.AttrMRA:     {10, func(m *mad.Message) []byte { return m.MRA.PrivateData }},
	mad.AttrREJ:     {84, func(m *mad.Message) []byte { return m.REJ.PrivateData }},
	mad.AttrREP:     {36, func(m *mad.Message) []byte { return m.REP.PrivateData }},
	mad.AttrRTU:     {8, func(m *mad.Message) []byte { return m.RTU.PrivateData }},
	mad.AttrDREQ:    {12, func(m *mad.Message) []byte { return m.DREQ.PrivateData }},
	mad.AttrDREP:    {8, func(m *mad.Message) []byte { return m.DREP.PrivateData }},
	mad.AttrSIDRREQ: {16, func(m *mad.Message) []byte { return m.SIDRREQ.PrivateData }},
	mad.AttrSIDRREP: {96, func(m *mad.Message) []byte { return m.SIDRREP.PrivateData }},
}

// management appends the fields of the CM message at offset at. It reports whether the packet has
// one.
func (l *list) management(at int) bool {
	m := l.p.MAD
	if m == nil {
		return false
	}
	b := l.p.Bytes[at:]
	l.begin("MAD", at)
	l.add(0, 1, "BaseVersion", "%d", b[0])
	l.add(1, 1, "MgmtClass", "%d (communication management)", b[1])
	l.add(2, 1, "ClassVersion", "%d", b[2])
	l.add(3, 1, "Method", "0x%02x (Send)", b[3])
	l.add(4, 2, "Status", "0x%04x", uint16(b[4])<<8|uint16(b[5]))
	l.add(8, 8, "TransactionID", "0x%016x", m.TransactionID)
	l.add(16, 2, "AttributeID", "0x%04x (%s)", uint16(m.Attribute), m.Attribute)
	l.add(20, 4, "AttributeModifier", "0x%08x", m.AttributeModifier)
	l.begin("CM "+m.Attribute.String(), at+mad.HeaderLen)
	for _, f := range cmFields[m.Attribute] {
		l.add(f.at, f.n, f.name, "%s", plain(f.value(m)))
	}
	if private, ok := cmPrivate[m.Attribute]; ok {
		l.private(m, private.at, private.data(m))
	}
	return true
}

// private appends the private data, which is at offset at. For services of IP it first appends the
// fields of the rdma_cm IP header, with which this data begins.
func (l *list) private(m *mad.Message, at int, data []byte) {
	var service mad.ServiceID
	switch m.Attribute {
	case mad.AttrREQ:
		service = m.REQ.ServiceID
	case mad.AttrSIDRREQ:
		service = m.SIDRREQ.ServiceID
	}
	if _, _, ok := service.IP(); ok {
		var h mad.IPHeader
		if _, err := h.Decode(data); err == nil {
			l.add(at+2, 2, "IP CM Source Port", "%d", h.SourcePort)
			l.add(at+4, 16, "IP CM Source Address", "%v", h.Source)
			l.add(at+20, 16, "IP CM Destination Address", "%v", h.Destination)
			at, data = at+mad.IPHeaderLen, data[mad.IPHeaderLen:]
		}
	}
	l.add(at, len(data), PrivateData, "%d bytes", len(data))
	l.upperPrivate(m, l.at+at, data)
}

// plain formats the value of a cmField.
func plain(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "1"
		}
		return "0"
	case mad.CommID:
		return hex(uint32(v))
	}
	return fmt.Sprint(v)
}

func hex(v uint32) string                         { return fmt.Sprintf("0x%08x", v) }
func hex24[T ~uint32](v T) string                 { return fmt.Sprintf("0x%06x", uint32(v)) }
func psn[T ~uint32](v T) string                   { return fmt.Sprintf("%06x (%d)", uint32(v), uint32(v)) }
func gid(g interface{ Addr() netip.Addr }) string { return g.Addr().String() }

func timeout(t mad.Timeout) string {
	return fmt.Sprintf("%d (%v)", t, time.Duration(t.Nanoseconds()).Round(time.Microsecond))
}

// mtu formats a path MTU code, 1 (256 bytes) to 5 (4096 bytes).
func mtu(code uint8) string {
	if code < 1 || code > 5 {
		return fmt.Sprintf("%d (reserved)", code)
	}
	return fmt.Sprintf("%d (%d bytes)", code, 128<<code)
}

func rnrRetry(n uint8) string {
	if n == 7 {
		return "7 (without end)"
	}
	return fmt.Sprint(n)
}

func alternate(r *mad.REQ) string {
	if r.Alternate.IsZero() {
		return "none"
	}
	return fmt.Sprintf("from %v to %v", r.Alternate.LocalGID.Addr(), r.Alternate.RemoteGID.Addr())
}
