package gorxe_test

import (
	"testing"

	"github.com/gorxe/gorxe"
)

var rdmaCoreQPEx = map[string]func(*testing.T){
	"test_qp_ex_ud_send":     sendTraffic(playerOptions{service: gorxe.UD}, gorxe.WRSend),
	"test_qp_ex_ud_send_imm": sendTraffic(playerOptions{service: gorxe.UD}, gorxe.WRSendImm),
	"test_qp_ex_ud_zero_size": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{service: gorxe.UD})
		client.size, server.size = 0, 0
		traffic(client, server, gorxe.WRSend)
	},
	"test_qp_ex_rc_send":                 sendTraffic(playerOptions{}, gorxe.WRSend),
	"test_qp_ex_rc_send_imm":             sendTraffic(playerOptions{}, gorxe.WRSendImm),
	"test_qp_ex_rc_rdma_write":           oneSidedTraffic(gorxe.RemoteWrite, -1, gorxe.WRWrite),
	"test_qp_ex_rc_rdma_write_imm":       sendTraffic(playerOptions{mrAccess: gorxe.LocalWrite | gorxe.RemoteWrite}, gorxe.WRWriteImm),
	"test_qp_ex_rc_rdma_write_zero_size": oneSidedTraffic(gorxe.RemoteWrite, 0, gorxe.WRWrite),
	"test_qp_ex_rc_rdma_read":            oneSidedTraffic(gorxe.RemoteRead, -1, gorxe.WRRead),
	"test_qp_ex_rc_rdma_read_zero_size":  oneSidedTraffic(gorxe.RemoteRead, 0, gorxe.WRRead),
	"test_qp_ex_rc_atomic_cmp_swp":       func(t *testing.T) { atomicTraffic(t, gorxe.WRCmpSwap, 1, 2) },
	"test_qp_ex_rc_atomic_fetch_add":     func(t *testing.T) { atomicTraffic(t, gorxe.WRFetchAdd, 1, 2) },
	"test_qp_ex_rc_atomic_write": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{size: 8, mrAccess: gorxe.LocalWrite | gorxe.RemoteWrite, qpAccess: gorxe.RemoteWrite})
		rdmaTraffic(client, server, gorxe.WRAtomicWrite)
	},
	"test_qp_ex_rc_flush": func(t *testing.T) {
		client, server := flushPlayers(t)
		rdmaTraffic(client, server, gorxe.WRWrite)
		for _, level := range []gorxe.FlushLevel{gorxe.FlushRange, gorxe.FlushRegion} {
			client.flush(gorxe.FlushToGlobal, level)
			client.want(gorxe.WCSuccess)
		}
	},
	"test_qp_ex_rc_flush_type_violate": func(t *testing.T) {
		client, _ := flushPlayers(t)
		client.flush(gorxe.FlushToPersistent, gorxe.FlushRange)
		client.want(gorxe.WCRemAccessErr)
	},
	"test_qp_ex_rc_bind_mw": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{mrAccess: gorxe.LocalWrite | gorxe.RemoteWrite | gorxe.MWBind})
		w := server.window(gorxe.MWType2)
		bind := w.Bind(server.mr, server.mr.Addr(), uint64(server.size), gorxe.RemoteRead)
		server.postBare(gorxe.WRBindMW, func(wr *gorxe.SendWR) { wr.Bind = bind })
		server.want(gorxe.WCSuccess)
		server.fill(1)
		client.rkey = bind.NewKey
		client.post(gorxe.WRWrite, nil)
		client.want(gorxe.WCRemAccessErr)
		server.holds(server.size, 1)
	},
	"test_post_receive_qp_state_bad_flow": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{})
		server.reset()
		server.refused(server.qp.PostRecv(&gorxe.RecvWR{SGList: server.sge(server.size)}), "RESET")
	},
	"test_post_send_qp_state_bad_flow": func(t *testing.T) {
		client, _ := newPlayers(t, playerOptions{})
		client.reset()
		client.refused(client.qp.PostSend(&gorxe.SendWR{Opcode: gorxe.WRSend, SGList: client.sge(client.size)}), "RESET")
	},
	"test_full_rq_bad_flow": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{})
		_, sizes := server.qp.Query()
		for range sizes.MaxRecvWR {
			server.postRecv()
		}
		server.refused(server.qp.PostRecv(&gorxe.RecvWR{SGList: server.sge(server.size)}), "full", "256")
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

func flushPlayers(t *testing.T) (client, server *player) {
	t.Helper()
	return newPlayers(t, playerOptions{
		mrAccess: gorxe.LocalWrite | gorxe.RemoteWrite | gorxe.FlushGlobal,
		qpAccess: gorxe.RemoteWrite | gorxe.FlushGlobal | gorxe.FlushPersistent,
	})
}

func (p *player) flush(to gorxe.FlushType, level gorxe.FlushLevel) {
	p.Helper()
	n := uint32(p.size)
	if level == gorxe.FlushRegion {
		n = 0
	}
	p.postBare(gorxe.WRFlush, func(wr *gorxe.SendWR) {
		wr.RemoteAddr, wr.RKey, wr.Flush = p.addr, p.rkey, gorxe.Flush{Type: to, Level: level, Length: n}
	})
}

// postBare posts a work request without a message.
func (p *player) postBare(op gorxe.WROpcode, fill func(*gorxe.SendWR)) {
	p.Helper()
	wr := &gorxe.SendWR{ID: 7, Opcode: op, Flags: gorxe.Signaled}
	fill(wr)
	if err := p.qp.PostSend(wr); err != nil {
		p.Fatal(err)
	}
}

func (p *player) window(typ gorxe.MWType) *gorxe.MW {
	p.Helper()
	w, err := p.pd.AllocMW(typ)
	if err != nil {
		p.Fatal(err)
	}
	return w
}
