package mad_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"pgregory.net/rapid"
)

// limited are the fields that are narrower on the wire than in Go, and those of limited length.
var limited = []struct {
	message mad.Attribute
	field   string
	limit   uint64
	most    uint64 // maximum value to try
	set     func(m *mad.Message, v uint64)
}{
	{mad.AttrREQ, "VendorID", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.REQ.VendorID = uint32(v) }},
	{mad.AttrREQ, "LocalQPN", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.REQ.LocalQPN = bth.QPN(v) }},
	{mad.AttrREQ, "LocalEECN", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.REQ.LocalEECN = uint32(v) }},
	{mad.AttrREQ, "RemoteEECN", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.REQ.RemoteEECN = uint32(v) }},
	{mad.AttrREQ, "RemoteCMResponseTimeout", 31, 255,
		func(m *mad.Message, v uint64) { m.REQ.RemoteCMResponseTimeout = mad.Timeout(v) }},
	{mad.AttrREQ, "TransportService", 3, 255,
		func(m *mad.Message, v uint64) { m.REQ.TransportService = mad.TransportService(v) }},
	{mad.AttrREQ, "StartingPSN", 1<<24 - 1, 1<<32 - 1,
		func(m *mad.Message, v uint64) { m.REQ.StartingPSN = bth.PSN(v) }},
	{mad.AttrREQ, "LocalCMResponseTimeout", 31, 255,
		func(m *mad.Message, v uint64) { m.REQ.LocalCMResponseTimeout = mad.Timeout(v) }},
	{mad.AttrREQ, "RetryCount", 7, 255, func(m *mad.Message, v uint64) { m.REQ.RetryCount = uint8(v) }},
	{mad.AttrREQ, "PathMTU", 15, 255, func(m *mad.Message, v uint64) { m.REQ.PathMTU = uint8(v) }},
	{mad.AttrREQ, "RNRRetryCount", 7, 255, func(m *mad.Message, v uint64) { m.REQ.RNRRetryCount = uint8(v) }},
	{mad.AttrREQ, "MaxCMRetries", 15, 255, func(m *mad.Message, v uint64) { m.REQ.MaxCMRetries = uint8(v) }},
	{mad.AttrREQ, "ExtendedTransport", 7, 255, func(m *mad.Message, v uint64) { m.REQ.ExtendedTransport = uint8(v) }},
	{mad.AttrREQ, "FlowLabel", 1<<20 - 1, 1<<32 - 1,
		func(m *mad.Message, v uint64) { m.REQ.Primary.FlowLabel = uint32(v) }},
	{mad.AttrREQ, "PacketRate", 63, 255, func(m *mad.Message, v uint64) { m.REQ.Primary.PacketRate = uint8(v) }},
	{mad.AttrREQ, "SL", 15, 255, func(m *mad.Message, v uint64) { m.REQ.Primary.SL = uint8(v) }},
	{mad.AttrREQ, "LocalACKTimeout", 31, 255,
		func(m *mad.Message, v uint64) { m.REQ.Primary.LocalACKTimeout = mad.Timeout(v) }},
	{mad.AttrREQ, "FlowLabel", 1<<20 - 1, 1<<32 - 1,
		func(m *mad.Message, v uint64) { m.REQ.Alternate.FlowLabel = uint32(v) }},
	{mad.AttrREQ, "PacketRate", 63, 255, func(m *mad.Message, v uint64) { m.REQ.Alternate.PacketRate = uint8(v) }},
	{mad.AttrREQ, "SL", 15, 255, func(m *mad.Message, v uint64) { m.REQ.Alternate.SL = uint8(v) }},
	{mad.AttrREQ, "LocalACKTimeout", 31, 255,
		func(m *mad.Message, v uint64) { m.REQ.Alternate.LocalACKTimeout = mad.Timeout(v) }},
	{mad.AttrREQ, "length of PrivateData", mad.REQPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.REQ.PrivateData = make([]byte, v) }},
	{mad.AttrMRA, "MessageMRAed", 3, 255, func(m *mad.Message, v uint64) { m.MRA.MessageMRAed = mad.MessageType(v) }},
	{mad.AttrMRA, "ServiceTimeout", 31, 255, func(m *mad.Message, v uint64) { m.MRA.ServiceTimeout = mad.Timeout(v) }},
	{mad.AttrMRA, "length of PrivateData", mad.MRAPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.MRA.PrivateData = make([]byte, v) }},
	{mad.AttrREJ, "MessageRejected", 3, 255,
		func(m *mad.Message, v uint64) { m.REJ.MessageRejected = mad.MessageType(v) }},
	{mad.AttrREJ, "length of ARI", mad.InfoLen, 300, func(m *mad.Message, v uint64) { m.REJ.ARI = make([]byte, v) }},
	{mad.AttrREJ, "length of PrivateData", mad.REJPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.REJ.PrivateData = make([]byte, v) }},
	{mad.AttrREP, "LocalQPN", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.REP.LocalQPN = bth.QPN(v) }},
	{mad.AttrREP, "VendorID", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.REP.VendorID = uint32(v) }},
	{mad.AttrREP, "LocalEECN", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.REP.LocalEECN = uint32(v) }},
	{mad.AttrREP, "StartingPSN", 1<<24 - 1, 1<<32 - 1,
		func(m *mad.Message, v uint64) { m.REP.StartingPSN = bth.PSN(v) }},
	{mad.AttrREP, "TargetACKDelay", 31, 255, func(m *mad.Message, v uint64) { m.REP.TargetACKDelay = mad.Timeout(v) }},
	{mad.AttrREP, "FailoverAccepted", 3, 255, func(m *mad.Message, v uint64) { m.REP.FailoverAccepted = uint8(v) }},
	{mad.AttrREP, "RNRRetryCount", 7, 255, func(m *mad.Message, v uint64) { m.REP.RNRRetryCount = uint8(v) }},
	{mad.AttrREP, "length of PrivateData", mad.REPPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.REP.PrivateData = make([]byte, v) }},
	{mad.AttrRTU, "length of PrivateData", mad.RTUPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.RTU.PrivateData = make([]byte, v) }},
	{mad.AttrDREQ, "RemoteQPN", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.DREQ.RemoteQPN = bth.QPN(v) }},
	{mad.AttrDREQ, "length of PrivateData", mad.DREQPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.DREQ.PrivateData = make([]byte, v) }},
	{mad.AttrDREP, "length of PrivateData", mad.DREPPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.DREP.PrivateData = make([]byte, v) }},
	{mad.AttrSIDRREQ, "length of PrivateData", mad.SIDRREQPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.SIDRREQ.PrivateData = make([]byte, v) }},
	{mad.AttrSIDRREP, "VendorID", 1<<24 - 1, 1<<32 - 1,
		func(m *mad.Message, v uint64) { m.SIDRREP.VendorID = uint32(v) }},
	{mad.AttrSIDRREP, "QPN", 1<<24 - 1, 1<<32 - 1, func(m *mad.Message, v uint64) { m.SIDRREP.QPN = bth.QPN(v) }},
	{mad.AttrSIDRREP, "length of AdditionalInformation", mad.InfoLen, 300,
		func(m *mad.Message, v uint64) { m.SIDRREP.AdditionalInformation = make([]byte, v) }},
	{mad.AttrSIDRREP, "length of PrivateData", mad.SIDRREPPrivateLen, 300,
		func(m *mad.Message, v uint64) { m.SIDRREP.PrivateData = make([]byte, v) }},
}

func TestEncodeRefusesWhatAFieldCannotHold(t *testing.T) {
	for _, tt := range limited {
		t.Run(fmt.Sprintf("%s/%s", tt.message, tt.field), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := mad.Message{Attribute: tt.message}
				tt.set(&m, tt.limit)
				b := [mad.Len]byte{9, 9, 9}
				if err := m.Encode(&b); err != nil {
					t.Fatalf("%d is refused: %v", tt.limit, err)
				}
				v := rapid.Uint64Range(tt.limit+1, tt.most).Draw(t, "value")
				tt.set(&m, v)
				err := m.Encode(&b)
				var field *mad.FieldError
				if !errors.As(err, &field) ||
					*field != (mad.FieldError{Message: tt.message, Field: tt.field, Value: v, Max: tt.limit}) {
					t.Fatalf("Encode = %v", err)
				}
				if b != [mad.Len]byte{} {
					t.Fatalf("something is left to send: %x", b)
				}
			})
		})
	}
}

func TestFieldErrorSaysWhatAndWhy(t *testing.T) {
	m := mad.Message{Attribute: mad.AttrSIDRREP, SIDRREP: mad.SIDRREP{QPN: 0x1000000}}
	var b [mad.Len]byte
	const want = "cm: QPN of SIDR_REP is 16777216, the maximum is 16777215"
	if err := m.Encode(&b); err == nil || err.Error() != want {
		t.Errorf("Encode = %v, want %s", err, want)
	}
}

func TestEncodeRefusesOtherMessages(t *testing.T) {
	for attr, want := range map[mad.Attribute]string{
		mad.AttrLAP: "cm: LAP cannot be encoded: it is none of the messages from REQ to SIDR_REP",
		mad.AttrAPR: "cm: APR cannot be encoded: it is none of the messages from REQ to SIDR_REP",
		0:           "cm: attribute 0x0 cannot be encoded: it is none of the messages from REQ to SIDR_REP",
	} {
		m := mad.Message{Attribute: attr}
		b := [mad.Len]byte{9, 9, 9}
		if err := m.Encode(&b); err == nil || err.Error() != want {
			t.Errorf("Encode = %v, want %s", err, want)
		}
		if !bytes.Equal(b[:], make([]byte, mad.Len)) {
			t.Errorf("%s: something is left to send: %x", attr, b)
		}
	}
}
