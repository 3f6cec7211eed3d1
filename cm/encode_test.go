package cm_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm"
	"pgregory.net/rapid"
)

// limited are the fields that are narrower on the wire than in Go, and those of
// limited length.
var limited = []struct {
	message cm.Attribute
	field   string
	limit   uint64
	most    uint64 // the largest value to try
	set     func(m *cm.MAD, v uint64)
}{
	{cm.AttrREQ, "VendorID", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REQ.VendorID = uint32(v) }},
	{cm.AttrREQ, "LocalQPN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REQ.LocalQPN = bth.QPN(v) }},
	{cm.AttrREQ, "LocalEECN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REQ.LocalEECN = uint32(v) }},
	{cm.AttrREQ, "RemoteEECN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REQ.RemoteEECN = uint32(v) }},
	{cm.AttrREQ, "RemoteCMResponseTimeout", 31, 255, func(m *cm.MAD, v uint64) { m.REQ.RemoteCMResponseTimeout = cm.Timeout(v) }},
	{cm.AttrREQ, "TransportService", 3, 255, func(m *cm.MAD, v uint64) { m.REQ.TransportService = cm.TransportService(v) }},
	{cm.AttrREQ, "StartingPSN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REQ.StartingPSN = bth.PSN(v) }},
	{cm.AttrREQ, "LocalCMResponseTimeout", 31, 255, func(m *cm.MAD, v uint64) { m.REQ.LocalCMResponseTimeout = cm.Timeout(v) }},
	{cm.AttrREQ, "RetryCount", 7, 255, func(m *cm.MAD, v uint64) { m.REQ.RetryCount = uint8(v) }},
	{cm.AttrREQ, "PathMTU", 15, 255, func(m *cm.MAD, v uint64) { m.REQ.PathMTU = uint8(v) }},
	{cm.AttrREQ, "RNRRetryCount", 7, 255, func(m *cm.MAD, v uint64) { m.REQ.RNRRetryCount = uint8(v) }},
	{cm.AttrREQ, "MaxCMRetries", 15, 255, func(m *cm.MAD, v uint64) { m.REQ.MaxCMRetries = uint8(v) }},
	{cm.AttrREQ, "ExtendedTransport", 7, 255, func(m *cm.MAD, v uint64) { m.REQ.ExtendedTransport = uint8(v) }},
	{cm.AttrREQ, "FlowLabel", 1<<20 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REQ.Primary.FlowLabel = uint32(v) }},
	{cm.AttrREQ, "PacketRate", 63, 255, func(m *cm.MAD, v uint64) { m.REQ.Primary.PacketRate = uint8(v) }},
	{cm.AttrREQ, "SL", 15, 255, func(m *cm.MAD, v uint64) { m.REQ.Primary.SL = uint8(v) }},
	{cm.AttrREQ, "LocalACKTimeout", 31, 255, func(m *cm.MAD, v uint64) { m.REQ.Primary.LocalACKTimeout = cm.Timeout(v) }},
	{cm.AttrREQ, "FlowLabel", 1<<20 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REQ.Alternate.FlowLabel = uint32(v) }},
	{cm.AttrREQ, "PacketRate", 63, 255, func(m *cm.MAD, v uint64) { m.REQ.Alternate.PacketRate = uint8(v) }},
	{cm.AttrREQ, "SL", 15, 255, func(m *cm.MAD, v uint64) { m.REQ.Alternate.SL = uint8(v) }},
	{cm.AttrREQ, "LocalACKTimeout", 31, 255, func(m *cm.MAD, v uint64) { m.REQ.Alternate.LocalACKTimeout = cm.Timeout(v) }},
	{cm.AttrREQ, "length of PrivateData", cm.REQPrivateLen, 300, func(m *cm.MAD, v uint64) { m.REQ.PrivateData = make([]byte, v) }},
	{cm.AttrMRA, "MessageMRAed", 3, 255, func(m *cm.MAD, v uint64) { m.MRA.MessageMRAed = cm.Answered(v) }},
	{cm.AttrMRA, "ServiceTimeout", 31, 255, func(m *cm.MAD, v uint64) { m.MRA.ServiceTimeout = cm.Timeout(v) }},
	{cm.AttrMRA, "length of PrivateData", cm.MRAPrivateLen, 300, func(m *cm.MAD, v uint64) { m.MRA.PrivateData = make([]byte, v) }},
	{cm.AttrREJ, "MessageRejected", 3, 255, func(m *cm.MAD, v uint64) { m.REJ.MessageRejected = cm.Answered(v) }},
	{cm.AttrREJ, "length of ARI", cm.InfoLen, 300, func(m *cm.MAD, v uint64) { m.REJ.ARI = make([]byte, v) }},
	{cm.AttrREJ, "length of PrivateData", cm.REJPrivateLen, 300, func(m *cm.MAD, v uint64) { m.REJ.PrivateData = make([]byte, v) }},
	{cm.AttrREP, "LocalQPN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REP.LocalQPN = bth.QPN(v) }},
	{cm.AttrREP, "VendorID", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REP.VendorID = uint32(v) }},
	{cm.AttrREP, "LocalEECN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REP.LocalEECN = uint32(v) }},
	{cm.AttrREP, "StartingPSN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.REP.StartingPSN = bth.PSN(v) }},
	{cm.AttrREP, "TargetACKDelay", 31, 255, func(m *cm.MAD, v uint64) { m.REP.TargetACKDelay = cm.Timeout(v) }},
	{cm.AttrREP, "FailoverAccepted", 3, 255, func(m *cm.MAD, v uint64) { m.REP.FailoverAccepted = uint8(v) }},
	{cm.AttrREP, "RNRRetryCount", 7, 255, func(m *cm.MAD, v uint64) { m.REP.RNRRetryCount = uint8(v) }},
	{cm.AttrREP, "length of PrivateData", cm.REPPrivateLen, 300, func(m *cm.MAD, v uint64) { m.REP.PrivateData = make([]byte, v) }},
	{cm.AttrRTU, "length of PrivateData", cm.RTUPrivateLen, 300, func(m *cm.MAD, v uint64) { m.RTU.PrivateData = make([]byte, v) }},
	{cm.AttrDREQ, "RemoteQPN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.DREQ.RemoteQPN = bth.QPN(v) }},
	{cm.AttrDREQ, "length of PrivateData", cm.DREQPrivateLen, 300, func(m *cm.MAD, v uint64) { m.DREQ.PrivateData = make([]byte, v) }},
	{cm.AttrDREP, "length of PrivateData", cm.DREPPrivateLen, 300, func(m *cm.MAD, v uint64) { m.DREP.PrivateData = make([]byte, v) }},
	{cm.AttrSIDRREQ, "length of PrivateData", cm.SIDRREQPrivateLen, 300, func(m *cm.MAD, v uint64) { m.SIDRREQ.PrivateData = make([]byte, v) }},
	{cm.AttrSIDRREP, "VendorID", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.SIDRREP.VendorID = uint32(v) }},
	{cm.AttrSIDRREP, "QPN", 1<<24 - 1, 1<<32 - 1, func(m *cm.MAD, v uint64) { m.SIDRREP.QPN = bth.QPN(v) }},
	{cm.AttrSIDRREP, "length of AdditionalInformation", cm.InfoLen, 300, func(m *cm.MAD, v uint64) { m.SIDRREP.AdditionalInformation = make([]byte, v) }},
	{cm.AttrSIDRREP, "length of PrivateData", cm.SIDRREPPrivateLen, 300, func(m *cm.MAD, v uint64) { m.SIDRREP.PrivateData = make([]byte, v) }},
}

func TestEncodeRefusesWhatAFieldCannotHold(t *testing.T) {
	for _, tt := range limited {
		t.Run(fmt.Sprintf("%s/%s", tt.message, tt.field), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := cm.MAD{Attribute: tt.message}
				tt.set(&m, tt.limit)
				b := [cm.MADLen]byte{9, 9, 9}
				if err := m.Encode(&b); err != nil {
					t.Fatalf("%d is refused: %v", tt.limit, err)
				}
				v := rapid.Uint64Range(tt.limit+1, tt.most).Draw(t, "value")
				tt.set(&m, v)
				err := m.Encode(&b)
				var field *cm.FieldError
				if !errors.As(err, &field) || *field != (cm.FieldError{Message: tt.message, Field: tt.field, Value: v, Max: tt.limit}) {
					t.Fatalf("Encode = %v", err)
				}
				if b != [cm.MADLen]byte{} {
					t.Fatalf("something is left to send: %x", b)
				}
			})
		})
	}
}

func TestFieldErrorSaysWhatAndWhy(t *testing.T) {
	m := cm.MAD{Attribute: cm.AttrSIDRREP, SIDRREP: cm.SIDRREP{QPN: 0x1000000}}
	var b [cm.MADLen]byte
	const want = "cm: QPN of SIDR_REP is 16777216, it can be 16777215 at most"
	if err := m.Encode(&b); err == nil || err.Error() != want {
		t.Errorf("Encode = %v, want %s", err, want)
	}
}

func TestEncodeRefusesOtherMessages(t *testing.T) {
	for attr, want := range map[cm.Attribute]string{
		cm.AttrLAP: "cm: LAP cannot be encoded: it is none of the messages from REQ to SIDR_REP",
		cm.AttrAPR: "cm: APR cannot be encoded: it is none of the messages from REQ to SIDR_REP",
		0:          "cm: attribute 0x0 cannot be encoded: it is none of the messages from REQ to SIDR_REP",
	} {
		m := cm.MAD{Attribute: attr}
		b := [cm.MADLen]byte{9, 9, 9}
		if err := m.Encode(&b); err == nil || err.Error() != want {
			t.Errorf("Encode = %v, want %s", err, want)
		}
		if !bytes.Equal(b[:], make([]byte, cm.MADLen)) {
			t.Errorf("%s: something is left to send: %x", attr, b)
		}
	}
}
