package rdmacore_test

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// The scenarios of rdma-core's own tests (linux-rdma/rdma-core, tests/*.py) that need no kernel,
// by file and name. docs/rdma-core-tests.md lists them all.
var rdmaCore = map[string]map[string]func(*testing.T){
	"test_atomic":    rdmaCoreAtomic,
	"test_cq":        rdmaCoreCQ,
	"test_cq_events": rdmaCoreCQEvents,
	"test_cqex":      rdmaCoreCQEx,
	"test_mr":        rdmaCoreMR,
	"test_qp":        rdmaCoreQP,
	"test_qpex":      rdmaCoreQPEx,
	"test_srq":       rdmaCoreSRQ,
}

func TestRDMACore(t *testing.T) {
	for _, file := range slices.Sorted(maps.Keys(rdmaCore)) {
		t.Run(file, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(rdmaCore[file])) {
				t.Run(name, rdmaCore[file][name])
			}
		})
	}
}

// A player is one side of such a test, with the defaults of rdma-core: messages of 1024 bytes in
// its own region, READs and atomics one at a time.
type player struct {
	*testing.T
	dev  *verbs.Device
	pd   *verbs.PD
	cq   *verbs.CQ
	srq  *verbs.SRQ // receives are posted here, if there is one
	mr   *verbs.MR
	buf  []byte
	qp   *verbs.QP
	info verbs.ConnInfo
	attr verbs.ConnAttr
	peer *player
	size int // of a message
	rkey uint32
	addr uint64 // of the peer's buffer
	lkey uint32
	grh  int                // bytes of network header before received data
	ah   *verbs.AH          // address handle of the peer of datagrams
	ch   *verbs.CompChannel // channel on which completions are awaited; nil: the CQ itself
}

// playerOptions are the options of a test; the zero value is the default.
type playerOptions struct {
	service  verbs.QPType
	size     int
	mrAccess verbs.Access
	qpAccess verbs.Access
	rdAtomic uint8
	withSRQ  bool
	channel  bool // wait for completions on a completion channel
	cqDepth  int
}

const (
	rdmaCoreIters = 100
	anyRemote     = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
)

// newPlayers returns two connected players, each on its own device.
func newPlayers(t *testing.T, o playerOptions) (client, server *player) {
	t.Helper()
	o.service = cmp.Or(o.service, verbs.RC)
	o.size = cmp.Or(o.size, 1024)
	o.mrAccess = cmp.Or(o.mrAccess, anyRemote)
	o.qpAccess = cmp.Or(o.qpAccess, anyRemote)
	var ps [2]*player
	grh := 0
	if o.service == verbs.UD {
		grh = verbs.GRHLen
	}
	for i, cfg := range verbstest.PipeLinks(t) {
		n := verbstest.Open(t, cfg, o.size+grh)
		p := &player{T: t, dev: n.Device, pd: n.PD, buf: n.Buf, size: o.size, grh: grh, attr: verbs.DefaultConnAttr()}
		var opts []verbs.CQOption
		if o.channel {
			p.ch = p.dev.CreateCompChannel()
			opts = append(opts, verbs.OnChannel(p.ch))
		}
		var err error
		if p.cq, err = p.dev.CreateCQ(cmp.Or(o.cqDepth, 1000), opts...); err != nil {
			t.Fatal(err)
		}
		p.attr.Access = o.qpAccess
		if o.rdAtomic > 0 {
			p.attr.MaxRdAtomic, p.attr.MaxDestRdAtomic = o.rdAtomic, o.rdAtomic
		}
		if o.withSRQ {
			if p.srq, err = p.pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: verbstest.Cap.MaxRecvWR,
				MaxSGE: verbstest.Cap.MaxRecvSGE}); err != nil {
				t.Fatal(err)
			}
		}
		p.register(o.mrAccess)
		ps[i] = p
	}
	connectPlayers(ps[0], ps[1], o.service)
	return ps[0], ps[1]
}

// connectPlayers creates a queue pair for each of two players and connects them.
func connectPlayers(a, b *player, service verbs.QPType) {
	a.Helper()
	a.peer, b.peer = b, a
	for _, p := range []*player{a, b} {
		var err error
		if p.qp, err = p.pd.CreateQP(verbs.QPInitAttr{Type: service, SendCQ: p.cq, SRQ: p.srq,
			Cap: verbstest.Cap}); err != nil {
			p.Fatal(err)
		}
		if p.info, err = p.qp.Local(0, verbs.RandomPSN()); err != nil {
			p.Fatal(err)
		}
		p.learn()
	}
	for _, p := range []*player{a, b} {
		p.connect()
	}
}

// connect moves p's queue pair from RESET to RTS.
func (p *player) connect() {
	p.Helper()
	if p.grh == 0 {
		if err := p.qp.Connect(p.info, p.peer.info, p.attr); err != nil {
			p.Fatal(err)
		}
		return
	}
	if err := p.qp.StartDatagrams(verbstest.QKey, p.info.PSN); err != nil {
		p.Fatal(err)
	}
	var err error
	if p.ah, err = p.pd.CreateAH(verbs.AddressVector{DGID: p.peer.info.GID}); err != nil {
		p.Fatal(err)
	}
}

// register registers p's buffer with these rights.
func (p *player) register(access verbs.Access) {
	p.Helper()
	m, err := p.pd.RegMR(p.buf, access)
	if err != nil {
		p.Fatal(err)
	}
	p.mr, p.lkey = m, m.LKey()
}

// learn stores the key and address of the peer's region.
func (p *player) learn() { p.rkey, p.addr = p.peer.mr.RKey(), p.peer.mr.Addr() }

// sge returns the first n bytes of p's buffer.
func (p *player) sge(n int) []verbs.SGE {
	if n == 0 {
		return nil
	}
	return []verbs.SGE{{Addr: p.mr.Addr(), Length: uint32(n), LKey: p.lkey}}
}

// Post posts a send work request for p's message.
func (p *player) Post(op verbs.WROpcode, change func(*verbs.SendWR)) {
	p.Helper()
	wr := &verbs.SendWR{ID: 5, Opcode: op, Flags: verbs.Signaled, SGList: p.sge(p.size), RemoteAddr: p.addr,
		RKey: p.rkey}
	if p.ah != nil {
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = p.ah, p.peer.qp.QPN(), verbstest.QKey
	}
	if change != nil {
		change(wr)
	}
	if err := p.qp.PostSend(wr); err != nil {
		p.Fatal(err)
	}
}

func (p *player) postRecv() {
	p.Helper()
	post := p.qp.PostRecv
	if p.srq != nil {
		post = p.srq.PostRecv
	}
	if err := post(&verbs.RecvWR{ID: 6, SGList: p.sge(p.grh + p.size)}); err != nil {
		p.Fatal(err)
	}
}

// poll waits for one completion.
func (p *player) poll() verbs.WC {
	p.Helper()
	var wc [1]verbs.WC
	if p.ch == nil {
		if _, err := p.cq.Wait(p.Context(), wc[:]); err != nil {
			p.Fatal(err)
		}
		return wc[0]
	}
	for p.cq.Poll(wc[:]) == 0 {
		if err := p.cq.ReqNotify(false); err != nil {
			p.Fatal(err)
		}
		// Completions before the notification request raise no event.
		if p.cq.Poll(wc[:]) == 1 {
			break
		}
		if cq, err := p.ch.Wait(p.Context()); err != nil || cq != p.cq {
			p.Fatalf("an event of %v, %v", cq, err)
		}
	}
	return wc[0]
}

// want polls one completion and fails the test if it does not have this status.
func (p *player) want(status verbs.WCStatus) verbs.WC {
	p.Helper()
	wc := p.poll()
	if wc.Status != status {
		p.Fatalf("the completion is %s, want %s", wc.Status.Name(), status.Name())
	}
	return wc
}

func (p *player) fill(b byte) { copy(p.buf, bytes.Repeat([]byte{b}, len(p.buf))) }

// holds fails the test unless n bytes of p's buffer are all b, after a network header if there is
// one.
func (p *player) holds(n int, b byte) {
	p.Helper()
	p.qp.State() // orders this read after the device's writes
	if data := p.buf[p.grh:]; !bytes.Equal(data[:n], bytes.Repeat([]byte{b}, n)) {
		p.Fatalf("the buffer begins with %x, want %d times %x", data[:min(n, 8)], n, b)
	}
}

// traffic sends messages in both directions; each is checked at its receiver.
func traffic(client, server *player, op verbs.WROpcode) {
	client.Helper()
	for i := range rdmaCoreIters {
		from, to := client, server
		if i%2 == 1 {
			from, to = server, client
		}
		to.postRecv()
		from.fill('c')
		to.fill('x')
		imm := uint32(i)
		from.Post(op, func(wr *verbs.SendWR) { wr.Imm = imm })
		from.want(verbs.WCSuccess)
		wc := to.want(verbs.WCSuccess)
		to.holds(to.size, 'c')
		if wc.ByteLen != uint32(to.grh+from.size) || wc.QPN != to.qp.QPN() || wc.SrcQP != from.qp.QPN() {
			client.Fatalf("the receive completion is %+v", wc)
		}
		if withImm := op == verbs.WRSendImm || op == verbs.WRWriteImm; withImm != (wc.Flags&verbs.WCWithImm != 0) ||
			withImm && wc.Imm != imm {
			client.Fatalf("the receive completion is %+v, want immediate data %d: %v", wc, imm, withImm)
		}
	}
}

// rdmaTraffic writes to or reads from the peer alternately.
func rdmaTraffic(client, server *player, op verbs.WROpcode) {
	client.Helper()
	for i := range rdmaCoreIters {
		p := []*player{client, server}[i%2]
		p.fill('l')
		p.peer.fill('r')
		p.Post(op, nil)
		p.want(verbs.WCSuccess)
		if op == verbs.WRRead {
			p.holds(p.size, 'r')
			p.peer.holds(p.size, 'r')
		} else {
			p.peer.holds(p.size, 'l')
			p.holds(p.size, 'l')
		}
	}
}

// refused fails the test unless err is the error of a rejected post.
func (p *player) refused(err error, words ...string) {
	p.Helper()
	var post *verbs.PostError
	if !errors.As(err, &post) {
		p.Fatalf("the error is %v, want a PostError", err)
	}
	verbstest.MustMention(p.T, err, words...)
}

// restate moves both queue pairs from ERR through RESET back to RTS.
func restate(ps ...*player) {
	for _, p := range ps {
		p.Helper()
		if err := p.qp.Modify(&verbs.QPAttr{State: verbs.RESET}, verbs.AttrState); err != nil {
			p.Fatal(err)
		}
	}
	for _, p := range ps {
		p.connect()
		p.learn()
		var wcs [64]verbs.WC
		for p.cq.Poll(wcs[:]) > 0 {
		}
	}
}
