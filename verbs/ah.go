package verbs

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// GRHLen is how many bytes stand before the payload in a receive of a queue pair of type
// UD: an IPv6 header, or 20 zero bytes and an IPv4 header, as Linux rxe lays them. They
// count in the completion's ByteLen.
const GRHLen = transport.GRHLen

// CreateAH makes an address handle: the way to a receiver of datagrams, which any number of
// send requests in the domain may name in SendWR.AH, at once and again. The vector's SGIDIndex
// is the entry of the GID table to send from, its DGID the receiver's GID or that of a
// multicast group. A HopLimit of 0 or 1 means 64. There is nothing to destroy: a handle
// that nobody names is gone.
func (p *PD) CreateAH(av AddressVector) (*AH, error) {
	ah, err := p.ctx.dev.engine.CreateAH(p.pd, av)
	if err != nil {
		return nil, fmt.Errorf("address handle: %w", err)
	}
	return ah, nil
}

// CreateAHFromWC makes the address handle of whoever sent a datagram, as
// ibv_create_ah_from_wc. wc is the completion of its receive, and buf what was received: the
// [GRHLen] bytes at its beginning are looked at. The answer goes to queue pair wc.SrcQP, from
// the address that the datagram was sent to; one sent to a multicast group is answered from
// the first address of its family.
func (p *PD) CreateAHFromWC(wc *WC, buf []byte) (*AH, error) {
	if wc.Status != WCSuccess || wc.Flags&qp.GRH == 0 {
		return nil, errors.New("address handle: the completion is not that of a datagram received: it must be a success and have the flag GRH")
	}
	if len(buf) < GRHLen {
		return nil, fmt.Errorf("address handle: %d bytes of the receive are given, its network header is the first %d", len(buf), GRHLen)
	}
	av, err := p.ctx.dev.engine.ReplyVector((*transport.GRH)(buf))
	if err != nil {
		return nil, fmt.Errorf("address handle: %w", err)
	}
	return p.CreateAH(av)
}

// StartDatagrams takes a queue pair of type UD from RESET by INIT and RTR to RTS, where it
// sends and receives datagrams. It takes those that carry its Q_Key qkey, whoever sent them;
// psn numbers what it sends and matters to nobody.
func (q *QP) StartDatagrams(qkey uint32, psn PSN) error {
	for from, to := range []QPState{INIT, RTR, RTS} {
		// The states up to RTS follow one another, and so do their numbers.
		needs, _, ok := qp.Requirements(q.qp.Type(), QPState(from), to)
		if !ok || q.qp.Type().Connected() {
			return fmt.Errorf("queue pair %#06x is of type %v: datagrams need %v", uint32(q.QPN()), q.qp.Type(), UD)
		}
		step := QPAttr{State: to, Port: 1, QKey: qkey, SQPSN: psn & maxPSN}
		if err := q.Modify(&step, needs|AttrState); err != nil {
			return err
		}
	}
	return nil
}
