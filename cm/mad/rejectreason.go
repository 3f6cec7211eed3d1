package mad

import "strconv"

// RejectReason is the reason of a REJ (IBA table 109).
type RejectReason uint16

const (
	RejectNoQP                 RejectReason = 1
	RejectNoEEC                RejectReason = 2
	RejectNoResources          RejectReason = 3
	RejectTimeout              RejectReason = 4 // timed out; ARI: the CA GUID of the side that gave up
	RejectUnsupported          RejectReason = 5
	RejectInvalidCommID        RejectReason = 6
	RejectInvalidCommInstance  RejectReason = 7
	RejectInvalidServiceID     RejectReason = 8 // no listener
	RejectInvalidTransportType RejectReason = 9
	// RejectStaleConn: the sender's queue pair belongs to another connection, or did recently.
	RejectStaleConn                 RejectReason = 10
	RejectRDCNotExist               RejectReason = 11
	RejectInvalidGID                RejectReason = 12 // ARI: the GID to use
	RejectInvalidLID                RejectReason = 13
	RejectInvalidSL                 RejectReason = 14
	RejectInvalidTrafficClass       RejectReason = 15
	RejectInvalidHopLimit           RejectReason = 16
	RejectInvalidPacketRate         RejectReason = 17
	RejectInvalidAltGID             RejectReason = 18
	RejectInvalidAltLID             RejectReason = 19
	RejectInvalidAltSL              RejectReason = 20
	RejectInvalidAltTrafficClass    RejectReason = 21
	RejectInvalidAltHopLimit        RejectReason = 22
	RejectInvalidAltPacketRate      RejectReason = 23
	RejectPortCMRedirect            RejectReason = 24
	RejectPortRedirect              RejectReason = 25
	RejectInvalidMTU                RejectReason = 26 // ARI: one byte, the path MTU to use
	RejectInsufficientRespResources RejectReason = 27
	RejectConsumerDefined           RejectReason = 28 // rejected by the program, see the private data
	RejectInvalidRNRRetry           RejectReason = 29
	RejectDuplicateLocalCommID      RejectReason = 30
	RejectInvalidClassVersion       RejectReason = 31
	RejectInvalidFlowLabel          RejectReason = 32
	RejectInvalidAltFlowLabel       RejectReason = 33
	RejectVendorOptionNotSupported  RejectReason = 35
)

var rejectNames = [...]string{
	RejectNoQP:                      "no QP available",
	RejectNoEEC:                     "no EEC available",
	RejectNoResources:               "no resources available",
	RejectTimeout:                   "timeout",
	RejectUnsupported:               "unsupported request",
	RejectInvalidCommID:             "invalid communication ID",
	RejectInvalidCommInstance:       "invalid communication instance",
	RejectInvalidServiceID:          "invalid service ID",
	RejectInvalidTransportType:      "invalid transport service type",
	RejectStaleConn:                 "stale connection",
	RejectRDCNotExist:               "RDC does not exist",
	RejectInvalidGID:                "primary remote port GID rejected",
	RejectInvalidLID:                "primary remote port LID rejected",
	RejectInvalidSL:                 "invalid primary SL",
	RejectInvalidTrafficClass:       "invalid primary traffic class",
	RejectInvalidHopLimit:           "invalid primary hop limit",
	RejectInvalidPacketRate:         "invalid primary packet rate",
	RejectInvalidAltGID:             "alternate remote port GID rejected",
	RejectInvalidAltLID:             "alternate remote port LID rejected",
	RejectInvalidAltSL:              "invalid alternate SL",
	RejectInvalidAltTrafficClass:    "invalid alternate traffic class",
	RejectInvalidAltHopLimit:        "invalid alternate hop limit",
	RejectInvalidAltPacketRate:      "invalid alternate packet rate",
	RejectPortCMRedirect:            "port and CM redirection",
	RejectPortRedirect:              "port redirection",
	RejectInvalidMTU:                "invalid path MTU",
	RejectInsufficientRespResources: "insufficient responder resources",
	RejectConsumerDefined:           "consumer reject",
	RejectInvalidRNRRetry:           "RNR retry count reject",
	RejectDuplicateLocalCommID:      "duplicate local communication ID",
	RejectInvalidClassVersion:       "unsupported class version",
	RejectInvalidFlowLabel:          "invalid primary flow label",
	RejectInvalidAltFlowLabel:       "invalid alternate flow label",
	RejectVendorOptionNotSupported:  "vendor option not supported",
}

// String returns the reason's name, such as "stale connection", or its number.
func (r RejectReason) String() string {
	if int(r) < len(rejectNames) && rejectNames[r] != "" {
		return rejectNames[r]
	}
	return "reason " + strconv.Itoa(int(r))
}
