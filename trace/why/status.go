package why

import (
	"fmt"
	"strings"
)

// Status is the status of a work completion, with the values of enum ibv_wc_status of rdma-core
// (libibverbs/verbs.h). A Complaint without a status has NoStatus.
type Status int

// The statuses that a Collector explains by findings.
const (
	NoStatus    Status = -1
	LocLen      Status = 1
	LocQPOp     Status = 2
	LocProt     Status = 4
	WRFlush     Status = 5
	BadResp     Status = 7
	LocAccess   Status = 8
	RemInvReq   Status = 9
	RemAccess   Status = 10
	RemOp       Status = 11
	RetryExc    Status = 12
	RNRRetryExc Status = 13
)

// statusInfo describes a Status.
type statusInfo struct {
	name    string
	texts   []string // the first is that of ibv_wc_status_str
	meaning string
}

// statuses has the names of enum ibv_wc_status, and the texts of ibv_wc_status_str (rdma-core
// libibverbs/verbs.c), ib_wc_status_msg (Linux drivers/infiniband/core/verbs.c), UCX
// (src/uct/ib/mlx5/ib_mlx5_log.c) and Open MPI (opal/mca/btl/openib). The meanings follow IBA
// 11.6.2.
var statuses = []statusInfo{
	0: {"SUCCESS", nil, "the work request succeeded"},
	1: {"LOC_LEN_ERR", []string{"local length error", "local length"},
		"a message is longer than its buffers, or than the port allows: at the receiver, the posted receive is too short"},
	2: {"LOC_QP_OP_ERR", []string{"local QP operation error", "local QP operation"},
		"the RNIC found an inconsistency in the work request or the queue pair; nothing of it is on the wire"},
	3: {"LOC_EEC_OP_ERR", []string{"local EE context operation error"}, "an error of a reliable datagram, which no " +
		"RNIC has"},
	4: {"LOC_PROT_ERR", []string{"local protection error", "local protection"},
		"the local buffers of the work request are not registered, or belong to another protection domain"},
	5: {"WR_FLUSH_ERR", []string{"Work Request Flushed Error", "WR flushed because QP in error state", "WR flushed",
		"is flushed"},
		"the queue pair was already in the error state: the cause is an earlier error of it, or a disconnect"},
	6: {"MW_BIND_ERR", []string{"memory management operation error", "memory bind operation error", "memory window " +
		"bind"},
		"a memory window or memory registration request failed; nothing of it is on the wire"},
	7: {"BAD_RESP_ERR", []string{"bad response error", "bad response"},
		"the responder sent a response that the requester did not expect"},
	8: {"LOC_ACCESS_ERR", []string{"local access error", "local access"},
		"the peer accessed local memory without permission, by a WRITE with immediate data"},
	9: {"REM_INV_REQ_ERR", []string{"remote invalid request error", "invalid request"},
		"the responder refused the request as invalid: an operation that its queue pair does not allow, a SEND longer " +
			"than the posted receive, or too many READs at a time"},
	10: {"REM_ACCESS_ERR", []string{"remote access error", "remote access"},
		"the responder refused the R_Key, the address range or the kind of access"},
	11: {"REM_OP_ERR", []string{"remote operation error", "remote op error", "remote QP"},
		"the responder could not execute the request because of an error on its side"},
	12: {"RETRY_EXC_ERR", []string{"transport retry counter exceeded", "transport retry count exceeded",
		"retry exceeded error", "retry exceded error"},
		"a request had no response, although it was retransmitted retry_cnt times; the requester gave up"},
	13: {"RNR_RETRY_EXC_ERR", []string{"RNR retry counter exceeded", "receive-no-ready retry count exceeded",
		"receiver not ready retry exceeded error", "RNR retry exceded error"},
		"the responder had no receive posted each time, rnr_retry times; the requester gave up"},
	14: {"LOC_RDD_VIOL_ERR", []string{"local RDD violation error"}, "an error of a reliable datagram, which no RNIC " +
		"has"},
	15: {"REM_INV_RD_REQ_ERR", []string{"remote invalid RD request"}, "an error of a reliable datagram, which no " +
		"RNIC has"},
	16: {"REM_ABORT_ERR", []string{"aborted error", "operation aborted", "remote side aborted"}, "the responder " +
		"aborted the operation"},
	17: {"INV_EECN_ERR", []string{"invalid EE context number"}, "an error of a reliable datagram, which no RNIC has"},
	18: {"INV_EEC_STATE_ERR", []string{"invalid EE context state"}, "an error of a reliable datagram, which no RNIC " +
		"has"},
	19: {"FATAL_ERR", []string{"fatal error"}, "the RNIC failed"},
	20: {"RESP_TIMEOUT_ERR", []string{"response timeout error"}, "a response did not come in time"},
	21: {"GENERAL_ERR", []string{"general error", "generic"}, "the driver reports another error"},
}

// String returns number, name and text of s.
func (s Status) String() string {
	i := s.info()
	switch {
	case i == nil:
		return fmt.Sprintf("status %d", int(s))
	case len(i.texts) == 0:
		return fmt.Sprintf("status %d IBV_WC_%s", int(s), i.name)
	}
	return fmt.Sprintf("status %d IBV_WC_%s (%s)", int(s), i.name, i.texts[0])
}

// Meaning returns what s means, "" if unknown.
func (s Status) Meaning() string {
	if i := s.info(); i != nil {
		return i.meaning
	}
	return ""
}

// info returns nil for an unknown status.
func (s Status) info() *statusInfo {
	if s < 0 || int(s) >= len(statuses) {
		return nil
	}
	return &statuses[s]
}

// statusIn returns the status whose name or text is in line, NoStatus if there is none. The longest
// text counts: "RNR retry counter exceeded" is not a transport retry.
func statusIn(line string) Status {
	upper, lower := strings.ToUpper(line), strings.ToLower(line)
	best, length := NoStatus, 0
	for s := range statuses {
		i := &statuses[s]
		if n := len(i.name); s > 0 && n > length && strings.Contains(upper, i.name) {
			best, length = Status(s), n
		}
		for _, t := range i.texts {
			if len(t) > length && strings.Contains(lower, strings.ToLower(t)) {
				best, length = Status(s), len(t)
			}
		}
	}
	return best
}

// syndromes has the statuses of the syndromes of an mlx5 error CQE (Linux include/linux/mlx5/cq.h).
var syndromes = map[uint64]Status{
	0x01: LocLen, 0x02: LocQPOp, 0x04: LocProt, 0x05: WRFlush, 0x06: 6, 0x10: BadResp, 0x11: LocAccess, 0x12: RemInvReq,
	0x13: RemAccess, 0x14: RemOp, 0x15: RetryExc, 0x16: RNRRetryExc, 0x22: 16,
}
