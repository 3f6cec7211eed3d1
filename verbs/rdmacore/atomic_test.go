package rdmacore_test

import (
	"encoding/binary"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

const atomicAccess = verbs.LocalWrite | verbs.RemoteAtomic

var rdmaCoreAtomic = map[string]func(*testing.T){
	"test_atomic_cmp_and_swap": func(t *testing.T) {
		atomicTraffic(t, verbs.WRCmpSwap, 1, 2)
		atomicTraffic(t, verbs.WRCmpSwap, 1, 1)
	},
	"test_atomic_fetch_and_add": func(t *testing.T) { atomicTraffic(t, verbs.WRFetchAdd, 1, 2) },
	"test_atomic_invalid_qp_access": func(t *testing.T) {
		atomicFails(t, playerOptions{qpAccess: verbs.LocalWrite}, verbs.WCRemInvReqErr, nil)
	},
	"test_atomic_invalid_mr_access": func(t *testing.T) {
		atomicFails(t, playerOptions{mrAccess: verbs.LocalWrite}, verbs.WCRemAccessErr, nil)
	},
	"test_atomic_non_aligned_addr": func(t *testing.T) {
		atomicFails(t, playerOptions{size: 16}, verbs.WCRemInvReqErr, func(p *player) { p.size, p.addr = 8, p.addr+1 })
	},
	"test_atomic_invalid_lkey": func(t *testing.T) {
		atomicFails(t, playerOptions{}, verbs.WCLocProtErr, func(p *player) { p.lkey++ })
	},
	"test_atomic_invalid_rkey": func(t *testing.T) {
		atomicFails(t, playerOptions{}, verbs.WCRemAccessErr, func(p *player) { p.rkey++ })
	},
}

func atomicPlayers(t *testing.T, o playerOptions) (client, server *player) {
	t.Helper()
	if o.size == 0 {
		o.size = 8
	}
	if o.mrAccess == 0 {
		o.mrAccess = atomicAccess
	}
	if o.qpAccess == 0 {
		o.qpAccess = atomicAccess
	}
	return newPlayers(t, o)
}

// atomicTraffic executes atomics of both sides alternately: operands receiverVal at the peer,
// senderVal in the request. A compare and swap stores 0 if they are equal.
func atomicTraffic(t *testing.T, op verbs.WROpcode, receiverVal, senderVal byte) {
	t.Helper()
	client, server := atomicPlayers(t, playerOptions{})
	atomicsOf(client, server, op, receiverVal, senderVal)
}

func atomicsOf(client, server *player, op verbs.WROpcode, receiverVal, senderVal byte) {
	client.Helper()
	there, operand := eightTimes(receiverVal), eightTimes(senderVal)
	for i := range rdmaCoreIters {
		p := []*player{client, server}[i%2]
		p.fill(senderVal)
		p.peer.fill(receiverVal)
		p.Post(op, func(wr *verbs.SendWR) { wr.CompareAdd, wr.Swap = operand, 0 })
		p.want(verbs.WCSuccess)
		want := there
		if op == verbs.WRFetchAdd {
			want += operand
		} else if there == operand {
			want = 0
		}
		p.qp.State()
		p.peer.qp.State()
		if got := binary.NativeEndian.Uint64(p.peer.buf); got != want {
			p.Fatalf("the peer holds %#x after %v, want %#x", got, op, want)
		}
		if got := binary.NativeEndian.Uint64(p.buf); got != there {
			p.Fatalf("%v returned %#x, want %#x", op, got, there)
		}
	}
}

// eightTimes returns the number whose eight bytes are all b.
func eightTimes(b byte) uint64 { return 0x0101010101010101 * uint64(b) }

// atomicFails posts an atomic that must end with status and leave the peer's memory unchanged.
func atomicFails(t *testing.T, o playerOptions, status verbs.WCStatus, change func(client *player)) {
	t.Helper()
	client, server := atomicPlayers(t, o)
	if change != nil {
		change(client)
	}
	client.fill(2)
	server.fill(1)
	client.Post(verbs.WRFetchAdd, func(wr *verbs.SendWR) { wr.CompareAdd = eightTimes(2) })
	client.want(status)
	server.holds(len(server.buf), 1)
	if s := client.qp.State(); s != verbs.ERR {
		t.Errorf("the client's queue pair is in %v, want ERR", s)
	}
}
