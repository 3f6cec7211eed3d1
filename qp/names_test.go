package qp_test

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// Numbers are those of rdma-core's verbs.h, names those of its enums.
func TestNumbersAndNamesAreThoseOfVerbs(t *testing.T) {
	type named interface{ String() string }
	for _, c := range []struct {
		got    named
		number uint64
		name   string
	}{
		{qp.RC, 2, "RC"}, {qp.UC, 3, "UC"}, {qp.UD, 4, "UD"}, {qp.GSI, 1, "GSI"},
		{qp.RESET, 0, "RESET"}, {qp.INIT, 1, "INIT"}, {qp.RTR, 2, "RTR"}, {qp.RTS, 3, "RTS"},
		{qp.SQD, 4, "SQD"}, {qp.SQE, 5, "SQE"}, {qp.ERR, 6, "ERR"},
		{qp.WRWrite, 0, "RDMA_WRITE"}, {qp.WRWriteImm, 1, "RDMA_WRITE_WITH_IMM"}, {qp.WRSend, 2, "SEND"},
		{qp.WRSendImm, 3, "SEND_WITH_IMM"}, {qp.WRRead, 4, "RDMA_READ"}, {qp.WRCmpSwap, 5, "ATOMIC_CMP_AND_SWP"},
		{qp.WRFetchAdd, 6, "ATOMIC_FETCH_AND_ADD"}, {qp.WRLocalInv, 7, "LOCAL_INV"}, {qp.WRBindMW, 8, "BIND_MW"},
		{qp.WRSendInv, 9, "SEND_WITH_INV"}, {qp.WRFlush, 14, "FLUSH"}, {qp.WRAtomicWrite, 15, "ATOMIC_WRITE"},
		{qp.WRRegMR, 32, "REG_MR"},
		{qp.WCSend, 0, "SEND"}, {qp.WCWrite, 1, "RDMA_WRITE"},
		{qp.WCRead, 2, "RDMA_READ"}, {qp.WCCmpSwap, 3, "COMP_SWAP"},
		{qp.WCFetchAdd, 4, "FETCH_ADD"}, {qp.WCBindMW, 5, "BIND_MW"}, {qp.WCLocalInv, 6, "LOCAL_INV"},
		{qp.WCFlush, 8, "FLUSH"}, {qp.WCAtomicWrite, 9, "ATOMIC_WRITE"},
		{qp.WCRegMR, 10, "REG_MR"},
		{qp.WCRecv, 128, "RECV"}, {qp.WCRecvWriteImm, 129, "RECV_RDMA_WITH_IMM"},
		{qp.AttrState, 1, "IBV_QP_STATE"}, {qp.AttrCurState, 2, "IBV_QP_CUR_STATE"},
		{qp.AttrSQDAsyncNotify, 4, "IBV_QP_EN_SQD_ASYNC_NOTIFY"}, {qp.AttrAccess, 8, "IBV_QP_ACCESS_FLAGS"},
		{qp.AttrPKeyIndex, 16, "IBV_QP_PKEY_INDEX"}, {qp.AttrPort, 32, "IBV_QP_PORT"}, {qp.AttrQKey, 64, "IBV_QP_QKEY"},
		{qp.AttrAV, 128, "IBV_QP_AV"}, {qp.AttrPathMTU, 256, "IBV_QP_PATH_MTU"},
		{qp.AttrTimeout, 512, "IBV_QP_TIMEOUT"},
		{qp.AttrRetryCnt, 1024, "IBV_QP_RETRY_CNT"}, {qp.AttrRNRRetry, 2048, "IBV_QP_RNR_RETRY"},
		{qp.AttrRQPSN, 4096, "IBV_QP_RQ_PSN"}, {qp.AttrMaxRdAtomic, 8192, "IBV_QP_MAX_QP_RD_ATOMIC"},
		{qp.AttrAltPath, 16384, "IBV_QP_ALT_PATH"}, {qp.AttrMinRNRTimer, 32768, "IBV_QP_MIN_RNR_TIMER"},
		{qp.AttrSQPSN, 65536, "IBV_QP_SQ_PSN"}, {qp.AttrMaxDestRdAtomic, 131072, "IBV_QP_MAX_DEST_RD_ATOMIC"},
		{qp.AttrMigState, 262144, "IBV_QP_PATH_MIG_STATE"}, {qp.AttrCap, 524288, "IBV_QP_CAP"},
		{qp.AttrDestQPN, 1048576, "IBV_QP_DEST_QPN"}, {qp.AttrRateLimit, 1 << 25, "IBV_QP_RATE_LIMIT"},
	} {
		if got := fmt.Sprintf("%d", c.got); got != fmt.Sprint(c.number) {
			t.Errorf("%s has number %s, want %d", c.name, got, c.number)
		}
		if got := c.got.String(); got != c.name {
			t.Errorf("%T(%d) is %q, want %q", c.got, c.number, got, c.name)
		}
	}
}

func TestUnknownNumbersShowAsNumbers(t *testing.T) {
	for _, c := range []struct {
		got  fmt.Stringer
		want string
	}{
		{qp.Type(0), "QPT(0)"}, {qp.Type(5), "QPT(5)"}, {qp.Type(99), "QPT(99)"}, {qp.State(7), "QPS(7)"},
		{qp.WROpcode(10), "WR(10)"}, {qp.WROpcode(200), "WR(200)"}, {qp.WCOpcode(77), "WC(77)"},
		{qp.WCStatus(24), "unknown"}, {qp.AttrMask(0), "0"},
		{qp.AttrMask(1<<30 | 1), "IBV_QP_STATE|0x40000000"}, {qp.MTU(1500), "1500 (not an MTU)"},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := qp.WCStatus(24).Name(); got != "WC(24)" {
		t.Errorf("%q", got)
	}
}

func TestStatusTextsAreThoseOfIbvWcStatusStr(t *testing.T) {
	for i, want := range []struct{ name, text string }{
		{"SUCCESS", "success"},
		{"LOC_LEN_ERR", "local length error"},
		{"LOC_QP_OP_ERR", "local QP operation error"},
		{"LOC_EEC_OP_ERR", "local EE context operation error"},
		{"LOC_PROT_ERR", "local protection error"},
		{"WR_FLUSH_ERR", "Work Request Flushed Error"},
		{"MW_BIND_ERR", "memory management operation error"},
		{"BAD_RESP_ERR", "bad response error"},
		{"LOC_ACCESS_ERR", "local access error"},
		{"REM_INV_REQ_ERR", "remote invalid request error"},
		{"REM_ACCESS_ERR", "remote access error"},
		{"REM_OP_ERR", "remote operation error"},
		{"RETRY_EXC_ERR", "transport retry counter exceeded"},
		{"RNR_RETRY_EXC_ERR", "RNR retry counter exceeded"},
		{"LOC_RDD_VIOL_ERR", "local RDD violation error"},
		{"REM_INV_RD_REQ_ERR", "remote invalid RD request"},
		{"REM_ABORT_ERR", "aborted error"},
		{"INV_EECN_ERR", "invalid EE context number"},
		{"INV_EEC_STATE_ERR", "invalid EE context state"},
		{"FATAL_ERR", "fatal error"},
		{"RESP_TIMEOUT_ERR", "response timeout error"},
		{"GENERAL_ERR", "general error"},
		{"TM_ERR", "TM error"},
		{"TM_RNDV_INCOMPLETE", "TM software rendezvous"},
	} {
		if s := qp.WCStatus(i); s.Name() != want.name || s.String() != want.text {
			t.Errorf("status %d is %q, %q; want %q, %q", i, s.Name(), s, want.name, want.text)
		}
	}
}

func TestRequestsCompleteAsTheirOperation(t *testing.T) {
	for o, want := range map[qp.WROpcode]qp.WCOpcode{
		qp.WRSend: qp.WCSend, qp.WRSendImm: qp.WCSend, qp.WRSendInv: qp.WCSend,
		qp.WRWrite: qp.WCWrite, qp.WRWriteImm: qp.WCWrite, qp.WRRead: qp.WCRead,
		qp.WRCmpSwap: qp.WCCmpSwap, qp.WRFetchAdd: qp.WCFetchAdd,
		qp.WRAtomicWrite: qp.WCAtomicWrite, qp.WRRegMR: qp.WCRegMR,
		qp.WRFlush: qp.WCFlush, qp.WRLocalInv: qp.WCLocalInv, qp.WRBindMW: qp.WCBindMW,
		qp.WROpcode(99): qp.WCSend,
	} {
		if got := o.WCOpcode(); got != want || got.IsRecv() {
			t.Errorf("%v completes as %v, want %v", o, got, want)
		}
	}
	if !qp.WCRecv.IsRecv() || !qp.WCRecvWriteImm.IsRecv() {
		t.Error("receive completions are not told apart")
	}
}
