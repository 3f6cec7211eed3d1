package rdmacore_test

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

var rdmaCoreQPEx = map[string]func(*testing.T){
	"test_qp_ex_ud_send":     sendTraffic(playerOptions{service: verbs.UD}, verbs.WRSend),
	"test_qp_ex_ud_send_imm": sendTraffic(playerOptions{service: verbs.UD}, verbs.WRSendImm),
	"test_qp_ex_ud_zero_size": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{service: verbs.UD})
		client.size, server.size = 0, 0
		traffic(client, server, verbs.WRSend)
	},
	"test_qp_ex_rc_send":       sendTraffic(playerOptions{}, verbs.WRSend),
	"test_qp_ex_rc_send_imm":   sendTraffic(playerOptions{}, verbs.WRSendImm),
	"test_qp_ex_rc_rdma_write": oneSidedTraffic(verbs.RemoteWrite, -1, verbs.WRWrite),
	"test_qp_ex_rc_rdma_write_imm": sendTraffic(playerOptions{mrAccess: verbs.LocalWrite | verbs.RemoteWrite},
		verbs.WRWriteImm),
	"test_qp_ex_rc_rdma_write_zero_size": oneSidedTraffic(verbs.RemoteWrite, 0, verbs.WRWrite),
	"test_qp_ex_rc_rdma_read":            oneSidedTraffic(verbs.RemoteRead, -1, verbs.WRRead),
	"test_qp_ex_rc_rdma_read_zero_size":  oneSidedTraffic(verbs.RemoteRead, 0, verbs.WRRead),
	"test_qp_ex_rc_atomic_cmp_swp":       func(t *testing.T) { atomicTraffic(t, verbs.WRCmpSwap, 1, 2) },
	"test_qp_ex_rc_atomic_fetch_add":     func(t *testing.T) { atomicTraffic(t, verbs.WRFetchAdd, 1, 2) },
	"test_qp_ex_rc_atomic_write": func(t *testing.T) {
		client, server := newPlayers(t,
			playerOptions{size: 8, mrAccess: verbs.LocalWrite | verbs.RemoteWrite, qpAccess: verbs.RemoteWrite})
		rdmaTraffic(client, server, verbs.WRAtomicWrite)
	},
	"test_qp_ex_rc_flush": func(t *testing.T) {
		client, server := flushPlayers(t)
		rdmaTraffic(client, server, verbs.WRWrite)
		for _, level := range []verbs.FlushLevel{verbs.FlushRange, verbs.FlushRegion} {
			client.flush(verbs.FlushToGlobal, level)
			client.want(verbs.WCSuccess)
		}
	},
	"test_qp_ex_rc_flush_type_violate": func(t *testing.T) {
		client, _ := flushPlayers(t)
		client.flush(verbs.FlushToPersistent, verbs.FlushRange)
		client.want(verbs.WCRemAccessErr)
	},
	"test_qp_ex_rc_bind_mw": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{mrAccess: verbs.LocalWrite | verbs.RemoteWrite | verbs.MWBind})
		w := server.Window(verbs.MWType2)
		bind := w.Bind(server.mr, server.mr.Addr(), uint64(server.size), verbs.RemoteRead)
		server.postBare(verbs.WRBindMW, func(wr *verbs.SendWR) { wr.Bind = bind })
		server.want(verbs.WCSuccess)
		server.fill(1)
		client.rkey = bind.NewKey
		client.Post(verbs.WRWrite, nil)
		client.want(verbs.WCRemAccessErr)
		server.holds(server.size, 1)
	},
	"test_post_receive_qp_state_bad_flow": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{})
		server.reset()
		server.refused(server.qp.PostRecv(&verbs.RecvWR{SGList: server.sge(server.size)}), "RESET")
	},
	"test_post_send_qp_state_bad_flow": func(t *testing.T) {
		client, _ := newPlayers(t, playerOptions{})
		client.reset()
		client.refused(client.qp.PostSend(&verbs.SendWR{Opcode: verbs.WRSend,
			SGList: client.sge(client.size)}), "RESET")
	},
	"test_full_rq_bad_flow": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{})
		_, sizes := server.qp.Query()
		for range sizes.MaxRecvWR {
			server.postRecv()
		}
		server.refused(server.qp.PostRecv(&verbs.RecvWR{SGList: server.sge(server.size)}), "full", "256")
	},
	"test_rq_with_larger_sgl_bad_flow": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{})
		_, sizes := server.qp.Query()
		var sg []verbs.SGE
		for i := range sizes.MaxRecvSGE + 1 {
			sg = append(sg, server.mr.SGE(i, 1))
		}
		server.refused(server.qp.PostRecv(&verbs.RecvWR{SGList: sg}), "3 SGEs", "2")
	},
}

func (p *player) reset() {
	p.Helper()
	if err := p.qp.Modify(&verbs.QPAttr{State: verbs.RESET}, verbs.AttrState); err != nil {
		p.Fatal(err)
	}
}

func sendTraffic(o playerOptions, op verbs.WROpcode) func(*testing.T) {
	return func(t *testing.T) {
		client, server := newPlayers(t, o)
		traffic(client, server, op)
	}
}

// oneSidedTraffic tests WRITE or READ traffic of size bytes, -1 for the default size, on regions
// that grant only the required right.
func oneSidedTraffic(access verbs.Access, size int, op verbs.WROpcode) func(*testing.T) {
	return func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{mrAccess: verbs.LocalWrite | access, qpAccess: access})
		if size >= 0 {
			client.size, server.size = size, size
		}
		rdmaTraffic(client, server, op)
	}
}

func flushPlayers(t *testing.T) (client, server *player) {
	t.Helper()
	return newPlayers(t, playerOptions{
		mrAccess: verbs.LocalWrite | verbs.RemoteWrite | verbs.FlushGlobal,
		qpAccess: verbs.RemoteWrite | verbs.FlushGlobal | verbs.FlushPersistent,
	})
}

func (p *player) flush(to verbs.FlushType, level verbs.FlushLevel) {
	p.Helper()
	n := uint32(p.size)
	if level == verbs.FlushRegion {
		n = 0
	}
	p.postBare(verbs.WRFlush, func(wr *verbs.SendWR) {
		wr.RemoteAddr, wr.RKey, wr.Flush = p.addr, p.rkey, verbs.Flush{Type: to, Level: level, Length: n}
	})
}

// postBare posts a work request without a message.
func (p *player) postBare(op verbs.WROpcode, fill func(*verbs.SendWR)) {
	p.Helper()
	wr := &verbs.SendWR{ID: 7, Opcode: op, Flags: verbs.Signaled}
	fill(wr)
	if err := p.qp.PostSend(wr); err != nil {
		p.Fatal(err)
	}
}

func (p *player) Window(typ verbs.MWType) *verbs.MW {
	p.Helper()
	w, err := p.pd.AllocMW(typ)
	if err != nil {
		p.Fatal(err)
	}
	return w
}
