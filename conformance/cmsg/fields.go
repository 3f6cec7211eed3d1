package cmsg

// Fields of the MAD header (IBA 13.4.3).
var (
	BaseVersion   = Field{"BaseVersion", 0, 8}
	Class         = Field{"MgmtClass", 8, 8}
	ClassVersion  = Field{"ClassVersion", 16, 8}
	Method        = Field{"Method", 24, 8}
	Status        = Field{"Status", 32, 16}
	ClassSpecific = Field{"ClassSpecific", 48, 16}
	TID           = Field{"TransactionID", 64, 64}
	AttrID        = Field{"AttributeID", 128, 16}
	AttrReserved  = Field{"Reserved", 144, 16}
	AttrModifier  = Field{"AttributeModifier", 160, 32} // of a REQ and a REP: ECE attribute
)

// body returns the field at a bit of a byte after the MAD header.
func body(name string, byteOff, bit, width int) Field {
	return Field{name, (headerLen+byteOff)*8 + bit, width}
}

const headerLen = 24

// Fields that several messages have. In all except REQ, both communication IDs are at the start. In
// SIDR_REQ and SIDR_REP, LocalID is the request ID.
var (
	LocalID  = body("LocalCommID", 0, 0, 32)
	RemoteID = body("RemoteCommID", 4, 0, 32)
)

// Fields of REQ (IBA 12.6.5; the VendorID: Linux ibta_vol1_c12.h).
var (
	REQVendor      = body("VendorID", 5, 0, 24)
	REQService     = body("ServiceID", 8, 0, 64)
	REQGUID        = body("LocalCAGUID", 16, 0, 64)
	REQQKey        = body("LocalQKey", 28, 0, 32)
	REQQPN         = body("LocalQPN", 32, 0, 24)
	REQResources   = body("ResponderResources", 35, 0, 8)
	REQDepth       = body("InitiatorDepth", 39, 0, 8)
	REQRemoteTime  = body("RemoteCMResponseTimeout", 43, 0, 5)
	REQTransport   = body("TransportServiceType", 43, 5, 2) // 0: RC
	REQFlowControl = body("EndToEndFlowControl", 43, 7, 1)
	REQPSN         = body("StartingPSN", 44, 0, 24)
	REQLocalTime   = body("LocalCMResponseTimeout", 47, 0, 5)
	REQRetries     = body("RetryCount", 47, 5, 3)
	REQPKey        = body("PartitionKey", 48, 0, 16)
	REQMTU         = body("PathMTU", 50, 0, 4) // 1: 256 to 5: 4096
	REQRNRRetries  = body("RNRRetryCount", 50, 5, 3)
	REQCMRetries   = body("MaxCMRetries", 51, 0, 4)
	REQSRQ         = body("SRQ", 51, 4, 1)
	REQLocalLID    = body("PrimaryLocalLID", 52, 0, 16)
	REQRemoteLID   = body("PrimaryRemoteLID", 54, 0, 16)
	REQFlowLabel   = body("PrimaryFlowLabel", 88, 0, 20)
	REQRate        = body("PrimaryPacketRate", 88, 26, 6)
	REQClass       = body("PrimaryTrafficClass", 92, 0, 8)
	REQHopLimit    = body("PrimaryHopLimit", 93, 0, 8)
	REQSL          = body("PrimarySL", 94, 0, 4)
	REQSubnetLocal = body("PrimarySubnetLocal", 94, 4, 1)
	REQAckTimeout  = body("PrimaryLocalACKTimeout", 95, 0, 5)
	REQAltLocalLID = body("AlternateLocalLID", 96, 0, 16)
)

// Byte offsets of longer fields in a MAD.
const (
	REQLocalGID   = headerLen + 56
	REQRemoteGID  = headerLen + 72
	REQPrivate    = headerLen + 140 // 92 bytes
	REPPrivate    = headerLen + 36  // 196 bytes
	REJInfo       = headerLen + 12  // 72 bytes
	SIDRPrivate   = headerLen + 16  // of SIDR_REQ, 216 bytes
	REQPrivateLen = 92
)

// Fields of REP (IBA 12.6.8).
var (
	REPQPN         = body("LocalQPN", 12, 0, 24)
	REPVendorHigh  = body("VendorID 23:16", 15, 0, 8)
	REPVendorMid   = body("VendorID 15:8", 19, 0, 8)
	REPPSN         = body("StartingPSN", 20, 0, 24)
	REPVendorLow   = body("VendorID 7:0", 23, 0, 8)
	REPResources   = body("ResponderResources", 24, 0, 8)
	REPDepth       = body("InitiatorDepth", 25, 0, 8)
	REPFailover    = body("FailoverAccepted", 26, 5, 2)
	REPFlowControl = body("EndToEndFlowControl", 26, 7, 1)
	REPRNRRetries  = body("RNRRetryCount", 27, 0, 3)
	REPSRQ         = body("SRQ", 27, 3, 1)
	REPGUID        = body("LocalCAGUID", 28, 0, 64)
)

// Fields of REJ (IBA 12.6.7), MRA (12.6.6) and DREQ (12.6.10).
var (
	REJMessage = body("MessageRejected", 8, 0, 2) // 0: REQ, 1: REP, 2: other
	REJLen     = body("RejectInfoLength", 9, 0, 7)
	REJReason  = body("Reason", 10, 0, 16)
	MRAMessage = body("MessageMRAed", 8, 0, 2)
	MRATime    = body("ServiceTimeout", 9, 0, 5)
	DREQQPN    = body("RemoteQPN", 8, 0, 24)
)

// Fields of SIDR_REQ (IBA 12.11.1) and SIDR_REP (IBA 12.11.2).
var (
	SIDRPKey       = body("PartitionKey", 4, 0, 16)
	SIDRService    = body("ServiceID", 8, 0, 64)
	SIDRStatus     = body("Status", 4, 0, 8) // of SIDR_REP; 0: valid
	SIDRQPN        = body("QPN", 8, 0, 24)
	SIDRRepService = body("ServiceID", 12, 0, 64)
	SIDRQKey       = body("QKey", 20, 0, 32)
)
