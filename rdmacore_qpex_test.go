package gorxe_test

import (
	"testing"

	"github.com/gorxe/gorxe"
)

var rdmaCoreQPEx = map[string]func(*testing.T){
	"test_qp_ex_rc_send":                 sendTraffic(playerOptions{}, gorxe.WRSend),
	"test_qp_ex_rc_send_imm":             sendTraffic(playerOptions{}, gorxe.WRSendImm),
	"test_qp_ex_rc_rdma_write":           oneSidedTraffic(gorxe.RemoteWrite, -1, gorxe.WRWrite),
	"test_qp_ex_rc_rdma_write_imm":       sendTraffic(playerOptions{mrAccess: gorxe.LocalWrite | gorxe.RemoteWrite}, gorxe.WRWriteImm),
	"test_qp_ex_rc_rdma_write_zero_size": oneSidedTraffic(gorxe.RemoteWrite, 0, gorxe.WRWrite),
	"test_qp_ex_rc_rdma_read":            oneSidedTraffic(gorxe.RemoteRead, -1, gorxe.WRRead),
	"test_qp_ex_rc_rdma_read_zero_size":  oneSidedTraffic(gorxe.RemoteRead, 0, gorxe.WRRead),
	"test_qp_ex_rc_atomic_cmp_swp":       func(t *testing.T) { atomicTraffic(t, gorxe.WRCmpSwap, 1, 2) },
	"test_qp_ex_rc_atomic_fetch_add":     func(t *testing.T) { atomicTraffic(t, gorxe.WRFetchAdd, 1, 2) },
	"test_post_receive_qp_state_bad_flow": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{})
		server.reset()
		server.refused(server.qp.PostRecv(&gorxe.RecvWR{SGList: server.sge()}), "RESET")
	},
	"test_post_send_qp_state_bad_flow": func(t *testing.T) {
		client, _ := newPlayers(t, playerOptions{})
		client.reset()
		client.refused(client.qp.PostSend(&gorxe.SendWR{Opcode: gorxe.WRSend, SGList: client.sge()}), "RESET")
	},
	"test_full_rq_bad_flow": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{})
		_, sizes := server.qp.Query()
		for range sizes.MaxRecvWR {
			server.postRecv()
		}
		server.refused(server.qp.PostRecv(&gorxe.RecvWR{SGList: server.sge()}), "full", "256")
	},
	"test_rq_with_larger_sgl_bad_flow": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{})
		_, sizes := server.qp.Query()
		var sg []gorxe.SGE
		for i := range sizes.MaxRecvSGE + 1 {
			sg = append(sg, server.mr.SGE(i, 1))
		}
		server.refused(server.qp.PostRecv(&gorxe.RecvWR{SGList: sg}), "3 SGEs", "2")
	},
}

func (p *player) reset() {
	p.Helper()
	if err := p.qp.Modify(&gorxe.QPAttr{State: gorxe.RESET}, gorxe.AttrState); err != nil {
		p.Fatal(err)
	}
}

func sendTraffic(o playerOptions, op gorxe.WROpcode) func(*testing.T) {
	return func(t *testing.T) {
		client, server := newPlayers(t, o)
		traffic(client, server, op)
	}
}

// oneSidedTraffic is WRITE or READ traffic of size bytes, -1 for the usual size, on regions
// that grant only what it needs.
func oneSidedTraffic(access gorxe.Access, size int, op gorxe.WROpcode) func(*testing.T) {
	return func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{mrAccess: gorxe.LocalWrite | access, qpAccess: access})
		if size >= 0 {
			client.size, server.size = size, size
		}
		rdmaTraffic(client, server, op)
	}
}
