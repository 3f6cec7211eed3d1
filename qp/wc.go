package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// WCStatus says how a work request ended. Values are those of ibv_wc_status.
type WCStatus uint8

const (
	WCSuccess          WCStatus = 0
	WCLocLenErr        WCStatus = 1
	WCLocQPOpErr       WCStatus = 2
	WCLocEECOpErr      WCStatus = 3
	WCLocProtErr       WCStatus = 4
	WCWRFlushErr       WCStatus = 5
	WCMWBindErr        WCStatus = 6
	WCBadRespErr       WCStatus = 7
	WCLocAccessErr     WCStatus = 8
	WCRemInvReqErr     WCStatus = 9
	WCRemAccessErr     WCStatus = 10
	WCRemOpErr         WCStatus = 11
	WCRetryExcErr      WCStatus = 12
	WCRNRRetryExcErr   WCStatus = 13
	WCLocRDDViolErr    WCStatus = 14
	WCRemInvRDReqErr   WCStatus = 15
	WCRemAbortErr      WCStatus = 16
	WCInvEECNErr       WCStatus = 17
	WCInvEECStateErr   WCStatus = 18
	WCFatalErr         WCStatus = 19
	WCRespTimeoutErr   WCStatus = 20
	WCGeneralErr       WCStatus = 21
	WCTMErr            WCStatus = 22
	WCTMRndvIncomplete WCStatus = 23
)

// The texts are those of ibv_wc_status_str, which tools print and people search for.
var wcStatuses = [...]struct{ name, text string }{
	WCSuccess:          {"SUCCESS", "success"},
	WCLocLenErr:        {"LOC_LEN_ERR", "local length error"},
	WCLocQPOpErr:       {"LOC_QP_OP_ERR", "local QP operation error"},
	WCLocEECOpErr:      {"LOC_EEC_OP_ERR", "local EE context operation error"},
	WCLocProtErr:       {"LOC_PROT_ERR", "local protection error"},
	WCWRFlushErr:       {"WR_FLUSH_ERR", "Work Request Flushed Error"},
	WCMWBindErr:        {"MW_BIND_ERR", "memory management operation error"},
	WCBadRespErr:       {"BAD_RESP_ERR", "bad response error"},
	WCLocAccessErr:     {"LOC_ACCESS_ERR", "local access error"},
	WCRemInvReqErr:     {"REM_INV_REQ_ERR", "remote invalid request error"},
	WCRemAccessErr:     {"REM_ACCESS_ERR", "remote access error"},
	WCRemOpErr:         {"REM_OP_ERR", "remote operation error"},
	WCRetryExcErr:      {"RETRY_EXC_ERR", "transport retry counter exceeded"},
	WCRNRRetryExcErr:   {"RNR_RETRY_EXC_ERR", "RNR retry counter exceeded"},
	WCLocRDDViolErr:    {"LOC_RDD_VIOL_ERR", "local RDD violation error"},
	WCRemInvRDReqErr:   {"REM_INV_RD_REQ_ERR", "remote invalid RD request"},
	WCRemAbortErr:      {"REM_ABORT_ERR", "aborted error"},
	WCInvEECNErr:       {"INV_EECN_ERR", "invalid EE context number"},
	WCInvEECStateErr:   {"INV_EEC_STATE_ERR", "invalid EE context state"},
	WCFatalErr:         {"FATAL_ERR", "fatal error"},
	WCRespTimeoutErr:   {"RESP_TIMEOUT_ERR", "response timeout error"},
	WCGeneralErr:       {"GENERAL_ERR", "general error"},
	WCTMErr:            {"TM_ERR", "TM error"},
	WCTMRndvIncomplete: {"TM_RNDV_INCOMPLETE", "TM software rendezvous"},
}

// String is the text of ibv_wc_status_str, such as "transport retry counter exceeded".
func (s WCStatus) String() string {
	if int(s) < len(wcStatuses) {
		return wcStatuses[s].text
	}
	return "unknown"
}

// Name is the name as in IBV_WC_*, such as "RETRY_EXC_ERR".
func (s WCStatus) Name() string {
	if int(s) < len(wcStatuses) {
		return wcStatuses[s].name
	}
	return fmt.Sprintf("WC(%d)", uint8(s))
}

// WCOpcode is the operation that completed. Values are those of ibv_wc_opcode; those of
// receives have bit 7 set. It is valid only when the status is WCSuccess.
type WCOpcode uint8

const (
	WCSend         WCOpcode = 0
	WCWrite        WCOpcode = 1
	WCRead         WCOpcode = 2
	WCCmpSwap      WCOpcode = 3
	WCFetchAdd     WCOpcode = 4
	WCBindMW       WCOpcode = 5
	WCLocalInv     WCOpcode = 6
	WCFlush        WCOpcode = 8
	WCAtomicWrite  WCOpcode = 9
	WCRegMR        WCOpcode = 10 // IB_WC_REG_MR
	WCRecv         WCOpcode = 128
	WCRecvWriteImm WCOpcode = 129
)

var wcOpcodeNames = map[WCOpcode]string{
	WCSend:         "SEND",
	WCWrite:        "RDMA_WRITE",
	WCRead:         "RDMA_READ",
	WCCmpSwap:      "COMP_SWAP",
	WCFetchAdd:     "FETCH_ADD",
	WCBindMW:       "BIND_MW",
	WCLocalInv:     "LOCAL_INV",
	WCFlush:        "FLUSH",
	WCAtomicWrite:  "ATOMIC_WRITE",
	WCRegMR:        "REG_MR",
	WCRecv:         "RECV",
	WCRecvWriteImm: "RECV_RDMA_WITH_IMM",
}

// String is the name as in IBV_WC_*, such as "RECV_RDMA_WITH_IMM".
func (o WCOpcode) String() string {
	if name, ok := wcOpcodeNames[o]; ok {
		return name
	}
	return fmt.Sprintf("WC(%d)", uint8(o))
}

// IsRecv is true for completions of the receive queue.
func (o WCOpcode) IsRecv() bool { return o&WCRecv != 0 }

// WCFlags say which optional fields of a WC hold. Values are those of ibv_wc_flags.
type WCFlags uint32

const (
	GRH     WCFlags = 1 << 0 // the buffer starts with a GRH (UD)
	WithImm WCFlags = 1 << 1 // Imm is immediate data
	WithInv WCFlags = 1 << 3 // Imm is the key that the peer invalidated
)

// WC is a work completion. With a status other than WCSuccess only WRID, Status, QPN and
// VendorErr hold.
type WC struct {
	WRID      uint64
	Status    WCStatus
	Opcode    WCOpcode
	Solicited bool // a receive whose sender asked for a solicited event
	VendorErr uint32
	ByteLen   uint32
	Imm       uint32
	QPN       bth.QPN
	SrcQP     bth.QPN
	Flags     WCFlags
	SL        uint8 // of a datagram: the network header that it came with, [SLIPv4] or [SLIPv6]
}

// What RNICs (mlx5) put into the service level of a completed receive of a datagram, which RoCE has no other use for: a
// UDP header after an IPv4 or IPv6 header. UCX reads it.
const (
	SLIPv4 = 8 | 2
	SLIPv6 = 8 | 1
)

// Completer takes the completions of a queue. It copies wc.
type Completer interface {
	Complete(wc *WC)
}
