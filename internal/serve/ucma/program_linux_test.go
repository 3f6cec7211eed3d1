package ucma

import (
	"bytes"
	"errors"
	"net/netip"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// addrs are the addresses of the devices of a test.
var addrs = [2]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}

// hosts opens two devices on a network in memory, with a server each.
func hosts(t testing.TB) (out [2]*Server) {
	t.Helper()
	n := pipe.NewNet()
	for i, a := range addrs {
		l, err := n.Open(a, 9000)
		if err != nil {
			t.Fatal(err)
		}
		dev, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { dev.Close() })
		if out[i], err = New(dev); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := out[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return out
}

// program is a program that makes calls as librdmacm does, with its memory and descriptors in
// this process.
type program struct {
	testing.TB
	server *Server
	pd     *verbs.PD
	cq     *verbs.CQ

	mu       sync.Mutex
	memory   []byte // at address base
	channels map[int32]*Channel
	qps      map[verbs.QPN]*verbs.QP
}

const base = 1 << 32

var errFault = errors.New("not mapped")

func start(t testing.TB, s *Server) *program {
	t.Helper()
	p := &program{TB: t, server: s, channels: map[int32]*Channel{}, qps: map[verbs.QPN]*verbs.QP{}}
	p.pd = s.dev.AllocPD()
	var err error
	if p.cq, err = s.dev.CreateCQ(64); err != nil {
		t.Fatal(err)
	}
	return p
}

// room returns the address of n bytes.
func (p *program) room(n int) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory = append(p.memory, make([]byte, n)...)
	return base + uint64(len(p.memory)-n)
}

func (p *program) at(addr uint64, n int) ([]byte, error) {
	if addr < base || addr-base > uint64(len(p.memory)) || uint64(n) > uint64(len(p.memory))-(addr-base) {
		return nil, errFault
	}
	return p.memory[addr-base:][:n], nil
}

// channel is an open rdma_cm of a program, and the thread that uses it.
type channel struct {
	*program
	ch          *Channel
	fd          int
	interrupted chan func() // of the waiting command
}

func (p *program) open() *channel {
	p.Helper()
	ch, err := p.server.Open(nil)
	if err != nil {
		p.Fatal(err)
	}
	c := &channel{program: p, ch: ch, interrupted: make(chan func(), 1)}
	err = ch.Program(func(fd int) (err error) {
		c.fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	p.channels[int32(c.fd)] = ch
	p.Cleanup(c.close)
	return c
}

// close closes the program's only descriptor.
func (c *channel) close() {
	if c.fd >= 0 {
		unix.Close(c.fd)
		c.fd = -1
	}
}

func (c *channel) Read(addr uint64, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	from, err := c.at(addr, len(b))
	copy(b, from)
	return err
}

func (c *channel) Write(addr uint64, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	to, err := c.at(addr, len(b))
	copy(to, b)
	return err
}

func (c *channel) NonBlocking() bool {
	flags, err := unix.FcntlInt(uintptr(c.fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_NONBLOCK != 0
}

func (c *channel) nonBlocking() {
	if err := unix.SetNonblock(c.fd, true); err != nil {
		c.Fatal(err)
	}
}

func (c *channel) OnInterrupt(f func())      { c.interrupted <- f }
func (c *channel) Channel(fd int32) *Channel { return c.channels[fd] }
func (c *channel) QP(n verbs.QPN) *verbs.QP  { return c.qps[n] }
func (c *channel) readable() bool {
	fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLIN != 0
}

// begin writes a command with space for a response of out bytes; the result comes later.
func (c *channel) begin(cmd uapi.UCMCommand, req any, out int) <-chan error {
	body := uapi.Encode(req)
	b := append(uapi.Encode(uapi.UCMCmdHdr{Cmd: uint32(cmd), In: uint16(len(body)), Out: uint16(out)}), body...)
	done := make(chan error, 1)
	c.ch.Write(c, b, func(err error) { done <- err })
	return done
}

// try writes a command without a response.
func (c *channel) try(cmd uapi.UCMCommand, req any) error { return <-c.begin(cmd, req, 0) }

// do is try of a command that must succeed.
func (c *channel) do(cmd uapi.UCMCommand, req any) {
	c.Helper()
	if err := c.try(cmd, req); err != nil {
		c.Fatal(err)
	}
}

// refused checks that a command fails with an error number.
func (c *channel) refused(want uapi.Errno, cmd uapi.UCMCommand, req any) {
	c.Helper()
	if err := c.try(cmd, req); uapi.ErrnoOf(err) != want {
		c.Errorf("%v: %v, want %v", cmd, err, want)
	}
}

// ask writes a command with a response, whose address request gets.
func ask[R any](c *channel, cmd uapi.UCMCommand, request func(addr uint64) any) (R, error) {
	var r R
	size := uapi.SizeOf(r)
	addr := c.room(size)
	if err := <-c.begin(cmd, request(addr), size); err != nil {
		return r, err
	}
	return result[R](c, addr), nil
}

// result reads a response.
func result[R any](c *channel, addr uint64) R {
	c.Helper()
	var r R
	b := make([]byte, uapi.SizeOf(r))
	if err := c.Read(addr, b); err != nil {
		c.Fatal(err)
	}
	if err := uapi.Decode(b, &r); err != nil {
		c.Fatal(err)
	}
	return r
}

func must[R any](c *channel, cmd uapi.UCMCommand, request func(addr uint64) any) R {
	c.Helper()
	r, err := ask[R](c, cmd, request)
	if err != nil {
		c.Fatal(err)
	}
	return r
}

func (c *channel) create(ps uapi.PortSpace, uid uint64) uint32 {
	c.Helper()
	return must[uapi.UCMCreateIDResp](c, uapi.UCMCmdCreateID, func(a uint64) any {
		return uapi.UCMCreateID{UID: uid, Response: a, PS: uint16(ps)}
	}).ID
}

// destroy returns the number of events that the program must have acknowledged.
func (c *channel) destroy(id uint32) uint32 {
	c.Helper()
	return must[uapi.UCMDestroyIDResp](c, uapi.UCMCmdDestroyID, func(a uint64) any {
		return uapi.UCMDestroyID{Response: a, ID: id}
	}).EventsReported
}

func (c *channel) bind(id uint32, at netip.AddrPort) error {
	return c.try(uapi.UCMCmdBindIP, uapi.UCMBindIP{Addr: uapi.NewSockaddr(at), ID: id})
}

func (c *channel) resolve(id uint32, to netip.AddrPort) error {
	return c.try(uapi.UCMCmdResolveIP, uapi.UCMResolveIP{DstAddr: uapi.NewSockaddr(to), ID: id, TimeoutMs: 2000})
}

func (c *channel) route(id uint32) uapi.UCMQueryRouteResp {
	c.Helper()
	return must[uapi.UCMQueryRouteResp](c, uapi.UCMCmdQueryRoute, func(a uint64) any {
		return uapi.UCMQuery{Response: a, ID: id}
	})
}

// event waits for the next event.
func (c *channel) event() uapi.UCMEventResp {
	c.Helper()
	select {
	case <-c.interrupted: // of an earlier wait
	default:
	}
	return must[uapi.UCMEventResp](c, uapi.UCMCmdGetEvent, func(a uint64) any { return uapi.UCMGetEvent{Response: a} })
}

// expect waits for the next event, which must be of a kind and of an identifier.
func (c *channel) expect(kind uapi.UCMEvent, id uint32) uapi.UCMEventResp {
	c.Helper()
	e := c.event()
	if uapi.UCMEvent(e.Event) != kind || e.ID != id {
		c.Fatalf("event %v of %d with status %d, want %v of %d", uapi.UCMEvent(e.Event), e.ID,
			int32(e.Status), kind, id)
	}
	return e
}

// qp creates a queue pair.
func (p *program) qp(typ verbs.QPType) *verbs.QP {
	p.Helper()
	q, err := p.pd.CreateQP(verbs.QPInitAttr{Type: typ, SendCQ: p.cq})
	if err != nil {
		p.Fatal(err)
	}
	p.qps[q.QPN()] = q
	return q
}

// move moves a queue pair to a state with the attributes of rdma_cm.
func (c *channel) move(q *verbs.QP, id uint32, to uapi.QPState) uapi.QPAttr {
	c.Helper()
	a := must[uapi.QPAttr](c, uapi.UCMCmdInitQPAttr, func(addr uint64) any {
		return uapi.UCMInitQPAttr{Response: addr, ID: id, QPState: uint32(to)}
	})
	grh := a.AHAttr.GRH
	attr := verbs.QPAttr{
		State: qp.State(a.QPState), Port: a.PortNum, QKey: a.QKey, Access: verbs.Access(a.QPAccessFlags),
		PathMTU: qp.MTUFromEnum(int(a.PathMTU)), DestQPN: verbs.QPN(a.DestQPNum), RQPSN: verbs.PSN(a.RQPSN),
		SQPSN: verbs.PSN(a.SQPSN), MaxRdAtomic: a.MaxRdAtomic, MaxDestRdAtomic: a.MaxDestRdAtomic,
		MinRNRTimer: a.MinRNRTimer, Timeout: a.Timeout, RetryCnt: a.RetryCnt, RNRRetry: a.RNRRetry,
		AV: verbs.AddressVector{
			DGID: grh.DGID, SGIDIndex: grh.SGIDIndex, HopLimit: grh.HopLimit, FlowLabel: grh.FlowLabel,
		},
	}
	if err := q.Modify(&attr, verbs.QPAttrMask(a.QPAttrMask)); err != nil {
		c.Fatal(err)
	}
	return a
}

// param returns the parameters of a connection.
func param(q *verbs.QP, data string) uapi.UCMConnParam {
	p := uapi.UCMConnParam{Valid: 1, ResponderResources: 3, InitiatorDepth: 5, RetryCount: 7, RNRRetryCount: 7}
	if q != nil {
		p.QPNum = uint32(q.QPN())
	}
	p.PrivateDataLen = uint8(copy(p.PrivateData[:], data))
	return p
}

// says checks the private data of a peer, which is padded with zeros.
func says(t testing.TB, b [uapi.MaxPrivateData]byte, length uint8, want string, room int) {
	t.Helper()
	if int(length) != room || !bytes.HasPrefix(b[:], append([]byte(want), 0)) {
		t.Errorf("private data of %d bytes: %q, want %q in %d", length, b[:min(int(length), 32)], want, room)
	}
}

// listenAt listens at a port of the program's device.
func (c *channel) listenAt(ps uapi.PortSpace, port uint16, uid uint64) uint32 {
	c.Helper()
	id := c.create(ps, uid)
	if err := c.bind(id, netip.AddrPortFrom(netip.IPv4Unspecified(), port)); err != nil {
		c.Fatal(err)
	}
	c.do(uapi.UCMCmdListen, uapi.UCMListen{ID: id, Backlog: 8})
	return id
}

// routed returns an identifier with a route to the other device.
func (c *channel) routed(ps uapi.PortSpace, port uint16, uid uint64) uint32 {
	c.Helper()
	id := c.create(ps, uid)
	if err := c.resolve(id, netip.AddrPortFrom(addrs[1], port)); err != nil {
		c.Fatal(err)
	}
	c.expect(uapi.UCMEventAddrResolved, id)
	c.do(uapi.UCMCmdResolveRoute, uapi.UCMResolveRoute{ID: id, TimeoutMs: 2000})
	c.expect(uapi.UCMEventRouteResolved, id)
	return id
}

// pair returns two programs with a channel each.
func pair(t testing.TB) (client, server *channel) {
	s := hosts(t)
	return start(t, s[0]).open(), start(t, s[1]).open()
}

// connected is a connection between two programs.
type connected struct {
	client, server     *channel
	listener           uint32
	atClient, atServer uint32
	clientQP, serverQP *verbs.QP
}

// connect connects two programs as librdmacm does.
func connect(t testing.TB) *connected {
	t.Helper()
	c := &connected{}
	c.client, c.server = pair(t)
	c.listener = c.server.listenAt(uapi.PortSpaceTCP, 7174, 0x1000)
	c.atClient = c.client.routed(uapi.PortSpaceTCP, 7174, 0x2000)
	c.request("from the client")
	c.accept("from the server")
	return c
}

// request makes the client connect, and the server fetch the request.
func (c *connected) request(data string) uapi.UCMEventResp {
	c.client.Helper()
	c.clientQP = c.client.qp(verbs.RC)
	c.client.move(c.clientQP, c.atClient, uapi.QPSInit)
	c.client.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(c.clientQP, data), ID: c.atClient})
	e := c.server.event()
	if uapi.UCMEvent(e.Event) != uapi.UCMEventConnectRequest || e.UID != 0x1000 {
		c.server.Fatalf("event %v of %#x", uapi.UCMEvent(e.Event), e.UID)
	}
	c.atServer = e.ID
	return e
}

// accept makes the server accept, and the client continue.
func (c *connected) accept(data string) uapi.UCMEventResp {
	c.server.Helper()
	c.serverQP = c.server.qp(verbs.RC)
	for _, s := range []uapi.QPState{uapi.QPSInit, uapi.QPSRTR, uapi.QPSRTS} {
		c.server.move(c.serverQP, c.atServer, s)
	}
	c.server.do(uapi.UCMCmdAccept, uapi.UCMAccept{UID: 0x3000, ConnParam: param(c.serverQP, data), ID: c.atServer})
	e := c.client.expect(uapi.UCMEventConnectResponse, c.atClient)
	for _, s := range []uapi.QPState{uapi.QPSInit, uapi.QPSRTR, uapi.QPSRTS} {
		c.client.move(c.clientQP, c.atClient, s)
	}
	c.client.do(uapi.UCMCmdAccept, uapi.UCMAccept{ID: c.atClient})
	if e := c.server.expect(uapi.UCMEventEstablished, c.atServer); e.UID != 0x3000 {
		c.server.Errorf("established is %#x", e.UID)
	}
	return e
}
