package verbspeer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// beyond is the number of bytes of the server's region after its window.
const beyond = 4096

// qkey is the Q_Key of datagrams.
const qkey = 0x11111111

// completionTimeout is the maximum wait for a completion.
const completionTimeout = 60 * time.Second

// Config selects what to run.
type Config struct {
	Device  *verbs.Device
	GID     verbs.GIDEntry
	MTU     verbs.MTU
	Op      string
	Refused bool // end with a step that the server must refuse
	Size    int  // in bytes
	Rounds  int  // number of rounds of the client
}

// info is an end's description of itself for the peer.
type info struct {
	QPN  uint32 `json:"qpn"`
	PSN  uint32 `json:"psn"`
	GID  string `json:"gid"` // eight groups of hexadecimal digits
	Addr uint64 `json:"addr"`
	RKey uint32 `json:"rkey"`
}

// end is a queue pair with memory.
type end struct {
	*Config
	op     *operation
	buf    []byte
	mr     *verbs.MR
	cq     *verbs.CQ
	qp     *verbs.QP
	pd     *verbs.PD
	psn    verbs.PSN
	window *verbs.MW
	key    uint32
	peer   info
	to     *verbs.AH // address handle of the peer, for datagrams
}

func (c *Config) open(op *operation) (*end, error) {
	e := &end{Config: c, op: op, buf: make([]byte, c.Size+beyond), pd: c.Device.AllocPD(), psn: verbs.RandomPSN()}
	access := verbs.LocalWrite | verbs.RemoteWrite
	switch {
	case op.Key != "region":
		access = verbs.LocalWrite | verbs.MWBind
	case c.Op == "flush":
		access |= verbs.FlushGlobal
	}
	var err error
	if e.mr, err = e.pd.RegMR(e.buf, access); err != nil {
		return nil, err
	}
	e.key = e.mr.RKey()
	if e.cq, err = c.Device.CreateCQ(64); err != nil {
		return nil, err
	}
	e.qp, err = e.pd.CreateQP(verbs.QPInitAttr{
		Type: op.service(), SendCQ: e.cq, Cap: verbs.QPCap{MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 1, MaxRecvSGE: 2},
	})
	return e, err
}

func (e *end) close() { e.qp.Close() }

func (e *end) info() info {
	g := e.GID.GID
	text := ""
	for i := 0; i < len(g); i += 2 {
		text += fmt.Sprintf(":%02x%02x", g[i], g[i+1])
	}
	return info{QPN: uint32(e.qp.QPN()), PSN: uint32(e.psn), GID: text[1:], Addr: e.mr.Addr(), RKey: e.key}
}

func (e *end) connect(peer info) error {
	a, err := netip.ParseAddr(peer.GID)
	if err != nil {
		return fmt.Errorf("the peer's GID: %w", err)
	}
	e.peer = peer
	if e.op.service() == verbs.UD {
		e.to, err = e.pd.CreateAH(verbs.AddressVector{DGID: a.As16(), SGIDIndex: uint8(e.GID.Index)})
		return errors.Join(err, e.qp.StartDatagrams(qkey, e.psn))
	}
	attr := verbs.DefaultConnAttr()
	attr.PathMTU, attr.Access = e.MTU, verbs.RemoteWrite
	attr.RetryCnt, attr.RNRRetry = 6, 6
	if e.Op == "flush" {
		attr.Access |= verbs.FlushGlobal | verbs.FlushPersistent
	}
	return e.qp.Connect(
		verbs.ConnInfo{QPN: e.qp.QPN(), PSN: e.psn, GID: e.GID.GID},
		verbs.ConnInfo{QPN: verbs.QPN(peer.QPN), PSN: verbs.PSN(peer.PSN), GID: verbs.GID(a.As16())}, attr)
}

func (e *end) completion(ctx context.Context) (verbs.WC, error) {
	late := fmt.Errorf("no completion within %v", completionTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, completionTimeout, late)
	defer cancel()
	var wc [1]verbs.WC
	if _, err := e.cq.Wait(ctx, wc[:]); err != nil {
		return wc[0], errors.Join(err, context.Cause(ctx))
	}
	return wc[0], nil
}

// must posts a work request, if wr is not nil, and requires the next completion to be successful.
func (e *end) must(ctx context.Context, what string, wr *verbs.SendWR) (verbs.WC, error) {
	if wr != nil {
		wr.Flags |= verbs.Signaled
		if err := e.qp.PostSend(wr); err != nil {
			return verbs.WC{}, fmt.Errorf("%s: %w", what, err)
		}
	}
	wc, err := e.completion(ctx)
	if err == nil && wc.Status != verbs.WCSuccess {
		err = errors.New(wc.Status.String())
	}
	if err != nil {
		return wc, fmt.Errorf("%s: %w", what, err)
	}
	return wc, nil
}

// prepare posts the receive and gives the client access to the memory.
func (e *end) prepare(ctx context.Context) error {
	receive := &verbs.RecvWR{SGList: e.data()}
	if e.op.service() == verbs.UD {
		receive.SGList = []verbs.SGE{e.mr.SGE(e.Size, verbs.GRHLen), e.mr.SGE(0, e.Size)}
	}
	if err := e.qp.PostRecv(receive); err != nil {
		return err
	}
	var err error
	switch e.op.Key {
	case "window1":
		if e.window, err = e.pd.AllocMW(verbs.MWType1); err != nil {
			return err
		}
		e.key, err = e.qp.BindMW(e.window, verbs.BindInfo{
			Flags: verbs.Signaled, MR: e.mr, Addr: e.mr.Addr(), Length: uint64(e.Size), Access: verbs.RemoteWrite,
		})
		if err != nil {
			return err
		}
		_, err = e.must(ctx, "bind", nil)
	case "window2":
		if e.window, err = e.pd.AllocMW(verbs.MWType2); err != nil {
			return err
		}
		bind := e.window.Bind(e.mr, e.mr.Addr(), uint64(e.Size), verbs.RemoteWrite)
		e.key = bind.NewKey
		_, err = e.must(ctx, "bind", &verbs.SendWR{Opcode: verbs.WRBindMW, Bind: bind})
	}
	return err
}

// data returns the memory that a round sends or receives.
func (e *end) data() []verbs.SGE { return []verbs.SGE{e.mr.SGE(0, e.Size)} }

// request performs a step of the client and returns the completion status.
func (e *end) request(ctx context.Context, name string, fill int) (verbs.WCStatus, error) {
	copy(e.buf, pattern(e.Size, fill))
	wr := &verbs.SendWR{Flags: verbs.Signaled, RemoteAddr: e.peer.Addr, RKey: e.peer.RKey}
	switch name {
	case "write", "write_outside":
		wr.Opcode, wr.SGList = verbs.WRWrite, e.data()
		if name == "write_outside" {
			wr.RemoteAddr += uint64(e.Size + beyond)
		}
	case "atomic_write", "atomic_write_misaligned":
		wr.Opcode, wr.SGList = verbs.WRAtomicWrite, []verbs.SGE{e.mr.SGE(0, 8)}
		if name == "atomic_write_misaligned" {
			wr.RemoteAddr += 4
		}
	case "flush_range", "flush_region", "flush_persistent":
		wr.Opcode = verbs.WRFlush
		wr.Flush = verbs.Flush{Type: verbs.FlushToGlobal, Level: verbs.FlushRange, Length: uint32(e.Size)}
		if name == "flush_region" {
			wr.Flush.Level, wr.Flush.Length = verbs.FlushRegion, 0
		}
		if name == "flush_persistent" {
			wr.Flush.Type = verbs.FlushToPersistent
		}
	case "write_imm":
		wr.Opcode, wr.SGList, wr.Imm = verbs.WRWriteImm, e.data(), immediate(fill)
	case "send_imm":
		wr.Opcode, wr.SGList, wr.Imm = verbs.WRSendImm, e.data(), immediate(fill)
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = e.to, verbs.QPN(e.peer.QPN), qkey
	case "send_inv", "send_inv_data":
		wr.Opcode, wr.Imm = verbs.WRSendInv, e.peer.RKey
		if name == "send_inv_data" {
			wr.SGList = e.data()
		}
	default:
		return 0, fmt.Errorf("no step %q", name)
	}
	if err := e.qp.PostSend(wr); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	wc, err := e.completion(ctx)
	return wc.Status, err
}

// answer performs a step of the server.
func (e *end) answer(ctx context.Context, name string, fill int) error {
	switch name {
	case "check":
		if !bytes.Equal(e.buf[:e.Size], pattern(e.Size, fill)) {
			return errors.New("the memory does not hold what was written")
		}
		return nil
	case "receive":
		wc, err := e.must(ctx, "receive", nil)
		if err == nil && (wc.Flags&verbs.WCWithInv == 0 || wc.Imm != e.key) {
			err = fmt.Errorf("the receive has flags %v and key %#x, want the key %#x invalidated", wc.Flags,
				wc.Imm, e.key)
		}
		return err
	case "receive_imm":
		wc, err := e.must(ctx, "receive", nil)
		length := e.Size
		if e.op.service() == verbs.UD {
			length += verbs.GRHLen
		}
		if want := immediate(fill); err == nil &&
			(wc.Flags&verbs.WCWithImm == 0 || wc.Imm != want || int(wc.ByteLen) != length) {
			err = fmt.Errorf("the receive has flags %v, immediate data %#x and %d bytes, want %#x and %d", wc.Flags,
				wc.Imm, wc.ByteLen, want, length)
		}
		return err
	case "invalidate":
		_, err := e.must(ctx, "invalidate", &verbs.SendWR{Opcode: verbs.WRLocalInv, Imm: e.key})
		return err
	case "end":
		return nil
	}
	return fmt.Errorf("no step %q", name)
}
