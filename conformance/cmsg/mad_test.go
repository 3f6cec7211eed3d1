package cmsg_test

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"net/netip"

	"github.com/gorxe/gorxe/conformance/cmsg"
)

// wireshark maps the names of Wireshark to fields.
var wireshark = map[string]cmsg.Field{
	"mad.baseversion": cmsg.BaseVersion, "mad.mgmtclass": cmsg.Class, "mad.classversion": cmsg.ClassVersion,
	"mad.method": cmsg.Method, "mad.status": cmsg.Status, "mad.classspecific": cmsg.ClassSpecific,
	"mad.transactionid": cmsg.TID, "mad.attributeid": cmsg.AttrID, "mad.attributemodifier": cmsg.AttrModifier,
	"cm.req": cmsg.LocalID, "cm.req.serviceid": cmsg.REQService, "cm.req.localcaguid": cmsg.REQGUID,
	"cm.req.localqkey": cmsg.REQQKey, "cm.req.localqpn": cmsg.REQQPN, "cm.req.responderres": cmsg.REQResources,
	"cm.req.initdepth": cmsg.REQDepth, "cm.req.remoteresptout": cmsg.REQRemoteTime,
	"cm.req.transpsvctype": cmsg.REQTransport, "cm.req.e2eflowctrl": cmsg.REQFlowControl,
	"cm.req.startpsn": cmsg.REQPSN, "cm.req.localresptout": cmsg.REQLocalTime, "cm.req.retrcount": cmsg.REQRetries,
	"cm.req.pkey": cmsg.REQPKey, "cm.req.pppmtu": cmsg.REQMTU, "cm.req.rnrretrcount": cmsg.REQRNRRetries,
	"cm.req.maxcmretr": cmsg.REQCMRetries, "cm.req.srq": cmsg.REQSRQ, "cm.req.prim_locallid": cmsg.REQLocalLID,
	"cm.req.prim_remotelid": cmsg.REQRemoteLID, "cm.req.prim_tfcclass": cmsg.REQClass,
	"cm.req.prim_hoplim": cmsg.REQHopLimit, "cm.req.prim_sl": cmsg.REQSL,
	"cm.req.prim_subnetlocal": cmsg.REQSubnetLocal, "cm.req.prim_localacktout": cmsg.REQAckTimeout,
	"cm.req.alt_locallid": cmsg.REQAltLocalLID,
	"cm.rep":              cmsg.LocalID, "cm.rep.remotecommid": cmsg.RemoteID, "cm.rep.localqpn": cmsg.REPQPN,
	"cm.rep.startpsn": cmsg.REPPSN, "cm.rep.respres": cmsg.REPResources, "cm.rep.initdepth": cmsg.REPDepth,
	"cm.rep.failoveracc": cmsg.REPFailover, "cm.rep.e2eflowctrl": cmsg.REPFlowControl,
	"cm.rep.rnrretrcount": cmsg.REPRNRRetries, "cm.rep.srq": cmsg.REPSRQ, "cm.rep.localcaguid": cmsg.REPGUID,
	"cm.rtu.localcommid": cmsg.LocalID, "cm.rtu.remotecommid": cmsg.RemoteID,
	"cm.rej.local_commid": cmsg.LocalID, "cm.rej.remote_commid": cmsg.RemoteID, "cm.rej.msg_rej": cmsg.REJMessage,
	"cm.rej.rej_info_len": cmsg.REJLen, "cm.rej.reason": cmsg.REJReason,
	"cm.dreq.localcommid": cmsg.LocalID, "cm.dreq.remotecommid": cmsg.RemoteID, "cm.dreq.remote_qpn": cmsg.DREQQPN,
	"cm.drsp.localcommid": cmsg.LocalID, "cm.drsp.remotecommid": cmsg.RemoteID,
}

// The fields have the values that Wireshark reads in messages of Linux.
func TestFieldsAreThoseThatWiresharkReads(t *testing.T) {
	checked := map[string]bool{}
	for _, file := range []string{"rxe.txt", "wireshark.txt"} {
		text, err := os.ReadFile("../../cm/mad/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for record := range strings.SplitSeq(string(text), "\n\n") {
			var m cmsg.MAD
			digits, fields := "", map[string]string{}
			for i, line := range strings.Split(strings.TrimSpace(record), "\n") {
				switch {
				case strings.HasPrefix(line, "#") || i == 0:
				case !strings.Contains(line, "="):
					digits += line
				default:
					for f := range strings.FieldsSeq(line) {
						name, value, _ := strings.Cut(f, "=")
						fields[name] = value
					}
				}
			}
			b, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			copy(m[:], b)
			for name, value := range fields {
				f, known := wireshark[name]
				if !known {
					continue
				}
				want, err := strconv.ParseUint(value, 16, 64)
				if err != nil {
					t.Fatalf("%s=%s: %v", name, value, err)
				}
				if got := m.Get(f); got != want {
					t.Errorf("%s: %s is 0x%x, Wireshark reads 0x%x", strings.SplitN(record, "\n", 2)[0], f.Name,
						got, want)
				}
				checked[name] = true
			}
		}
	}
	if len(checked) < 50 {
		t.Errorf("only %d fields are in the captures: %v", len(checked), checked)
	}
}

func TestSetChangesOnlyTheBitsOfItsField(t *testing.T) {
	for name, f := range wireshark {
		var m cmsg.MAD
		m.Set(f, ^uint64(0))
		ones := 0
		for _, b := range m {
			for ; b != 0; b &= b - 1 {
				ones++
			}
		}
		if ones != f.Width {
			t.Errorf("%s has %d bits, Set changes %d", name, f.Width, ones)
		}
		if want := ^uint64(0) >> (64 - f.Width); m.Get(f) != want {
			t.Errorf("%s is 0x%x, 0x%x was set", name, m.Get(f), want)
		}
		if m.Set(f, 0); m != (cmsg.MAD{}) {
			t.Errorf("%s: bits stay set", name)
		}
	}
}

func TestIPHeaderIsThatOfLinux(t *testing.T) {
	b := cmsg.AppendIPHeader(nil, netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.0.3"), 0x8650)
	want := "00408650" + strings.Repeat("00", 12) + "c6120002" + strings.Repeat("00", 12) + "c6120003"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("the header is\n%s, Linux sends\n%s", got, want)
	}
	b = cmsg.AppendIPHeader(nil, netip.MustParseAddr("fd00::2"), netip.MustParseAddr("fd00::3"), 1)
	if len(b) != cmsg.IPHeaderLen || b[1] != 0x60 || b[4] != 0xfd || b[35] != 3 {
		t.Errorf("the header for IPv6 is %x", b)
	}
}

func TestDescriptionsNameTheMessage(t *testing.T) {
	rej := cmsg.New(cmsg.REJ, 1)
	rej.Set(cmsg.REJReason, 8)
	for want, m := range map[string]*cmsg.MAD{
		"REP": cmsg.New(cmsg.REP, 1), "REJ reason 8 (invalid service ID)": rej, "attribute 0x30": cmsg.New(0x30, 1),
		"SIDR_REP status 0": cmsg.New(cmsg.SIDRREP, 1),
	} {
		if got := m.Describe(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
