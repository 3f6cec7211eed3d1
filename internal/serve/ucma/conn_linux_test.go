package ucma

import (
	"context"
	"net/netip"
	"runtime"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// region registers memory that a program sends from or receives to.
func (p *program) region(b []byte) *verbs.MR {
	p.Helper()
	m, err := p.pd.RegMR(b, verbs.LocalWrite|verbs.RemoteWrite)
	if err != nil {
		p.Fatal(err)
	}
	return m
}

// completes waits for one completion, which must be a success.
func (p *program) completes() verbs.WC {
	p.Helper()
	var wc [1]verbs.WC
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if n, err := p.cq.Wait(ctx, wc[:]); n != 1 || err != nil || wc[0].Status != verbs.WCSuccess {
		p.Fatalf("%d completions, %v: %+v", n, err, wc[0])
	}
	return wc[0]
}

func TestAConnectionIsMadeUsedAndEnded(t *testing.T) {
	c := &connected{}
	c.client, c.server = pair(t)
	c.listener = c.server.listenAt(uapi.PortSpaceTCP, 7174, 0x1000)
	c.atClient = c.client.routed(uapi.PortSpaceTCP, 7174, 0x2000)

	route := c.client.route(c.atClient)
	src, _ := route.SrcAddr.AddrPort()
	dst, _ := route.DstAddr.AddrPort()
	if dst != netip.AddrPortFrom(addrs[1], 7174) || src.Addr() != addrs[0] || src.Port() == 0 {
		t.Errorf("from %v to %v", src, dst)
	}
	if route.NumPaths != 1 || route.PortNum != 1 || route.NodeGUID == [8]byte{} {
		t.Errorf("route %+v", route)
	}
	if route.IBRoute[0].MTU != uint32(uapi.MTU4096) {
		t.Errorf("route %+v", route)
	}

	e := c.request("from the client")
	got := e.Conn()
	says(t, got.PrivateData, got.PrivateDataLen, "from the client", verbs.DialPrivateLen)
	// The initiator depth of the client is limited by the responder resources of the server, and
	// vice versa.
	if got.InitiatorDepth != 3 || got.ResponderResources != 5 || got.RetryCount != 7 {
		t.Errorf("the request has %+v", got)
	}
	if got.QPNum != uint32(c.clientQP.QPN()) {
		t.Errorf("the request has %+v", got)
	}
	at := c.server.route(c.atServer)
	if from, _ := at.DstAddr.AddrPort(); from != src || at.NumPaths != 1 {
		t.Errorf("the request is from %v, not %v", from, src)
	}
	reply := c.accept("from the server")
	rep := reply.Conn()
	says(t, rep.PrivateData, rep.PrivateDataLen, "from the server", verbs.AcceptPrivateLen)
	if rep.QPNum != uint32(c.serverQP.QPN()) {
		t.Errorf("the reply has %+v", rep)
	}

	in, out := make([]byte, 8), []byte("12345678")
	to, from := c.server.region(in), c.client.region(out)
	err := c.serverQP.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{{Addr: to.Addr(), Length: 8, LKey: to.LKey()}}})
	if err != nil {
		t.Fatal(err)
	}
	err = c.clientQP.PostSend(&verbs.SendWR{
		Opcode: verbs.WRSend, Flags: verbs.Signaled,
		SGList: []verbs.SGE{{Addr: from.Addr(), Length: 8, LKey: from.LKey()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.client.completes()
	c.server.completes()
	if string(in) != string(out) {
		t.Errorf("the server has %q", in)
	}

	c.client.do(uapi.UCMCmdDisconnect, uapi.UCMDisconnect{ID: c.atClient})
	c.server.expect(uapi.UCMEventDisconnected, c.atServer)
	c.client.expect(uapi.UCMEventDisconnected, c.atClient)
	c.server.do(uapi.UCMCmdDisconnect, uapi.UCMDisconnect{ID: c.atServer})
	c.server.expect(uapi.UCMEventTimewaitExit, c.atServer)
	c.client.expect(uapi.UCMEventTimewaitExit, c.atClient)

	// ADDR_RESOLVED, ROUTE_RESOLVED, CONNECT_RESPONSE, DISCONNECTED, TIMEWAIT_EXIT.
	if n := c.client.destroy(c.atClient); n != 5 {
		t.Errorf("%d events of the client's identifier were fetched", n)
	}
	if n := c.server.destroy(c.atServer); n != 3 {
		t.Errorf("%d events of the server's identifier were fetched", n)
	}
	// The request is an event of the listener.
	if n := c.server.destroy(c.listener); n != 1 {
		t.Errorf("%d events of the listener were fetched", n)
	}
}

func TestRetriesAndResourcesAreThoseThatBothEndsHave(t *testing.T) {
	c := &connected{}
	c.client, c.server = pair(t)
	c.server.listenAt(uapi.PortSpaceTCP, 1, 0x1000)
	c.atClient = c.client.routed(uapi.PortSpaceTCP, 1, 0x2000)
	c.request("")
	c.serverQP = c.server.qp(verbs.RC)
	a := c.server.move(c.serverQP, c.atServer, uapi.QPSInit)
	if a.QPAccessFlags != uint32(uapi.AccessRemoteWrite|uapi.AccessRemoteRead|uapi.AccessRemoteAtomic) {
		t.Errorf("INIT with rights %#x", a.QPAccessFlags)
	}
	a = c.server.move(c.serverQP, c.atServer, uapi.QPSRTR)
	if a.MaxDestRdAtomic != 5 || a.MinRNRTimer != 0 || a.DestQPNum != uint32(c.clientQP.QPN()) {
		t.Errorf("RTR with %+v", a)
	}
	a = c.server.move(c.serverQP, c.atServer, uapi.QPSRTS)
	if a.MaxRdAtomic != 3 || a.Timeout != defaultTimeout || a.RetryCnt != 7 {
		t.Errorf("RTS with %+v", a)
	}
	p := param(c.serverQP, "")
	p.InitiatorDepth, p.ResponderResources, p.RNRRetryCount = 1, 2, 3
	c.server.do(uapi.UCMCmdAccept, uapi.UCMAccept{UID: 0x3000, ConnParam: p, ID: c.atServer})
	c.client.expect(uapi.UCMEventConnectResponse, c.atClient)
	c.client.move(c.clientQP, c.atClient, uapi.QPSInit)
	if a := c.client.move(c.clientQP, c.atClient, uapi.QPSRTR); a.MaxDestRdAtomic != 1 {
		t.Errorf("RTR of the client with %+v", a)
	}
	if a := c.client.move(c.clientQP, c.atClient, uapi.QPSRTS); a.MaxRdAtomic != 2 || a.RNRRetry != 3 {
		t.Errorf("RTS of the client with %+v", a)
	}
}

// As in the kernel, which always uses 655 ms: a program has that time to post a receive.
func TestAPeerThatRetriesAFewTimesWaitsLongForAReceive(t *testing.T) {
	short := verbs.DefaultConnAttr().MinRNRTimer
	for name, test := range map[string]struct{ retries, want uint8 }{"5 times": {5, 0}, "without a limit": {7, short}} {
		t.Run(name, func(t *testing.T) {
			c := &connected{}
			c.client, c.server = pair(t)
			c.server.listenAt(uapi.PortSpaceTCP, 1, 0x1000)
			c.atClient = c.client.routed(uapi.PortSpaceTCP, 1, 0x2000)
			c.clientQP, c.serverQP = c.client.qp(verbs.RC), c.server.qp(verbs.RC)
			with := func(q *verbs.QP) uapi.UCMConnParam {
				p := param(q, "")
				p.RNRRetryCount = test.retries
				return p
			}
			c.client.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: with(c.clientQP), ID: c.atClient})
			c.atServer = c.server.event().ID
			for _, s := range []uapi.QPState{uapi.QPSInit, uapi.QPSRTR, uapi.QPSRTS} {
				c.server.move(c.serverQP, c.atServer, s)
			}
			c.server.do(uapi.UCMCmdAccept, uapi.UCMAccept{UID: 0x3000, ConnParam: with(c.serverQP), ID: c.atServer})
			c.client.expect(uapi.UCMEventConnectResponse, c.atClient)
			for _, s := range []uapi.QPState{uapi.QPSInit, uapi.QPSRTR, uapi.QPSRTS} {
				c.client.move(c.clientQP, c.atClient, s)
			}
			for end, q := range map[string]*verbs.QP{"client": c.clientQP, "server": c.serverQP} {
				if a, _ := q.Query(); a.MinRNRTimer != test.want {
					t.Errorf("the %s has the code %d, want %d", end, a.MinRNRTimer, test.want)
				}
			}
		})
	}
}

func TestAnACKTimeoutHoldsAlsoIfItIsSetAfterTheRouteWasFound(t *testing.T) {
	c := &connected{}
	c.client, c.server = pair(t)
	c.server.listenAt(uapi.PortSpaceTCP, 1, 0x1000)
	c.atClient = c.client.routed(uapi.PortSpaceTCP, 1, 0x2000)
	c.client.setACKTimeout(c.atClient, 21)
	c.request("")
	c.server.setACKTimeout(c.atServer, 20)
	c.accept("")
	for q, want := range map[*verbs.QP]uint8{c.clientQP: 21, c.serverQP: 20} {
		if a, _ := q.Query(); a.Timeout != want {
			t.Errorf("the ACK timeout is %d, want %d", a.Timeout, want)
		}
	}
}

// setACKTimeout sets the local ACK timeout of an identifier.
func (c *channel) setACKTimeout(id uint32, code byte) {
	c.Helper()
	value := c.room(1)
	if err := c.Write(value, []byte{code}); err != nil {
		c.Fatal(err)
	}
	c.do(uapi.UCMCmdSetOption, uapi.UCMSetOption{
		OptVal: value, ID: id, Level: uint32(uapi.OptionLevelID), OptName: uint32(uapi.OptionIDAckTimeout), OptLen: 1,
	})
}

func TestNobodyListens(t *testing.T) {
	client, _ := pair(t)
	id := client.routed(uapi.PortSpaceTCP, 9, 1)
	client.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(client.qp(verbs.RC), ""), ID: id})
	if e := client.expect(uapi.UCMEventRejected, id); e.Status != uint32(mad.RejectInvalidServiceID) {
		t.Errorf("refused with %d", e.Status)
	}
	id = client.routed(uapi.PortSpaceUDP, 9, 2)
	client.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(client.qp(verbs.UD), ""), ID: id})
	if e := client.expect(uapi.UCMEventUnreachable, id); e.Status != uint32(mad.SIDRUnsupported) {
		t.Errorf("refused with %d", e.Status)
	}
}

func TestTheServersRefusalReachesTheClientWithItsWords(t *testing.T) {
	c := &connected{}
	c.client, c.server = pair(t)
	c.server.listenAt(uapi.PortSpaceTCP, 1, 0x1000)
	c.atClient = c.client.routed(uapi.PortSpaceTCP, 1, 0x2000)
	c.request("")
	no := uapi.UCMReject{ID: c.atServer, Reason: 5}
	c.server.refused(uapi.EINVAL, uapi.UCMCmdReject, no)
	no.Reason = 0
	no.PrivateDataLen = uint8(copy(no.PrivateData[:], "not today"))
	c.server.do(uapi.UCMCmdReject, no)
	e := c.client.expect(uapi.UCMEventRejected, c.atClient)
	got := e.Conn()
	says(t, got.PrivateData, got.PrivateDataLen, "not today", verbs.RejectPrivateLen)
	if e.Status != uint32(mad.RejectConsumerDefined) {
		t.Errorf("refused with %d", e.Status)
	}
	c.server.refused(uapi.EINVAL, uapi.UCMCmdReject, no)
	c.server.refused(uapi.EINVAL, uapi.UCMCmdAccept, uapi.UCMAccept{UID: 1, ConnParam: param(nil, ""), ID: c.atServer})
}

func TestTheClientRefusesTheReply(t *testing.T) {
	c := &connected{}
	c.client, c.server = pair(t)
	c.server.listenAt(uapi.PortSpaceTCP, 1, 0x1000)
	c.atClient = c.client.routed(uapi.PortSpaceTCP, 1, 0x2000)
	c.request("")
	accept := uapi.UCMAccept{UID: 0x3000, ConnParam: param(c.server.qp(verbs.RC), ""), ID: c.atServer}
	c.server.do(uapi.UCMCmdAccept, accept)
	c.client.expect(uapi.UCMEventConnectResponse, c.atClient)
	c.client.do(uapi.UCMCmdReject, uapi.UCMReject{ID: c.atClient})
	if e := c.server.expect(uapi.UCMEventRejected, c.atServer); e.Status != uint32(mad.RejectConsumerDefined) {
		t.Errorf("refused with %d", e.Status)
	}
}

func TestADestroyedIdentifierEndsItsConnection(t *testing.T) {
	c := connect(t)
	c.client.destroy(c.atClient)
	c.server.expect(uapi.UCMEventDisconnected, c.atServer)
}

func TestADestroyedRequestIsRefused(t *testing.T) {
	c := &connected{}
	c.client, c.server = pair(t)
	c.listener = c.server.listenAt(uapi.PortSpaceTCP, 1, 0x1000)
	c.atClient = c.client.routed(uapi.PortSpaceTCP, 1, 0x2000)
	c.request("")
	c.server.destroy(c.atServer)
	c.client.expect(uapi.UCMEventRejected, c.atClient)

	// A request that the server has not fetched ends with its listener.
	id := c.client.routed(uapi.PortSpaceTCP, 1, 0x2001)
	c.client.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(c.client.qp(verbs.RC), ""), ID: id})
	c.server.awaitReadable()
	if n := c.server.destroy(c.listener); n != 1 {
		t.Errorf("%d events of the listener were fetched", n)
	}
	c.client.expect(uapi.UCMEventRejected, id)
	if c.server.readable() || len(c.server.ch.ids) != 0 {
		t.Errorf("%d identifiers are left", len(c.server.ch.ids))
	}
}

// A thread is given the request while another one destroys the listener, and the thread's memory is
// not mapped: the program never learns of the new identifier.
func TestARequestThatCannotBeStoredEndsWithItsListener(t *testing.T) {
	c := &connected{}
	c.client, c.server = pair(t)
	c.listener = c.server.listenAt(uapi.PortSpaceTCP, 1, 0x1000)
	id := c.client.routed(uapi.PortSpaceTCP, 1, 0x2000)
	c.client.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(c.client.qp(verbs.RC), ""), ID: id})
	c.server.awaitReadable()
	// Storing the event needs the lock of the memory, and not that of the server.
	c.server.mu.Lock()
	stored := make(chan error, 1)
	go func() {
		stored <- <-c.server.begin(uapi.UCMCmdGetEvent, uapi.UCMGetEvent{Response: 8},
			uapi.SizeOf(uapi.UCMEventResp{}))
	}()
	s := c.server.server
	for taken := false; !taken; runtime.Gosched() {
		s.mu.Lock()
		if taken = len(c.server.ch.queue) == 0; taken {
			s.ids[c.listener].destroy()
		}
		s.mu.Unlock()
	}
	c.server.mu.Unlock()
	if err := <-stored; uapi.ErrnoOf(err) != uapi.EFAULT {
		t.Errorf("the event is stored with %v", err)
	}
	c.client.expect(uapi.UCMEventRejected, id)
	if n := len(c.server.ch.ids); n != 0 {
		t.Errorf("%d identifiers are left", n)
	}
}

func TestTheEndOfAProgramEndsItsConnectionsAndListeners(t *testing.T) {
	c := connect(t)
	c.server.close()
	c.client.expect(uapi.UCMEventDisconnected, c.atClient)
	// No program listens any more, and the port is free.
	again := start(t, c.server.server).open()
	again.listenAt(uapi.PortSpaceTCP, 7174, 1)
	s := c.server.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) != 1 || len(s.channels) != 1 {
		t.Errorf("%d identifiers and %d channels", len(s.ids), len(s.channels))
	}
}

func TestADatagramServiceTellsItsQueuePair(t *testing.T) {
	client, server := pair(t)
	server.listenAt(uapi.PortSpaceUDP, 7, 0x1000)
	id := client.routed(uapi.PortSpaceUDP, 7, 0x2000)
	a := client.move(client.qp(verbs.UD), id, uapi.QPSInit)
	if a.QKey != verbs.UDPQKey {
		t.Errorf("the Q_Key is %#x", a.QKey)
	}
	client.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(nil, "which?"), ID: id})
	e := server.event()
	ud := e.UD()
	if uapi.UCMEvent(e.Event) != uapi.UCMEventConnectRequest || e.UID != 0x1000 {
		t.Fatalf("event %v of %#x", uapi.UCMEvent(e.Event), e.UID)
	}
	says(t, ud.PrivateData, ud.PrivateDataLen, "which?", verbs.DialUDPrivateLen)
	if r := server.route(e.ID); r.NumPaths != 0 || r.NodeGUID == [8]byte{} {
		t.Errorf("route %+v", r)
	}
	q := server.qp(verbs.UD)
	server.do(uapi.UCMCmdAccept, uapi.UCMAccept{UID: 0x3000, ConnParam: param(q, "this"), ID: e.ID})
	got := client.expect(uapi.UCMEventEstablished, id)
	ud = got.UD()
	says(t, ud.PrivateData, ud.PrivateDataLen, "this", verbs.UDPrivateLen)
	ah := ud.AHAttr
	at := verbs.GID(ah.GRH.DGID).Addr()
	if ud.QPNum != uint32(q.QPN()) || ud.QKey != verbs.UDPQKey || ah.IsGlobal != 1 || at != addrs[1] {
		t.Errorf("the queue pair is %+v", ud)
	}

	id = client.routed(uapi.PortSpaceUDP, 7, 0x2001)
	client.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(nil, ""), ID: id})
	server.do(uapi.UCMCmdReject, uapi.UCMReject{ID: server.event().ID})
	if e := client.expect(uapi.UCMEventUnreachable, id); e.Status != uint32(mad.SIDRReject) {
		t.Errorf("refused with %d", e.Status)
	}
}

func TestAMulticastGroupIsJoinedAndLeft(t *testing.T) {
	client, _ := pair(t)
	id := client.create(uapi.PortSpaceUDP, 1)
	group := uapi.NewSockaddr(netip.MustParseAddrPort("239.1.2.3:0"))
	join := func(a uint64) any { return uapi.UCMJoinIPMcast{Response: a, UID: 0x99, Addr: group, ID: id} }
	if _, err := ask[uapi.UCMCreateIDResp](client, uapi.UCMCmdJoinIPMcast, join); uapi.ErrnoOf(err) != uapi.EINVAL {
		t.Errorf("an identifier without a device joins: %v", err)
	}
	if err := client.bind(id, netip.AddrPortFrom(addrs[0], 0)); err != nil {
		t.Fatal(err)
	}
	num := must[uapi.UCMCreateIDResp](client, uapi.UCMCmdJoinIPMcast, join).ID
	e := client.expect(uapi.UCMEventMulticastJoin, num)
	ud := e.UD()
	to := verbs.GID(ud.AHAttr.GRH.DGID).Addr()
	if e.UID != 0x99 || ud.QPNum != uint32(verbs.MulticastQPN) || to != netip.MustParseAddr("239.1.2.3") {
		t.Errorf("event %#x with %+v", e.UID, ud)
	}
	leave := func(a uint64) any { return uapi.UCMDestroyID{Response: a, ID: num} }
	if n := must[uapi.UCMDestroyIDResp](client, uapi.UCMCmdLeaveMcast, leave).EventsReported; n != 1 {
		t.Errorf("%d events were fetched", n)
	}
	if _, err := ask[uapi.UCMDestroyIDResp](client, uapi.UCMCmdLeaveMcast, leave); uapi.ErrnoOf(err) != uapi.ENOENT {
		t.Errorf("a group is left twice: %v", err)
	}
	// An event that was not fetched is removed with the group.
	num = must[uapi.UCMCreateIDResp](client, uapi.UCMCmdJoinIPMcast, join).ID
	if n := must[uapi.UCMDestroyIDResp](client, uapi.UCMCmdLeaveMcast, leave).EventsReported; n != 0 ||
		client.readable() {
		t.Errorf("%d events were fetched", n)
	}
	for range maxGroups {
		must[uapi.UCMCreateIDResp](client, uapi.UCMCmdJoinIPMcast, join)
		client.event()
	}
	if _, err := ask[uapi.UCMCreateIDResp](client, uapi.UCMCmdJoinIPMcast, join); uapi.ErrnoOf(err) != uapi.ENOMEM {
		t.Errorf("one group more: %v", err)
	}
}
