package verbs

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Names for what the packages below define; see there.
type (
	Observer      = nic.Observer // of what the queue pairs of a device do
	QPN           = bth.QPN      // queue pair number, 24 bits
	PSN           = bth.PSN      // packet sequence number, 24 bits
	GID           = qp.GID       // address of a port
	MTU           = qp.MTU       // path MTU in bytes, 256 to 4096
	QPType        = qp.Type      // service of a queue pair
	QPState       = qp.State     // RESET to ERR
	QPCap         = qp.Cap       // sizes of a queue pair
	QPAttr        = qp.Attr      // attributes of a queue pair, as ibv_qp_attr
	QPAttrMask    = qp.AttrMask
	AddressVector = qp.AddressVector
	Access        = mr.Access // rights on a region or a queue pair
	SGE           = qp.SGE    // a piece of a registered region
	SendWR        = qp.SendWR
	RecvWR        = qp.RecvWR
	SendFlags     = qp.SendFlags
	WROpcode      = qp.WROpcode
	WC            = qp.WC // work completion
	WCStatus      = qp.WCStatus
	WCOpcode      = qp.WCOpcode
	WCFlags       = qp.WCFlags
	Bind          = mr.Bind    // what a WRBindMW binds
	FastReg       = mr.FastReg // what a WRRegMR registers
	MWType        = mr.WindowType
	Flush         = qp.Flush // what a WRFlush flushes
	FlushType     = qp.FlushType
	FlushLevel    = qp.FlushLevel
	SRQAttr       = qp.SRQAttr // attributes of a shared receive queue
	SRQAttrMask   = qp.SRQAttrMask
	EventType     = qp.EventType // kind of an asynchronous event

	SendSource      = qp.SendSource      // send requests that another process writes
	RecvSource      = qp.RecvSource      // receives that another process writes
	CompletionStore = qp.CompletionStore // completions that another process takes

	// AH is an address handle; see [PD.CreateAH].
	AH = transport.AH

	// QPCounters are what the transport of one queue pair has counted.
	QPCounters = transport.Counters
	// TransportConfig holds what the IBA leaves to the implementation.
	TransportConfig = transport.Config
)

// Types of queue pairs.
const (
	RC = qp.RC // reliable connection
	UC = qp.UC // unreliable connection: SEND and WRITE without acknowledgement
	UD = qp.UD // unreliable datagrams: SEND to anybody, see [QP.StartDatagrams]
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

// Rights on a region, and of a peer on a queue pair.
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

	WRSendInv     = qp.WRSendInv     // SEND that invalidates the peer's key in Imm
	WRAtomicWrite = qp.WRAtomicWrite // 8 bytes, in one piece
	WRFlush       = qp.WRFlush
	WRLocalInv    = qp.WRLocalInv // invalidates the key in Imm
	WRBindMW      = qp.WRBindMW
	WRRegMR       = qp.WRRegMR
)

// Types of memory windows.
const (
	MWType1 = mr.WindowType1 // for every queue pair of the domain, bound by [QP.BindMW]
	MWType2 = mr.WindowType2 // 2B: for one queue pair, bound by work requests
)

// What a flush brings about, and how much it flushes.
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

// Operations that completions name.
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

// Attributes that [SRQ.Modify] may name; values of ibv_srq_attr_mask.
const (
	SRQMaxWR = qp.SRQMaxWR
	SRQLimit = qp.SRQLimit
)

// Asynchronous events that this device raises; values of ibv_event_type.
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

// Fields of a completion that hold.
const (
	WCWithImm = qp.WithImm
	WCWithInv = qp.WithInv
	WCGRH     = qp.GRH // the receive begins with GRHLen bytes of network header
)

// How a work request ended.
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

// Attributes that [QP.Modify] may name; values of ibv_qp_attr_mask.
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
