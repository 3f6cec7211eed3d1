package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// WCStatus is the result of a work request. The values are those of ibv_wc_status.
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

// wcStatuses has the texts of ibv_wc_status_str, which tools print and users search for.
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

// String returns the text of ibv_wc_status_str, such as "transport retry counter exceeded".
func (s WCStatus) String() string {
	if int(s) < len(wcStatuses) {
		return wcStatuses[s].text
	}
	return "unknown"
}

// Name returns the name without IBV_WC_, such as "RETRY_EXC_ERR".
func (s WCStatus) Name() string {
	if int(s) < len(wcStatuses) {
		return wcStatuses[s].name
	}
	return fmt.Sprintf("WC(%d)", uint8(s))
}

// WCOpcode is the completed operation. The values are those of ibv_wc_opcode; bit 7 marks
// receives. It is valid only if the status is WCSuccess.
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
	WCRegMR        WCOpcode = 10 // IB_WC_REG_MR of the kernel
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

// String returns the name without IBV_WC_, such as "RECV_RDMA_WITH_IMM".
func (o WCOpcode) String() string {
	if name, ok := wcOpcodeNames[o]; ok {
		return name
	}
	return fmt.Sprintf("WC(%d)", uint8(o))
}

// IsRecv reports whether the completion is of the receive queue.
func (o WCOpcode) IsRecv() bool { return o&WCRecv != 0 }

// WCFlags are the valid optional fields of a WC. The values are those of ibv_wc_flags.
type WCFlags uint32

const (
	GRH     WCFlags = 1 << 0 // the buffer starts with a GRH (UD)
	WithImm WCFlags = 1 << 1 // Imm is immediate data
	WithInv WCFlags = 1 << 3 // Imm is the R_Key that the peer invalidated
)

// WC is a work completion. If the status is not WCSuccess, only WRID, Status, QPN and VendorErr
// are valid.
type WC struct {
	WRID      uint64
	Status    WCStatus
	Opcode    WCOpcode
	Solicited bool // receive whose sender requested a solicited event
	VendorErr uint32
	ByteLen   uint32
	Imm       uint32
	QPN       bth.QPN
	SrcQP     bth.QPN
	Flags     WCFlags
	SL        uint8 // received datagram: [SLIPv4] or [SLIPv6], by its IP version
}

// Service levels of received datagrams. RoCE does not use the field; mlx5 RNICs put the types of
// the headers into it (2: IPv4, 1: IPv6, 8: followed by UDP), and UCX reads it.
const (
	SLIPv4 = 8 | 2
	SLIPv6 = 8 | 1
)

// CompletionSink receives the completions of a queue. Complete must copy wc.
type CompletionSink interface {
	Complete(wc *WC)
}
