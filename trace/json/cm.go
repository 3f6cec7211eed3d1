package json

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
)

// cmMessage is the JSON object of a CM message. Its members depend on the attribute. As in the
// message, local means the sender and remote the receiver.
type cmMessage struct {
	Attribute     string `json:"attribute"`
	AttributeID   uint16 `json:"attribute_id"`
	TransactionID hex64  `json:"transaction_id"`

	LocalCommID  *hex32 `json:"local_comm_id,omitempty"`
	RemoteCommID *hex32 `json:"remote_comm_id,omitempty"`
	RequestID    *hex32 `json:"request_id,omitempty"`

	ServiceID *hex64 `json:"service_id,omitempty"`
	Service   string `json:"service,omitempty"`
	Port      uint16 `json:"port,omitempty"`

	LocalQPN    *bth.QPN `json:"local_qpn,omitempty"`
	RemoteQPN   *bth.QPN `json:"remote_qpn,omitempty"`
	QPN         *bth.QPN `json:"qpn,omitempty"`
	StartingPSN *bth.PSN `json:"starting_psn,omitempty"`
	QKey        *hex32   `json:"qkey,omitempty"`
	PKey        *uint16  `json:"pkey,omitempty"`
	PathMTU     int      `json:"path_mtu,omitempty"` // bytes

	ResponderResources *uint8 `json:"responder_resources,omitempty"`
	InitiatorDepth     *uint8 `json:"initiator_depth,omitempty"`
	RetryCount         *uint8 `json:"retry_count,omitempty"`
	RNRRetryCount      *uint8 `json:"rnr_retry_count,omitempty"`
	MaxCMRetries       *uint8 `json:"max_cm_retries,omitempty"`
	SRQ                bool   `json:"srq,omitempty"`

	// Answers is the message that a REJ or MRA refers to; Reason and Status are codes, Text
	// explains them.
	Answers string  `json:"answers,omitempty"`
	Reason  *uint16 `json:"reason,omitempty"`
	Status  *uint8  `json:"status,omitempty"`
	Text    string  `json:"text,omitempty"`

	PrivateData hexBytes `json:"private_data,omitempty"`
}

// madOf returns the JSON object of m, with private data only if private is set. Its helpers req,
// rep and sidrREP set the members of their message and return its private data.
func madOf(m *mad.Message, private bool) *cmMessage {
	o := &cmMessage{Attribute: m.Attribute.String(), AttributeID: uint16(m.Attribute),
		TransactionID: hex64(m.TransactionID)}
	var data []byte
	switch m.Attribute {
	case mad.AttrREQ:
		data = o.req(&m.REQ)
	case mad.AttrREP:
		data = o.rep(&m.REP)
	case mad.AttrRTU:
		o.between(m.RTU.LocalCommID, m.RTU.RemoteCommID)
		data = m.RTU.PrivateData
	case mad.AttrMRA:
		o.between(m.MRA.LocalCommID, m.MRA.RemoteCommID)
		o.Answers, data = m.MRA.MessageMRAed.String(), m.MRA.PrivateData
	case mad.AttrREJ:
		o.between(m.REJ.LocalCommID, m.REJ.RemoteCommID)
		o.Answers, data = m.REJ.MessageRejected.String(), m.REJ.PrivateData
		o.Reason, o.Text = new(uint16(m.REJ.Reason)), m.REJ.Reason.String()
	case mad.AttrDREQ:
		o.between(m.DREQ.LocalCommID, m.DREQ.RemoteCommID)
		o.RemoteQPN, data = &m.DREQ.RemoteQPN, m.DREQ.PrivateData
	case mad.AttrDREP:
		o.between(m.DREP.LocalCommID, m.DREP.RemoteCommID)
		data = m.DREP.PrivateData
	case mad.AttrSIDRREQ:
		o.RequestID, o.PKey = new(hex32(m.SIDRREQ.RequestID)), &m.SIDRREQ.PKey
		o.service(m.SIDRREQ.ServiceID)
		data = m.SIDRREQ.PrivateData
	case mad.AttrSIDRREP:
		data = o.sidrREP(&m.SIDRREP)
	}
	if private {
		o.PrivateData = data
	}
	return o
}

func (o *cmMessage) req(r *mad.REQ) []byte {
	o.LocalCommID = new(hex32(r.LocalCommID))
	o.service(r.ServiceID)
	o.LocalQPN, o.StartingPSN, o.PKey = &r.LocalQPN, &r.StartingPSN, &r.PKey
	if r.PathMTU >= 1 && r.PathMTU <= 5 {
		o.PathMTU = 128 << r.PathMTU
	}
	o.ResponderResources, o.InitiatorDepth = &r.ResponderResources, &r.InitiatorDepth
	o.RetryCount, o.RNRRetryCount, o.MaxCMRetries = &r.RetryCount, &r.RNRRetryCount, &r.MaxCMRetries
	o.SRQ = r.SRQ
	return r.PrivateData
}

func (o *cmMessage) rep(r *mad.REP) []byte {
	o.between(r.LocalCommID, r.RemoteCommID)
	o.LocalQPN, o.StartingPSN = &r.LocalQPN, &r.StartingPSN
	o.ResponderResources, o.InitiatorDepth = &r.ResponderResources, &r.InitiatorDepth
	o.RNRRetryCount, o.SRQ = &r.RNRRetryCount, r.SRQ
	return r.PrivateData
}

func (o *cmMessage) sidrREP(r *mad.SIDRREP) []byte {
	o.RequestID, o.Status, o.Text = new(hex32(r.RequestID)), new(uint8(r.Status)), r.Status.String()
	o.service(r.ServiceID)
	if r.Status == mad.SIDRSuccess {
		o.QPN, o.QKey = &r.QPN, new(hex32(r.QKey))
	}
	return r.PrivateData
}

func (o *cmMessage) between(local, remote mad.CommID) {
	o.LocalCommID, o.RemoteCommID = new(hex32(local)), new(hex32(remote))
}

func (o *cmMessage) service(id mad.ServiceID) {
	o.ServiceID, o.Service = new(hex64(id)), id.String()
	_, o.Port, _ = id.IP()
}
