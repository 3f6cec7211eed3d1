package verbs

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Types that other packages define, under the names of this package.
type (
	// Observer receives what the queue pairs of a device do, for traces; see [Config.Observer].
	Observer = nic.Observer

	// QPN is a queue pair number, 24 bits; see [bth.QPN].
	QPN = bth.QPN
	// PSN is a packet sequence number, 24 bits; see [bth.PSN].
	PSN = bth.PSN

	// GID is the address of a port; see [qp.GID].
	GID = qp.GID
	// MTU is a path MTU in bytes, 256 to 4096; see [qp.MTU].
	MTU = qp.MTU

	// QPType is the transport service of a queue pair; see [qp.Type].
	QPType = qp.Type
	// QPState is a state of a queue pair, RESET to ERR; see [qp.State].
	QPState = qp.State
	// QPCap holds the capacities of a queue pair, as ibv_qp_cap; see [qp.Cap].
	QPCap = qp.Cap
	// QPAttr holds the attributes of a queue pair, as ibv_qp_attr; see [qp.Attr].
	QPAttr = qp.Attr
	// QPAttrMask is a set of attributes of a queue pair; see [qp.AttrMask].
	QPAttrMask = qp.AttrMask
	// AddressVector is the path to a peer; see [qp.AddressVector].
	AddressVector = qp.AddressVector

	// Access is a set of access rights of a region or a queue pair; see [mr.Access].
	Access = mr.Access
	// SGE is a scatter/gather element, a range of a registered region; see [qp.SGE].
	SGE = qp.SGE

	// SendWR is a send work request; see [qp.SendWR].
	SendWR = qp.SendWR
	// RecvWR is a receive work request; see [qp.RecvWR].
	RecvWR = qp.RecvWR
	// SendFlags is a set of flags of a send work request; see [qp.SendFlags].
	SendFlags = qp.SendFlags
	// WROpcode is the operation of a send work request; see [qp.WROpcode].
	WROpcode = qp.WROpcode

	// WC is a work completion; see [qp.WC].
	WC = qp.WC
	// WCStatus is the status of a completion; see [qp.WCStatus].
	WCStatus = qp.WCStatus
	// WCOpcode is the operation that a completion reports; see [qp.WCOpcode].
	WCOpcode = qp.WCOpcode
	// WCFlags tells which fields of a completion are valid; see [qp.WCFlags].
	WCFlags = qp.WCFlags

	// Bind holds the parameters of a WRBindMW work request; see [mr.Bind].
	Bind = mr.Bind
	// FastReg holds the parameters of a WRRegMR work request; see [mr.FastReg].
	FastReg = mr.FastReg

	// MWType is the type of a memory window; see [mr.WindowType].
	MWType = mr.WindowType

	// Flush holds the parameters of a WRFlush work request; see [qp.Flush].
	Flush = qp.Flush
	// FlushType is the set of effects of a flush; see [qp.FlushType].
	FlushType = qp.FlushType
	// FlushLevel is the extent of a flush, a range or a region; see [qp.FlushLevel].
	FlushLevel = qp.FlushLevel

	// SRQAttr holds the attributes of a shared receive queue; see [qp.SRQAttr].
	SRQAttr = qp.SRQAttr
	// SRQAttrMask is a set of attributes of a shared receive queue; see [qp.SRQAttrMask].
	SRQAttrMask = qp.SRQAttrMask

	// EventType is the type of an asynchronous event; see [qp.EventType].
	EventType = qp.EventType

	// SendSource is a queue of send requests that another process writes; see [qp.SendSource].
	SendSource = qp.SendSource
	// RecvSource is a queue of receives that another process writes; see [qp.RecvSource].
	RecvSource = qp.RecvSource
	// CompletionStore receives completions for another process; see [qp.CompletionStore].
	CompletionStore = qp.CompletionStore

	// AH is an address handle; see [PD.CreateAH].
	AH = transport.AH
	// QPCounters holds the transport counters of one queue pair; see [transport.Counters].
	QPCounters = transport.Counters

	// TransportConfig holds what the IBA leaves to the implementation; see [transport.Config].
	TransportConfig = transport.Config
)

// Types of queue pairs.
const (
	RC = qp.RC // reliable connection
	UC = qp.UC // unreliable connection: SEND and WRITE without acknowledgement
	UD = qp.UD // unreliable datagram: SEND to any receiver, see [QP.StartDatagrams]
)

// States of a queue pair (IBA 10.3.1).
const (
	RESET = qp.RESET
	INIT  = qp.INIT
	RTR   = qp.RTR
	RTS   = qp.RTS
	SQD   = qp.SQD
	SQE   = qp.SQE
	ERR   = qp.ERR
)

// Access rights: of a region, and of a peer on a queue pair.
const (
	LocalWrite      = mr.LocalWrite
	RemoteWrite     = mr.RemoteWrite
	RemoteRead      = mr.RemoteRead
	RemoteAtomic    = mr.RemoteAtomic
	MWBind          = mr.MWBind // memory windows may be bound to the region
	ZeroBased       = mr.ZeroBased
	FlushGlobal     = mr.FlushGlobal
	FlushPersistent = mr.FlushPersistent
	RelaxedOrdering = mr.RelaxedOrdering
)

// Operations of send work requests.
const (
	WRWrite    = qp.WRWrite
	WRWriteImm = qp.WRWriteImm
	WRSend     = qp.WRSend
	WRSendImm  = qp.WRSendImm
	WRRead     = qp.WRRead
	WRCmpSwap  = qp.WRCmpSwap
	WRFetchAdd = qp.WRFetchAdd

	WRSendInv     = qp.WRSendInv     // SEND that invalidates the peer's R_Key in Imm
	WRAtomicWrite = qp.WRAtomicWrite // 8 bytes, written at once
	WRFlush       = qp.WRFlush
	WRLocalInv    = qp.WRLocalInv // invalidates the key in Imm
	WRBindMW      = qp.WRBindMW
	WRRegMR       = qp.WRRegMR
)

// Types of memory windows.
const (
	MWType1 = mr.WindowType1 // type 1: for every queue pair of the domain, bound by [QP.BindMW]
	MWType2 = mr.WindowType2 // type 2B: for one queue pair, bound by work requests
)

// Types and levels of a flush.
const (
	FlushToGlobal     = qp.FlushToGlobal
	FlushToPersistent = qp.FlushToPersistent
	FlushRange        = qp.FlushRange
	FlushRegion       = qp.FlushRegion
)

// Flags of send work requests.
const (
	Fence     = qp.Fence
	Signaled  = qp.Signaled
	Solicited = qp.Solicited
	Inline    = qp.Inline
)

// Operations that completions report.
const (
	WCSend         = qp.WCSend
	WCWrite        = qp.WCWrite
	WCRead         = qp.WCRead
	WCCmpSwap      = qp.WCCmpSwap
	WCFetchAdd     = qp.WCFetchAdd
	WCBindMW       = qp.WCBindMW
	WCLocalInv     = qp.WCLocalInv
	WCFlush        = qp.WCFlush
	WCAtomicWrite  = qp.WCAtomicWrite
	WCRegMR        = qp.WCRegMR
	WCRecv         = qp.WCRecv
	WCRecvWriteImm = qp.WCRecvWriteImm
)

// Attributes that [SRQ.Modify] can change. The values are those of ibv_srq_attr_mask.
const (
	SRQMaxWR = qp.SRQMaxWR
	SRQLimit = qp.SRQLimit
)

// Asynchronous events that this device raises. The values are those of ibv_event_type.
const (
	EventCQErr            = qp.EventCQErr
	EventQPFatal          = qp.EventQPFatal
	EventQPReqErr         = qp.EventQPReqErr
	EventQPAccessErr      = qp.EventQPAccessErr
	EventCommEst          = qp.EventCommEst
	EventSQDrained        = qp.EventSQDrained
	EventDeviceFatal      = qp.EventDeviceFatal
	EventPortActive       = qp.EventPortActive
	EventPortErr          = qp.EventPortErr
	EventSRQLimitReached  = qp.EventSRQLimitReached
	EventQPLastWQEReached = qp.EventQPLastWQEReached
	EventGIDChange        = qp.EventGIDChange
)

// Optional fields of a completion that are valid.
const (
	WCWithImm = qp.WithImm
	WCWithInv = qp.WithInv
	WCGRH     = qp.GRH // the receive starts with a network header of GRHLen bytes
)

// Statuses of completed work requests.
const (
	WCSuccess        = qp.WCSuccess
	WCLocLenErr      = qp.WCLocLenErr
	WCLocQPOpErr     = qp.WCLocQPOpErr
	WCLocProtErr     = qp.WCLocProtErr
	WCWRFlushErr     = qp.WCWRFlushErr
	WCMWBindErr      = qp.WCMWBindErr
	WCBadRespErr     = qp.WCBadRespErr
	WCLocAccessErr   = qp.WCLocAccessErr
	WCRemInvReqErr   = qp.WCRemInvReqErr
	WCRemAccessErr   = qp.WCRemAccessErr
	WCRemOpErr       = qp.WCRemOpErr
	WCRetryExcErr    = qp.WCRetryExcErr
	WCRNRRetryExcErr = qp.WCRNRRetryExcErr
)

// Attributes that [QP.Modify] can change. The values are those of ibv_qp_attr_mask.
const (
	AttrState           = qp.AttrState
	AttrCurState        = qp.AttrCurState
	AttrAccess          = qp.AttrAccess
	AttrPKeyIndex       = qp.AttrPKeyIndex
	AttrPort            = qp.AttrPort
	AttrQKey            = qp.AttrQKey
	AttrAV              = qp.AttrAV
	AttrPathMTU         = qp.AttrPathMTU
	AttrTimeout         = qp.AttrTimeout
	AttrRetryCnt        = qp.AttrRetryCnt
	AttrRNRRetry        = qp.AttrRNRRetry
	AttrRQPSN           = qp.AttrRQPSN
	AttrMaxRdAtomic     = qp.AttrMaxRdAtomic
	AttrMinRNRTimer     = qp.AttrMinRNRTimer
	AttrSQPSN           = qp.AttrSQPSN
	AttrMaxDestRdAtomic = qp.AttrMaxDestRdAtomic
	AttrDestQPN         = qp.AttrDestQPN
)
