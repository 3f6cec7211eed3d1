//go:build linux

package ucma

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// A state is the state of an identifier (enum rdma_cm_state).
type state uint8

const (
	idle state = iota
	addrBound
	addrQuery
	addrResolved
	routeResolved
	connecting // from CONNECT or a peer's request on, also while connected
	disconnected
	listening
)

var stateNames = [...]string{
	"IDLE", "ADDR_BOUND", "ADDR_QUERY", "ADDR_RESOLVED", "ROUTE_RESOLVED", "CONNECT", "DISCONNECT", "LISTEN",
}

func (s state) String() string { return stateNames[s] }

// An ident is a connection identifier of a program (struct rdma_cm_id). Server.mu guards it.
type ident struct {
	server  *Server
	num     uint32
	uid     uint64 // the program's value for it; 0 until the program accepts the request that created it
	ch      *Channel
	ps      verbs.PortSpace
	ib      bool // of the port space IB, whose addresses are rejected
	state   state
	dead    bool
	fetched uint32 // number of events that the program has fetched
	queued  int    // number of queued events

	local, remote netip.AddrPort
	portBound     bool           // in Server.ports
	device        bool           // gid is valid
	gid           verbs.GIDEntry // local entry of the GID table
	options

	resolving   context.CancelFunc // cancels the resolution of an address; nil if there is none
	listener    *verbs.Listener
	peerRequest *verbs.ConnRequest // request of a peer that waits for the program's answer
	conn        *verbs.CommID
	qp          *verbs.QP // named by the program for the connection, nil if the program has no such queue pair
	param       connParam
	timewait    *time.Timer       // ends the timewait
	groups      map[uint32]*group // nil if there is none
}

// newIdent creates an identifier of ch; uid is 0 for a connection request. The caller holds mu.
func (ch *Channel) newIdent(uid uint64, ps verbs.PortSpace) (*ident, error) {
	if err := ch.full(); err != nil {
		return nil, err
	}
	if s := ch.server; len(s.ids) >= s.allIDs { // includes the numbers of groups
		return nil, fmt.Errorf("all %d identifiers of the device are in use: %w", s.allIDs, uapi.ENOMEM)
	}
	i := &ident{server: ch.server, uid: uid, ch: ch, ps: ps}
	i.param.psn = verbs.RandomPSN()
	i.num = ch.server.number(i)
	ch.ids[i.num] = i
	return i, nil
}

// full returns an error if the channel has reached its limit of identifiers.
func (ch *Channel) full() error {
	if len(ch.ids) >= maxIDs {
		return fmt.Errorf("all %d identifiers of the channel are in use: %w", maxIDs, uapi.ENOMEM)
	}
	return nil
}

func (r *request) createID(q *uapi.UCMCreateID) (any, error) {
	var ps verbs.PortSpace
	switch uapi.PortSpace(q.PS) {
	case uapi.PortSpaceTCP, uapi.PortSpaceIB:
		ps = verbs.PortSpaceTCP
	case uapi.PortSpaceUDP:
		ps = verbs.PortSpaceUDP
	default:
		return nil, fmt.Errorf("port space %v: %w", uapi.PortSpace(q.PS), uapi.EINVAL)
	}
	i, err := r.ch.newIdent(q.UID, ps)
	if err != nil {
		return nil, err
	}
	i.ib = uapi.PortSpace(q.PS) == uapi.PortSpaceIB
	r.response, r.undo = q.Response, i.destroy
	return uapi.UCMCreateIDResp{ID: i.num}, nil
}

func (r *request) destroyID(q *uapi.UCMDestroyID) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	i.destroy()
	r.response = q.Response
	return uapi.UCMDestroyIDResp{EventsReported: i.fetched}, nil
}

// destroy ends an identifier and everything it owns, and notifies the peer of its connection. The
// caller holds mu.
func (i *ident) destroy() {
	if i.dead {
		return
	}
	i.dead = true
	s := i.server
	delete(s.ids, i.num)
	delete(i.ch.ids, i.num)
	for n := range i.groups {
		delete(s.ids, n)
	}
	i.ch.groups -= len(i.groups)
	i.groups = nil
	if i.resolving != nil {
		i.resolving()
	}
	if i.listener != nil {
		_ = i.listener.Close() // no request waits in it
	}
	if i.peerRequest != nil {
		// The error is ignored: it means that the sender has given up.
		_ = i.peerRequest.Reject(nil)
	}
	if i.conn != nil {
		i.conn.Close()
	}
	if i.timewait != nil {
		i.timewait.Stop()
	}
	i.release()
	if i.queued > 0 || i.uid == 0 {
		i.ch.removeEvents(func(e *event) bool { return e.owner == i || e.newIdent == i })
	}
}

// event queues an event of the identifier for the program. An identifier that the program has not
// accepted has no events. The caller holds mu.
func (i *ident) event(kind uapi.UCMEvent, status int32, set func(*uapi.UCMEventResp)) {
	if i.uid == 0 {
		return
	}
	e := &event{owner: i, resp: uapi.UCMEventResp{UID: i.uid, ID: i.num, Event: uint32(kind), Status: uint32(status)}}
	if set != nil {
		set(&e.resp)
	}
	i.ch.push(e)
}

// crowded returns an error if a limit of queued events is reached. The command must then fail,
// because it would add an event.
func (i *ident) crowded() error {
	if i.queued >= maxQueued || len(i.ch.queue) >= maxEvents || i.server.queued >= i.server.allEvents {
		return fmt.Errorf("%d events of the identifier, %d of the channel and %d of the device wait: %w",
			i.queued, len(i.ch.queue), i.server.queued, uapi.ENOMEM)
	}
	return nil
}

// failure returns the status of an event that reports an error.
func failure(e uapi.Errno) int32 { return -int32(e) }

// in returns an error unless the identifier is in one of the states that a command requires.
func (i *ident) in(states ...state) error {
	for _, s := range states {
		if i.state == s {
			return nil
		}
	}
	return fmt.Errorf("identifier %d is in state %v: %w", i.num, i.state, uapi.EINVAL)
}
