package uverbs

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
	"golang.org/x/sys/unix"
)

// end is one side of a connection: a program with an object of each required kind.
type end struct {
	*program
	pd         uint32
	mr         uapi.RegMRResp
	addr       uint64
	cq, qp     uint32
	qpn        uint32
	comp       *queue
	send, recv *queue
	channel    int    // descriptor
	async      int    // likewise
	srq        uint32 // of the queue pairs that newQP creates, 0 if there is none
}

const bufSize = 1 << 16

// newEnd creates the objects of a program with a queue pair.
func newEnd(t testing.TB, s *Server, typ uapi.QPType) *end {
	t.Helper()
	e := &end{program: start(t, s)}
	e.call(uapi.MethodGetContext, out(uapi.AttrGetContextNumCompVectors, 4), out(uapi.AttrGetContextCoreSupport, 8))
	e.async = int(u32(
		e.call(uapi.MethodAsyncEventAlloc, fresh(uapi.AttrAsyncEventAllocFDHandle))[uapi.AttrAsyncEventAllocFDHandle]))
	e.pd = run[uapi.AllocPDResp](e.program, uapi.CmdAllocPD, uapi.AllocPD{}).PDHandle
	e.addr = e.put(make([]byte, bufSize))
	access := uapi.AccessLocalWrite | uapi.AccessRemoteWrite | uapi.AccessRemoteRead
	e.mr = run[uapi.RegMRResp](e.program, uapi.CmdRegMR,
		uapi.RegMR{Start: e.addr, Length: bufSize, HCAVA: e.addr, PDHandle: e.pd, AccessFlags: uint32(access)})
	e.channel = int(run[uapi.CreateCompChannelResp](e.program, uapi.CmdCreateCompChannel, uapi.CreateCompChannel{}).FD)
	e.newCQ()
	e.newQP(typ)
	return e
}

func (e *end) newCQ() {
	e.Helper()
	m := uapi.MethodCQCreate
	r := e.call(m, fresh(uapi.AttrCreateCQHandle), attr{id: uapi.AttrCreateCQCQE, in: uint32(16)},
		attr{id: uapi.AttrCreateCQUserHandle, in: uint64(0xc0)},
		attr{id: uapi.AttrCreateCQCompChannel, in: handle(e.channel)},
		attr{id: uapi.AttrCreateCQCompVector, in: uint32(0)},
		out(uapi.AttrCreateCQRespCQE, 4), out(m.UHWOut(), 16))
	e.cq = u32(r[uapi.AttrCreateCQHandle])
	e.comp = e.mapQueue(decode[uapi.RXECreateCQResp](e.program, r[m.UHWOut()]).MI)
}

// newQP creates a queue pair. The user_handle of the first one is 0xd0; that of a further one is
// 0xd0 plus the handle of the previous one.
func (e *end) newQP(typ uapi.QPType) {
	e.Helper()
	m := uapi.MethodQPCreate
	attrs := []attr{fresh(uapi.AttrCreateQPHandle), {id: uapi.AttrCreateQPPDHandle, in: handle(e.pd)},
		{id: uapi.AttrCreateQPSendCQHandle, in: handle(e.cq)},
		{id: uapi.AttrCreateQPRecvCQHandle, in: handle(e.cq)},
		{id: uapi.AttrCreateQPUserHandle, in: 0xd0 + uint64(e.qp)},
		{id: uapi.AttrCreateQPCap, in: uapi.QPCap{MaxSendWR: 8, MaxRecvWR: 8, MaxSendSGE: 1, MaxRecvSGE: 1}},
		{id: uapi.AttrCreateQPType, in: uint64(typ)}, out(uapi.AttrCreateQPRespCap, 20),
		out(uapi.AttrCreateQPRespQPNum, 4), out(m.UHWOut(), 32)}
	if e.srq != 0 {
		attrs = append(attrs, attr{id: uapi.AttrCreateQPSRQHandle, in: handle(e.srq)})
	}
	r := e.call(m, attrs...)
	e.qp, e.qpn = u32(r[uapi.AttrCreateQPHandle]), u32(r[uapi.AttrCreateQPRespQPNum])
	resp := decode[uapi.RXECreateQPResp](e.program, r[m.UHWOut()])
	if e.send = e.mapQueue(resp.SQMI); e.srq == 0 {
		e.recv = e.mapQueue(resp.RQMI)
	}
}

// ring writes the doorbell of the queue pair.
func (e *end) ring() {
	e.Helper()
	e.program.ring(doorbell(e.qp))
}

// gid returns entry 0 of the GID table.
func (e *end) gid() [16]byte {
	e.Helper()
	r := e.call(uapi.MethodQueryGIDEntry, attr{id: uapi.AttrQueryGIDEntryPort, in: uint64(1)},
		attr{id: uapi.AttrQueryGIDEntryGIDIndex, in: uint64(0)},
		attr{id: uapi.AttrQueryGIDEntryFlags, in: uint32(0)}, out(uapi.AttrQueryGIDEntryRespEntry, 32))
	return decode[uapi.GIDEntry](e.program, r[uapi.AttrQueryGIDEntryRespEntry]).GID
}

func (e *end) modify(m uapi.ModifyQP, mask uapi.QPMask) error {
	m.QPHandle, m.AttrMask = e.qp, uint32(mask)
	_, _, err := e.tryCommand(uapi.CmdModifyQP, m, 0)
	return err
}

// connect moves a reliable connection to RTS, with the attributes that programs pass.
func (e *end) connect(peer *end) {
	e.Helper()
	e.ready(peer)
	err := e.modify(
		uapi.ModifyQP{QPState: uint8(uapi.QPSRTS), Timeout: 14, RetryCnt: 7, RNRRetry: 7, SQPSN: 7, MaxRdAtomic: 1},
		uapi.QPMaskState|uapi.QPMaskTimeout|uapi.QPMaskRetryCnt|uapi.QPMaskRNRRetry|
			uapi.QPMaskSQPSN|uapi.QPMaskMaxQPRdAtomic)
	if err != nil {
		e.Fatal(err)
	}
}

// ready moves a reliable connection to RTR.
func (e *end) ready(peer *end) {
	e.Helper()
	err := errors.Join(
		e.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSInit), PortNum: 1,
			QPAccessFlags: uint32(uapi.AccessRemoteWrite | uapi.AccessRemoteRead)},
			uapi.QPMaskState|uapi.QPMaskPKeyIndex|uapi.QPMaskPort|uapi.QPMaskAccessFlags),
		e.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSRTR), PathMTU: uint8(uapi.MTU1024), DestQPNum: peer.qpn, RQPSN: 7,
			MaxDestRdAtomic: 1, MinRNRTimer: 12,
			Dest: uapi.QPDest{DGID: peer.gid(), IsGlobal: 1, PortNum: 1, HopLimit: 64}},
			uapi.QPMaskState|uapi.QPMaskAV|uapi.QPMaskPathMTU|uapi.QPMaskDestQPN|uapi.QPMaskRQPSN|
				uapi.QPMaskMaxDestRdAtomic|uapi.QPMaskMinRNRTimer))
	if err != nil {
		e.Fatal(err)
	}
}

func newPair(t testing.TB) (a, b *end) {
	t.Helper()
	d := devices(t)
	a, b = newEnd(t, serverOn(t, d[0]), uapi.QPTypeRC), newEnd(t, serverOn(t, d[1]), uapi.QPTypeRC)
	a.connect(b)
	b.connect(a)
	return a, b
}

func TestTwoProgramsExchangeMessagesThroughTheirRings(t *testing.T) {
	a, b := newPair(t)
	for i := range uint64(40) { // several times around the rings
		text := []byte{byte(i), 1, 2, 3, 4}
		if err := a.Write(text, a.addr); err != nil {
			t.Fatal(err)
		}
		b.recv.post(recvWQE(100+i, b.addr, 64, b.mr.LKey))
		a.send.post(sendWQE(i, a.addr, uint32(len(text)), a.mr.LKey))
		a.ring()
		if wc := a.poll(a.comp); wc.WRID != i || wc.Status != uint32(uapi.WCSuccess) ||
			wc.Opcode != uint32(uapi.WCSend) || wc.QPNum != a.qpn {
			t.Fatalf("send %d: %+v", i, wc)
		}
		wc := b.poll(b.comp)
		if wc.WRID != 100+i || wc.Status != uint32(uapi.WCSuccess) || wc.Opcode != uint32(uapi.WCRecv) ||
			wc.ByteLen != 5 || wc.QPNum != b.qpn {
			t.Fatalf("receive %d: %+v", i, wc)
		}
		got := make([]byte, 5)
		if err := b.Read(got, b.addr); err != nil || string(got) != string(text) {
			t.Fatalf("message %d: %x, %v", i, got, err)
		}
	}
}

func TestAnEventComesOnceForEachRequest(t *testing.T) {
	a, b := newPair(t)
	send := func(n uint64) {
		for i := range n {
			b.recv.post(recvWQE(i, b.addr, 64, b.mr.LKey))
			a.send.post(sendWQE(i, a.addr, 8, a.mr.LKey))
			a.ring()
			a.poll(a.comp)
			b.poll(b.comp)
		}
		b.ctx.events.quiet()
	}
	b.arm()
	send(3)
	if n, _ := unix.IoctlGetInt(b.channel, unix.TIOCINQ); n != 8 {
		t.Errorf("%d bytes of events after one request and three completions, want 8", n)
	}
	var rec [8]byte
	if n, err := unix.Read(b.channel, rec[:]); n != 8 || err != nil || rec[0] != 0xc0 {
		t.Errorf("%d, %v: % x", n, err, rec)
	}
	b.arm()
	send(1)
	b.arm()
	send(1)
	// Two more events, which the program has not read when it destroys the queue.
	if _, err := b.try(uapi.MethodQPDestroy, attr{id: uapi.AttrDestroyQPHandle, in: handle(b.qp)},
		out(uapi.AttrDestroyQPResp, 4)); err != nil {
		t.Fatal(err)
	}
	r := b.call(uapi.MethodCQDestroy, attr{id: uapi.AttrDestroyCQHandle, in: handle(b.cq)},
		out(uapi.AttrDestroyCQResp, 8))
	if resp := decode[uapi.DestroyCQResp](b.program, r[uapi.AttrDestroyCQResp]); resp.CompEventsReported != 1 {
		t.Errorf("%+v: the program has read one event", resp)
	}
	if n, _ := unix.IoctlGetInt(b.channel, unix.TIOCINQ); n != 0 {
		t.Errorf("%d bytes of events of a queue that is gone", n)
	}
}

func TestObjectsInUseAreNotDestroyed(t *testing.T) {
	a, _ := newPair(t)
	for name, try := range map[string]func() error{
		"completion queue": func() error {
			_, err := a.try(uapi.MethodCQDestroy, attr{id: uapi.AttrDestroyCQHandle, in: handle(a.cq)},
				out(uapi.AttrDestroyCQResp, 8))
			return err
		},
		"protection domain": func() error {
			_, err := a.try(uapi.MethodPDDestroy, attr{id: uapi.AttrDestroyPDHandle, in: handle(a.pd)})
			return err
		},
	} {
		if err := try(); uapi.ErrnoOf(err) != uapi.EBUSY {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatAProgramLeavesEndsWithIt(t *testing.T) {
	d := devices(t)
	s := serverOn(t, d[0])
	peer := newEnd(t, serverOn(t, d[1]), uapi.QPTypeRC)
	e := newEnd(t, s, uapi.QPTypeRC)
	e.connect(peer)
	peer.connect(e)
	e.exit()
	<-e.ctx.done
	if err := s.Close(); err != nil { // waits for what is being closed
		t.Fatal(err)
	}
	if e.closed != 1 {
		t.Errorf("the program's memory was closed %d times", e.closed)
	}
	left(t, d[0])
}

func TestQueuesAreFlushedInERR(t *testing.T) {
	a, _ := newPair(t)
	a.recv.post(recvWQE(5, a.addr, 64, a.mr.LKey))
	if err := a.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSErr)}, uapi.QPMaskState); err != nil {
		t.Fatal(err)
	}
	a.send.post(sendWQE(6, a.addr, 8, a.mr.LKey))
	a.ring()
	for _, id := range []uint64{5, 6} {
		if wc := a.poll(a.comp); wc.WRID != id || wc.Status != uint32(uapi.WCWRFlushErr) {
			t.Errorf("%+v, want %d flushed", wc, id)
		}
	}
}

func TestWrongArgumentsFailWithTheErrnoOfTheKernel(t *testing.T) {
	a, _ := newPair(t)
	reg := uapi.RegMR{Start: a.addr, Length: 64, HCAVA: a.addr, PDHandle: a.pd}
	with := func(f func(*uapi.RegMR)) uapi.RegMR { r := reg; f(&r); return r }
	for name, c := range map[string]struct {
		cmd  uapi.Command
		req  any
		room int
		want uapi.Errno
	}{
		"the probe of libibverbs": {uapi.CmdAllocPD, uint32(0), 0, uapi.ENOSPC},
		"a region of nothing": {uapi.CmdRegMR, with(func(r *uapi.RegMR) { r.Length = 0 }), 12,
			uapi.EINVAL},
		"a region that wraps": {uapi.CmdRegMR, with(func(r *uapi.RegMR) { r.Length = 1<<64 - 1 }), 12,
			uapi.EINVAL},
		"memory that is not mapped": {uapi.CmdRegMR, with(func(r *uapi.RegMR) { r.Start, r.HCAVA = 4096, 4096 }),
			12, uapi.EFAULT},
		"another place in the page": {uapi.CmdRegMR, with(func(r *uapi.RegMR) { r.HCAVA++ }), 12, uapi.EINVAL},
		"remote write without local write": {uapi.CmdRegMR,
			with(func(r *uapi.RegMR) { r.AccessFlags = uint32(uapi.AccessRemoteWrite) }), 12, uapi.EINVAL},
		"on-demand paging": {uapi.CmdRegMR,
			with(func(r *uapi.RegMR) { r.AccessFlags = uint32(uapi.AccessOnDemand) }), 12, uapi.EOPNOTSUPP},
		"no such protection domain": {uapi.CmdRegMR, with(func(r *uapi.RegMR) { r.PDHandle = 99 }), 12, uapi.EINVAL},
		"no such queue pair":        {uapi.CmdQueryQP, uapi.QueryQP{QPHandle: 99}, 128, uapi.EINVAL},
		"a window of no type":       {uapi.CmdAllocMW, uapi.AllocMW{PDHandle: a.pd}, 8, uapi.EINVAL},
		"an address without a GRH":  {uapi.CmdCreateAH, uapi.CreateAH{PDHandle: a.pd}, 4, uapi.EINVAL},
		"XRC":                       {uapi.CmdOpenXRCD, uint64(0), 8, uapi.EOPNOTSUPP},
		"an attribute that RoCE lacks": {uapi.CmdModifyQP,
			uapi.ModifyQP{QPHandle: a.qp, AttrMask: uint32(uapi.QPMaskAltPath)}, 0, uapi.EOPNOTSUPP},
		"port 2": {uapi.CmdModifyQP, uapi.ModifyQP{QPHandle: a.qp, AttrMask: uint32(uapi.QPMaskPort), PortNum: 2}, 0,
			uapi.EINVAL},
	} {
		if _, _, err := a.tryCommand(c.cmd, c.req, c.room); uapi.ErrnoOf(err) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := a.ctx.Ioctl(a, 16); uapi.ErrnoOf(err) != uapi.EFAULT {
		t.Errorf("an argument that is not mapped: %v", err)
	}
}

func TestQueriesTellWhatTheDeviceHas(t *testing.T) {
	a, b := newPair(t)
	dev := run[uapi.QueryDeviceResp](a.program, uapi.CmdQueryDevice, uapi.QueryDevice{})
	if dev.PhysPortCnt != 1 || dev.MaxQP == 0 || dev.NodeGUID == [8]byte{} || dev.MaxSGE != 32 {
		t.Errorf("%+v", dev)
	}
	r := a.call(uapi.MethodQueryPort, attr{id: uapi.AttrQueryPortPortNum, in: uint64(1)},
		out(uapi.AttrQueryPortResp, 48))
	p := decode[uapi.QueryPortRespEx](a.program, r[uapi.AttrQueryPortResp]).LegacyResp
	if p.State != uint8(uapi.PortActive) || p.GIDTblLen != 16 || p.ActiveMTU != uint8(uapi.MTU4096) {
		t.Errorf("%+v", p)
	}
	for index, want := range map[uint64]uapi.Errno{1: uapi.ENODATA, 15: uapi.ENODATA, 16: uapi.EINVAL} {
		_, err := a.try(uapi.MethodQueryGIDEntry, attr{id: uapi.AttrQueryGIDEntryPort, in: uint64(1)},
			attr{id: uapi.AttrQueryGIDEntryGIDIndex, in: index}, attr{id: uapi.AttrQueryGIDEntryFlags, in: uint32(0)},
			out(uapi.AttrQueryGIDEntryRespEntry, 32))
		if uapi.ErrnoOf(err) != want {
			t.Errorf("GID %d: %v, want %v", index, err, want)
		}
	}
	q := run[uapi.QueryQPResp](a.program, uapi.CmdQueryQP, uapi.QueryQP{QPHandle: a.qp})
	if q.QPState != uint8(uapi.QPSRTS) || q.DestQPNum != b.qpn || q.PathMTU != uint8(uapi.MTU1024) ||
		q.Dest.DGID != b.gid() || q.MaxSendWR != 15 || q.MaxRecvWR != 15 {
		// Rings for 8 elements have 16 slots, one of which stays free.
		t.Errorf("%+v", q)
	}
}
