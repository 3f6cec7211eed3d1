package mad_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
)

// golden is one message of a file in testdata; rxe.txt describes the layout.
type golden struct {
	file   string // name of the capture, or of the message
	frame  int
	fields map[string]string
	mad    []byte
}

func (g *golden) String() string { return g.file + "_" + strconv.Itoa(g.frame) }

func readGolden(t testing.TB, path string) []golden {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	for record := range strings.SplitSeq(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\n") {
		lines := strings.Split(strings.TrimSpace(record), "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		file, frame, _ := strings.Cut(lines[0], " ")
		g := golden{file: file, fields: map[string]string{}}
		if g.frame, err = strconv.Atoi(frame); err != nil {
			t.Fatalf("%s: %q: %v", path, lines[0], err)
		}
		digits := ""
		for _, line := range lines[1:] {
			if !strings.Contains(line, "=") {
				digits += line
				continue
			}
			for field := range strings.FieldsSeq(line) {
				key, value, _ := strings.Cut(field, "=")
				g.fields[key] = value
			}
		}
		g.mad = wire(t, digits)
		all = append(all, g)
	}
	if len(all) == 0 {
		t.Fatalf("%s: no messages", path)
	}
	return all
}

// wire decodes hexadecimal digits, with spaces anywhere, to a MAD padded with zeros.
func wire(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		t.Fatalf("%q: %v", digits, err)
	}
	if len(b) > mad.Len {
		t.Fatalf("%d bytes are more than a MAD", len(b))
	}
	return append(b, make([]byte, mad.Len-len(b))...)
}

func TestEveryMessageOfRxe(t *testing.T) {
	for _, g := range readGolden(t, "testdata/rxe.txt") {
		t.Run(g.String(), func(t *testing.T) { checkGolden(t, &g) })
	}
}

func TestMessagesThatRxeSendsOnlyWhenProvoked(t *testing.T) {
	for _, g := range readGolden(t, "testdata/peer.txt") {
		t.Run(g.String(), func(t *testing.T) { checkGolden(t, &g) })
	}
}

func TestEveryFieldThatWiresharkKnows(t *testing.T) {
	for _, g := range readGolden(t, "testdata/wireshark.txt") {
		t.Run(g.file, func(t *testing.T) { checkGolden(t, &g) })
	}
}

// checkGolden compares every field that Wireshark decodes with the result of Decode, and the
// bytes with the result of Encode.
func checkGolden(t *testing.T, g *golden) {
	var m mad.Message
	if err := m.Decode(g.mad); err != nil {
		t.Fatal(mad.Explain(g.mad))
	}
	got := asWireshark(t, &m)
	for key, want := range g.fields {
		v, known := got[key]
		if !known {
			t.Errorf("field %s of the golden file is not compared", key)
		} else if v != want {
			t.Errorf("%s = %s, want %s", key, v, want)
		}
	}
	var b [mad.Len]byte
	if err := m.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b[:], g.mad) {
		t.Errorf("Encode(Decode(b))\n got %x\nwant %x", b, g.mad)
	}
}

// asWireshark returns the fields of m under Wireshark's names.
func asWireshark(t *testing.T, m *mad.Message) map[string]string {
	f := fields{}
	f.add("mad.", "baseversion", 1, "mgmtclass", 7, "classversion", 2, "method", 3, "status", 0, "classspecific", 0,
		"transactionid", m.TransactionID, "attributeid", uint16(m.Attribute), "attributemodifier", m.AttributeModifier)
	switch m.Attribute {
	case mad.AttrREQ:
		f.addREQ(t, &m.REQ)
	case mad.AttrREP:
		r := &m.REP
		f.add("cm.", "rep", r.LocalCommID)
		f.add("cm.rep.", "remotecommid", r.RemoteCommID, "localqkey", r.LocalQKey, "localqpn", r.LocalQPN,
			"localeecn", r.LocalEECN, "startpsn", r.StartingPSN, "respres", r.ResponderResources,
			"initdepth", r.InitiatorDepth, "tgtackdelay", r.TargetACKDelay, "failoveracc", r.FailoverAccepted,
			"e2eflowctrl", r.EndToEndFlowControl, "rnrretrcount", r.RNRRetryCount, "srq", r.SRQ,
			"localcaguid", uint64(r.LocalCAGUID), "private", r.PrivateData)
	case mad.AttrRTU:
		f.add("cm.rtu.", "localcommid", m.RTU.LocalCommID, "remotecommid", m.RTU.RemoteCommID,
			"private", m.RTU.PrivateData)
	case mad.AttrREJ:
		r := &m.REJ
		f.add("cm.rej.", "localcommid", r.LocalCommID, "remotecommid", r.RemoteCommID,
			"msgrej", uint8(r.MessageRejected), "rejinfolen", len(r.ARI), "reason", uint16(r.Reason),
			"ari", append(bytes.Clone(r.ARI), make([]byte, mad.InfoLen-len(r.ARI))...),
			"private", r.PrivateData)
	case mad.AttrMRA:
		r := &m.MRA
		f.add("cm.mra.", "localcommid", r.LocalCommID, "remotecommid", r.RemoteCommID,
			"msgmraed", uint8(r.MessageMRAed), "servicetimeout", r.ServiceTimeout, "private", r.PrivateData)
	case mad.AttrSIDRREQ:
		r := &m.SIDRREQ
		f.add("cm.sidrreq.", "requestid", r.RequestID, "pkey", r.PKey, "serviceid", uint64(r.ServiceID),
			"private", r.PrivateData)
	case mad.AttrSIDRREP:
		r := &m.SIDRREP
		f.add("cm.sidrrep.", "requestid", r.RequestID, "status", uint8(r.Status),
			"infolen", len(r.AdditionalInformation), "qpn", r.QPN, "serviceid", uint64(r.ServiceID), "qkey", r.QKey,
			"info",
			append(bytes.Clone(r.AdditionalInformation), make([]byte, mad.InfoLen-len(r.AdditionalInformation))...),
			"private", r.PrivateData)
	case mad.AttrDREQ:
		f.add("cm.dreq.", "localcommid", m.DREQ.LocalCommID, "remotecommid", m.DREQ.RemoteCommID,
			"private", m.DREQ.PrivateData)
		f.add("cm.req.", "remoteqpneecn", m.DREQ.RemoteQPN) // the name in Wireshark
	case mad.AttrDREP:
		f.add("cm.drsp.", "localcommid", m.DREP.LocalCommID, "remotecommid", m.DREP.RemoteCommID,
			"private", m.DREP.PrivateData)
	}
	return f
}

type fields map[string]string

// add adds pairs of a name and a value, in hexadecimal without leading zeros.
func (f fields) add(prefix string, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i+1]
		if flag, ok := v.(bool); ok {
			v = 0
			if flag {
				v = 1
			}
		}
		text := strings.TrimLeft(fmt.Sprintf("%x", v), "0")
		if text == "" {
			text = "0"
		}
		f[prefix+pairs[i].(string)] = text
	}
}

func (f fields) addREQ(t *testing.T, r *mad.REQ) {
	f.add("cm.", "req", r.LocalCommID)
	f.add("cm.req.", "serviceid", uint64(r.ServiceID), "localcaguid", uint64(r.LocalCAGUID), "localqkey", r.LocalQKey,
		"localqpn", r.LocalQPN, "responderres", r.ResponderResources, "localeecn", r.LocalEECN,
		"initdepth", r.InitiatorDepth, "remoteeecn", r.RemoteEECN, "remoteresptout", r.RemoteCMResponseTimeout,
		"transpsvctype", uint8(r.TransportService), "e2eflowctrl", r.EndToEndFlowControl,
		"startpsn", r.StartingPSN, "localresptout", r.LocalCMResponseTimeout, "retrcount", r.RetryCount,
		"pkey", r.PKey, "pppmtu", r.PathMTU, "rdcexist", r.RDCExists, "rnrretrcount", r.RNRRetryCount,
		"maxcmretr", r.MaxCMRetries, "srq", r.SRQ, "ext_transport", r.ExtendedTransport, "ip_cm", r.PrivateData)
	for prefix, p := range map[string]*mad.Path{"cm.req.prim_": &r.Primary, "cm.req.alt_": &r.Alternate} {
		f.add(prefix, "locallid", p.LocalLID, "remotelid", p.RemoteLID, "localgid", p.LocalGID[:],
			"remotegid", p.RemoteGID[:], "tfcclass", p.TrafficClass, "hoplim", p.HopLimit, "sl", p.SL,
			"subnetlocal", p.SubnetLocal, "localacktout", p.LocalACKTimeout)
	}
	f.add("cm.req.prim_", "localgid_ipv4", r.Primary.LocalGID[12:], "remotegid_ipv4", r.Primary.RemoteGID[12:])

	ps, port, ok := r.ServiceID.IP()
	if !ok {
		t.Errorf("service ID %v is no port", r.ServiceID)
	}
	f.add("cm.req.serviceid.", "prefix", uint16(ps>>8), "protocol", uint8(ps), "dport", port)
	var h mad.IPHeader
	consumer, err := h.Decode(r.PrivateData)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	f.add("cm.req.ip_cm.", "majv", 0, "minv", 0, "ipv", 4, "sport", h.SourcePort,
		"sip4", h.Source.AsSlice(), "dip4", h.Destination.AsSlice(), "private", consumer)
	again, err := h.Append(nil)
	if err != nil || !bytes.Equal(append(again, consumer...), r.PrivateData) {
		t.Errorf("IP header encoded as %x, %v, want the front of %x", again, err, r.PrivateData)
	}
}

// The fields that Wireshark 4.0.17 misreads follow from the ports, by the rule of rdma_cm, and
// the address in the private data from the GID.
func TestFlowLabelRateAndSenderOfRxe(t *testing.T) {
	n := 0
	for _, g := range readGolden(t, "testdata/rxe.txt") {
		var m mad.Message
		if err := m.Decode(g.mad); err != nil || m.Attribute != mad.AttrREQ {
			continue
		}
		n++
		var h mad.IPHeader
		if _, err := h.Decode(m.REQ.PrivateData); err != nil {
			t.Fatal(err)
		}
		// rdma_cm selects the GID by the address that it writes here.
		if err := h.CheckSender(m.REQ.Primary.LocalGID); err != nil {
			t.Errorf("%s: %v", &g, err)
		}
		_, port, _ := m.REQ.ServiceID.IP()
		if got, want := m.REQ.Primary.FlowLabel, mad.FlowLabel(h.SourcePort, port); got != want {
			t.Errorf("%s: flow label %#05x, want %#05x", &g, got, want)
		}
		if got := m.REQ.Primary.PacketRate; got != 0 {
			t.Errorf("%s: packet rate %d, want 0", &g, got)
		}
		if !m.REQ.Alternate.IsZero() || m.REQ.Primary.IsZero() {
			t.Errorf("%s: it has a primary path alone, got %+v", &g, m.REQ)
		}
	}
	if n != 3 {
		t.Errorf("%d REQs, want 3", n)
	}
}
