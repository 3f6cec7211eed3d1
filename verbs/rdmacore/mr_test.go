package rdmacore_test

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

var rdmaCoreMR = map[string]func(*testing.T){
	"test_reg_mr_bad_flags": func(t *testing.T) {
		pd := verbstest.OpenPipe(t, 1500, "192.0.2.1").AllocPD()
		for _, access := range []verbs.Access{verbs.RemoteWrite, verbs.RemoteAtomic} {
			_, err := pd.RegMR(make([]byte, 4096), access)
			verbstest.MustMention(t, err, access.String(), "LOCAL_WRITE")
		}
	},
	"test_mr_rereg_addr": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{})
		server.postRecv()
		server.buf = make([]byte, server.size)
		server.rereg(verbs.ReregBuf(server.buf))
		client.Post(verbs.WRSend, nil)
		client.want(verbs.WCRemOpErr)
		restate(client, server)
		traffic(client, server, verbs.WRSend)
	},
	"test_mr_rereg_access": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{mrAccess: verbs.LocalWrite})
		client.rereg(verbs.ReregAccess(verbs.LocalWrite | verbs.RemoteWrite))
		server.rereg(verbs.ReregAccess(verbs.LocalWrite | verbs.RemoteWrite))
		rdmaTraffic(client, server, verbs.WRWrite)
	},
	"test_mr_rereg_access_bad_flow": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{mrAccess: verbs.LocalWrite | verbs.RemoteWrite})
		rdmaTraffic(client, server, verbs.WRWrite)
		server.rereg(verbs.ReregAccess(verbs.LocalWrite))
		client.Post(verbs.WRWrite, nil)
		client.want(verbs.WCRemAccessErr)
	},
	"test_mr_rereg_atomic": func(t *testing.T) {
		client, server := atomicPlayers(t, playerOptions{})
		client.rereg(verbs.ReregAccess(verbs.LocalWrite))
		server.rereg(verbs.ReregAccess(verbs.LocalWrite))
		client.Post(verbs.WRFetchAdd, nil)
		client.want(verbs.WCRemAccessErr)
		restate(client, server)
		client.rereg(verbs.ReregAccess(atomicAccess))
		server.rereg(verbs.ReregAccess(atomicAccess))
		atomicsOf(client, server, verbs.WRFetchAdd, 1, 2)
	},
	"test_mr_rereg_pd": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{})
		traffic(client, server, verbs.WRSend)
		server.rereg(verbs.ReregPD(server.dev.AllocPD()))
		server.postRecv()
		client.Post(verbs.WRSend, nil)
		client.want(verbs.WCRemOpErr)
		restate(client, server)
		server.rereg(verbs.ReregPD(server.pd))
		traffic(client, server, verbs.WRSend)
	},
	"test_mw_type1": func(t *testing.T) { windowTraffic(t, verbs.MWType1) },
	"test_mw_type2": func(t *testing.T) { windowTraffic(t, verbs.MWType2) },
	"test_invalidate_mw_type1": func(t *testing.T) {
		windowEnds(t, verbs.MWType1, func(_, server *player, w *verbs.MW) {
			if _, err := server.qp.BindMW(w, verbs.BindInfo{Flags: verbs.Signaled}); err != nil {
				t.Fatal(err)
			}
			server.want(verbs.WCSuccess)
		})
	},
	"test_mw_type2_invalidate_local": func(t *testing.T) {
		windowEnds(t, verbs.MWType2, func(_, server *player, w *verbs.MW) {
			server.postBare(verbs.WRLocalInv, func(wr *verbs.SendWR) { wr.Imm = w.RKey() })
			server.want(verbs.WCSuccess)
		})
	},
	"test_mw_type2_invalidate_remote": func(t *testing.T) {
		windowEnds(t, verbs.MWType2, func(client, server *player, w *verbs.MW) {
			server.postRecv()
			key := w.RKey()
			client.Post(verbs.WRSendInv, func(wr *verbs.SendWR) { wr.Imm = key })
			client.want(verbs.WCSuccess)
			if wc := server.want(verbs.WCSuccess); wc.Flags&verbs.WCWithInv == 0 || wc.Imm != key {
				t.Errorf("the receive completion is %+v, want the key %#x invalidated", wc, key)
			}
		})
	},
	"test_mw_type2_invalidate_dealloc": func(t *testing.T) {
		windowEnds(t, verbs.MWType2, func(_, _ *player, w *verbs.MW) {
			if err := w.Dealloc(); err != nil {
				t.Fatal(err)
			}
		})
	},
	"test_reg_mw_wrong_type": func(t *testing.T) {
		_, err := verbstest.OpenPipe(t, 1500, "192.0.2.1").AllocPD().AllocMW(3)
		verbstest.MustMention(t, err, "type 3")
	},
}

// rereg changes p's region; afterwards both sides know its key and its address.
func (p *player) rereg(opt verbs.ReregOption) {
	p.Helper()
	if err := p.mr.Rereg(opt); err != nil {
		p.Fatal(err)
	}
	p.lkey = p.mr.LKey()
	p.peer.learn()
}

// windowTraffic writes in both directions through windows on regions without remote rights.
func windowTraffic(t *testing.T, typ verbs.MWType) (client, server *player, w *verbs.MW) {
	t.Helper()
	client, server = newPlayers(t, playerOptions{mrAccess: verbs.LocalWrite | verbs.MWBind,
		qpAccess: verbs.RemoteWrite})
	for _, p := range []*player{client, server} {
		w = p.Window(typ)
		if typ == verbs.MWType1 {
			_, err := p.qp.BindMW(w, verbs.BindInfo{
				Flags: verbs.Signaled, MR: p.mr, Addr: p.mr.Addr(), Length: uint64(p.size), Access: verbs.RemoteWrite,
			})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			bind := w.Bind(p.mr, p.mr.Addr(), uint64(p.size), verbs.RemoteWrite)
			p.postBare(verbs.WRBindMW, func(wr *verbs.SendWR) { wr.Bind = bind })
		}
		p.want(verbs.WCSuccess)
		p.peer.rkey = w.RKey()
	}
	rdmaTraffic(client, server, verbs.WRWrite)
	return client, server, w
}

// windowEnds invalidates the server's window: a WRITE through it is then rejected.
func windowEnds(t *testing.T, typ verbs.MWType, end func(client, server *player, w *verbs.MW)) {
	t.Helper()
	client, server, w := windowTraffic(t, typ)
	end(client, server, w)
	server.fill(1)
	client.Post(verbs.WRWrite, nil)
	client.want(verbs.WCRemAccessErr)
	server.holds(server.size, 1)
}
