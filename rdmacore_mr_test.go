package gorxe_test

import (
	"testing"

	"github.com/gorxe/gorxe"
)

var rdmaCoreMR = map[string]func(*testing.T){
	"test_reg_mr_bad_flags": func(t *testing.T) {
		pd := openPipe(t, 1500, "192.0.2.1").AllocPD()
		for _, access := range []gorxe.Access{gorxe.RemoteWrite, gorxe.RemoteAtomic} {
			_, err := pd.RegMR(make([]byte, 4096), access)
			says(t, err, access.String(), "LOCAL_WRITE")
		}
	},
	"test_mr_rereg_addr": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{})
		server.postRecv()
		server.buf = make([]byte, server.size)
		server.rereg(gorxe.ReregBuf(server.buf))
		client.post(gorxe.WRSend, nil)
		client.want(gorxe.WCRemOpErr)
		restate(client, server)
		traffic(client, server, gorxe.WRSend)
	},
	"test_mr_rereg_access": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{mrAccess: gorxe.LocalWrite})
		client.rereg(gorxe.ReregAccess(gorxe.LocalWrite | gorxe.RemoteWrite))
		server.rereg(gorxe.ReregAccess(gorxe.LocalWrite | gorxe.RemoteWrite))
		rdmaTraffic(client, server, gorxe.WRWrite)
	},
	"test_mr_rereg_access_bad_flow": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{mrAccess: gorxe.LocalWrite | gorxe.RemoteWrite})
		rdmaTraffic(client, server, gorxe.WRWrite)
		server.rereg(gorxe.ReregAccess(gorxe.LocalWrite))
		client.post(gorxe.WRWrite, nil)
		client.want(gorxe.WCRemAccessErr)
	},
	"test_mr_rereg_atomic": func(t *testing.T) {
		client, server := atomicPlayers(t, playerOptions{})
		client.rereg(gorxe.ReregAccess(gorxe.LocalWrite))
		server.rereg(gorxe.ReregAccess(gorxe.LocalWrite))
		client.post(gorxe.WRFetchAdd, nil)
		client.want(gorxe.WCRemAccessErr)
		restate(client, server)
		client.rereg(gorxe.ReregAccess(atomicAccess))
		server.rereg(gorxe.ReregAccess(atomicAccess))
		atomicsOf(client, server, gorxe.WRFetchAdd, 1, 2)
	},
	"test_mr_rereg_pd": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{})
		traffic(client, server, gorxe.WRSend)
		server.rereg(gorxe.ReregPD(server.dev.AllocPD()))
		server.postRecv()
		client.post(gorxe.WRSend, nil)
		client.want(gorxe.WCRemOpErr)
		restate(client, server)
		server.rereg(gorxe.ReregPD(server.pd))
		traffic(client, server, gorxe.WRSend)
	},
	"test_mw_type1": func(t *testing.T) { windowTraffic(t, gorxe.MWType1) },
	"test_mw_type2": func(t *testing.T) { windowTraffic(t, gorxe.MWType2) },
	"test_invalidate_mw_type1": func(t *testing.T) {
		windowEnds(t, gorxe.MWType1, func(_, server *player, w *gorxe.MW) {
			if _, err := server.qp.BindMW(w, gorxe.BindInfo{Flags: gorxe.Signaled}); err != nil {
				t.Fatal(err)
			}
			server.want(gorxe.WCSuccess)
		})
	},
	"test_mw_type2_invalidate_local": func(t *testing.T) {
		windowEnds(t, gorxe.MWType2, func(_, server *player, w *gorxe.MW) {
			server.postBare(gorxe.WRLocalInv, func(wr *gorxe.SendWR) { wr.Imm = w.RKey() })
			server.want(gorxe.WCSuccess)
		})
	},
	"test_mw_type2_invalidate_remote": func(t *testing.T) {
		windowEnds(t, gorxe.MWType2, func(client, server *player, w *gorxe.MW) {
			server.postRecv()
			key := w.RKey()
			client.post(gorxe.WRSendInv, func(wr *gorxe.SendWR) { wr.Imm = key })
			client.want(gorxe.WCSuccess)
			if wc := server.want(gorxe.WCSuccess); wc.Flags&gorxe.WCWithInv == 0 || wc.Imm != key {
				t.Errorf("the receive completion is %+v, want the key %#x invalidated", wc, key)
			}
		})
	},
	"test_mw_type2_invalidate_dealloc": func(t *testing.T) {
		windowEnds(t, gorxe.MWType2, func(_, _ *player, w *gorxe.MW) {
			if err := w.Dealloc(); err != nil {
				t.Fatal(err)
			}
		})
	},
	"test_reg_mw_wrong_type": func(t *testing.T) {
		_, err := openPipe(t, 1500, "192.0.2.1").AllocPD().AllocMW(3)
		says(t, err, "type 3")
	},
}

// rereg changes p's region; both sides then know its key and its address.
func (p *player) rereg(opt gorxe.ReregOption) {
	p.Helper()
	if err := p.mr.Rereg(opt); err != nil {
		p.Fatal(err)
	}
	p.lkey = p.mr.LKey()
	p.peer.learn()
}

// windowTraffic writes in both directions through windows on regions that have no remote
// right themselves.
func windowTraffic(t *testing.T, typ gorxe.MWType) (client, server *player, w *gorxe.MW) {
	t.Helper()
	client, server = newPlayers(t, playerOptions{mrAccess: gorxe.LocalWrite | gorxe.MWBind, qpAccess: gorxe.RemoteWrite})
	for _, p := range []*player{client, server} {
		w = p.window(typ)
		if typ == gorxe.MWType1 {
			_, err := p.qp.BindMW(w, gorxe.BindInfo{
				Flags: gorxe.Signaled, MR: p.mr, Addr: p.mr.Addr(), Length: uint64(p.size), Access: gorxe.RemoteWrite,
			})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			bind := w.Bind(p.mr, p.mr.Addr(), uint64(p.size), gorxe.RemoteWrite)
			p.postBare(gorxe.WRBindMW, func(wr *gorxe.SendWR) { wr.Bind = bind })
		}
		p.want(gorxe.WCSuccess)
		p.peer.rkey = w.RKey()
	}
	rdmaTraffic(client, server, gorxe.WRWrite)
	return client, server, w
}

// windowEnds takes the server's window away: a WRITE through it is then refused.
func windowEnds(t *testing.T, typ gorxe.MWType, end func(client, server *player, w *gorxe.MW)) {
	t.Helper()
	client, server, w := windowTraffic(t, typ)
	end(client, server, w)
	server.fill(1)
	client.post(gorxe.WRWrite, nil)
	client.want(gorxe.WCRemAccessErr)
	server.holds(server.size, 1)
}
