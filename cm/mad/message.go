package mad

import (
	"encoding/binary"
	"fmt"
)

const (
	// Len is the length of every MAD in bytes.
	Len = 256
	// HeaderLen is the length of the MAD header in bytes.
	HeaderLen = 24

	dataLen = Len - HeaderLen

	baseVersion  = 1
	classCM      = 7
	classVersion = 2
	methodSend   = 3
)

// A Message is one message of the CM, a MAD with its header. Attribute is its type, and only the
// field of that type is valid. Decode leaves the other fields unchanged, so a Message can be
// reused without clearing it.
type Message struct {
	// TransactionID is chosen by the sender of a REQ, SIDR_REQ or DREQ, and returned in the
	// answers. Linux uses the same ID for all requests of one side about one connection.
	TransactionID uint64
	Attribute     Attribute
	// AttributeModifier belongs to enhanced connection establishment, as does the VendorID of the
	// message. 0: not used.
	AttributeModifier uint32

	REQ     REQ
	MRA     MRA
	REJ     REJ
	REP     REP
	RTU     RTU
	DREQ    DREQ
	DREP    DREP
	SIDRREQ SIDRREQ
	SIDRREP SIDRREP
}

// Decode decodes the MAD in b, the payload of a datagram to queue pair 1. Private data and
// additional information alias b. For LAP and APR it decodes only the header.
//
// The error is a [*DecodeError]; Decode does not allocate. The header fields are set unless the
// reason is [ReasonLength]. Reserved bits are ignored, and so is the status field, which has no
// meaning with method Send. Decode accepts values without a meaning in the IBA, such as a path MTU
// of 9; the connection manager rejects them.
func (m *Message) Decode(b []byte) error {
	if len(b) != Len {
		return refuse(ReasonLength)
	}
	m.TransactionID = binary.BigEndian.Uint64(b[8:])
	m.Attribute = Attribute(binary.BigEndian.Uint16(b[16:]))
	m.AttributeModifier = binary.BigEndian.Uint32(b[20:])
	switch {
	case b[0] != baseVersion:
		return refuse(ReasonBaseVersion)
	case b[1] != classCM:
		return refuse(ReasonClass)
	case b[2] != classVersion:
		return refuse(ReasonClassVersion)
	case b[3] != methodSend:
		return refuse(ReasonMethod)
	case !m.Attribute.Valid():
		return refuse(ReasonAttribute)
	}
	data := (*[dataLen]byte)(b[HeaderLen:])
	switch m.Attribute {
	case AttrREQ:
		m.REQ.decode(data)
	case AttrMRA:
		m.MRA.decode(data)
	case AttrREJ:
		return m.REJ.decode(data)
	case AttrREP:
		m.REP.decode(data)
	case AttrRTU:
		m.RTU.decode(data)
	case AttrDREQ:
		m.DREQ.decode(data)
	case AttrDREP:
		m.DREP.decode(data)
	case AttrSIDRREQ:
		m.SIDRREQ.decode(data)
	case AttrSIDRREP:
		return m.SIDRREP.decode(data)
	}
	return nil
}

// Encode writes the MAD into b, with zero reserved bits and private data padded with zeros. b
// must not be the buffer that the private data aliases.
//
// If a value does not fit its field, the error is a [*FieldError]. An attribute for which m has no
// field, such as that of LAP, is another error. After an error, b is all zeros.
func (m *Message) Encode(b *[Len]byte) error {
	clear(b[:])
	e := encoder{data: (*[dataLen]byte)(b[HeaderLen:]), message: m.Attribute}
	switch m.Attribute {
	case AttrREQ:
		m.REQ.encode(&e)
	case AttrMRA:
		m.MRA.encode(&e)
	case AttrREJ:
		m.REJ.encode(&e)
	case AttrREP:
		m.REP.encode(&e)
	case AttrRTU:
		m.RTU.encode(&e)
	case AttrDREQ:
		m.DREQ.encode(&e)
	case AttrDREP:
		m.DREP.encode(&e)
	case AttrSIDRREQ:
		m.SIDRREQ.encode(&e)
	case AttrSIDRREP:
		m.SIDRREP.encode(&e)
	default:
		return fmt.Errorf("cm: %s cannot be encoded: it is none of the messages from REQ to SIDR_REP", m.Attribute)
	}
	if e.err != nil {
		clear(b[:])
		return e.err
	}
	b[0], b[1], b[2], b[3] = baseVersion, classCM, classVersion, methodSend
	binary.BigEndian.PutUint64(b[8:], m.TransactionID)
	binary.BigEndian.PutUint16(b[16:], uint16(m.Attribute))
	binary.BigEndian.PutUint32(b[20:], m.AttributeModifier)
	return nil
}

// AnswersRequest reports whether the message contains the transaction ID of the REQ or SIDR_REQ
// that it answers. Linux copies the ID into all such messages (drivers/infiniband/core/cm.c).
func (m *Message) AnswersRequest() bool {
	switch m.Attribute {
	case AttrMRA, AttrREJ, AttrREP, AttrSIDRREP:
		return true
	}
	return false
}

// CommIDs returns the communication IDs in the message, the receiver's and the sender's. An ID that
// the message does not have is 0; for REQ and SIDR_REQ, both are 0.
func (m *Message) CommIDs() (receiver, sender CommID) {
	switch m.Attribute {
	case AttrMRA:
		return m.MRA.RemoteCommID, m.MRA.LocalCommID
	case AttrREJ:
		return m.REJ.RemoteCommID, m.REJ.LocalCommID
	case AttrREP:
		return m.REP.RemoteCommID, m.REP.LocalCommID
	case AttrRTU:
		return m.RTU.RemoteCommID, m.RTU.LocalCommID
	case AttrDREQ:
		return m.DREQ.RemoteCommID, m.DREQ.LocalCommID
	case AttrDREP:
		return m.DREP.RemoteCommID, m.DREP.LocalCommID
	case AttrSIDRREP:
		return m.SIDRREP.RequestID, 0
	}
	return 0, 0
}
