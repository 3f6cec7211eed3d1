package perftest

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// MaxWord is the maximum page or cache line size that a peer may announce, in bytes.
const MaxWord = 1 << 20

// DoneWait is the timeout of the last step, the exchange of "done".
const DoneWait = time.Second

// End is one end of a test. Drive gets from it the values to send, and passes it the values of the
// peer.
type End interface {
	Sizes() (cycle, line uint32)        // page size (cycle) and cache line size of this end
	PeerSizes(cycle, line uint32) error // those of the peer, after LineItem
	MTU() uint8                         // path MTU number 1..5 of this end
	PeerMTU(enum uint8) error
	Key(qp int) Key
	PeerKey(qp int, k Key, again bool) error // again: the key of a KeyRepeatItem
	Report() Report
	PeerReport(r Report) error
	Act(s Step) error // a local step
}

// Drive performs the script over conn until its end or the first error. After CloseItem the
// connection may be closed without a reset at the peer.
func Drive(conn net.Conn, role exchange.Role, steps []Step, end End) error {
	return drive(&driver{line: &tcpLine{conn: conn}, role: role, end: end}, steps)
}

// DriveManaged performs the script over a connection of rdma_cm: a message is an item, and a Key
// has its binary form.
func DriveManaged(m Messages, role exchange.Role, steps []Step, end End) error {
	return drive(&driver{line: &messageLine{m}, role: role, end: end}, steps)
}

func drive(d *driver, steps []Step) error {
	d.peerKeys = make(map[int]Key)
	for _, s := range steps {
		if err := d.step(s); err != nil {
			return err
		}
	}
	return nil
}

type driver struct {
	line      lineConn
	role      exchange.Role
	end       End
	peerCycle uint32
	peerKeys  map[int]Key
	buf       [KeyLen]byte // length of the longest item
}

func (d *driver) step(s Step) error {
	switch s.Kind {
	case VersionItem:
		return d.version()
	case CycleItem, LineItem:
		return d.word(s)
	case MTUItem:
		return d.mtu()
	case KeyItem, KeyRepeatItem, SyncItem, CloseItem:
		return d.key(s)
	case GateItem:
		return d.gate(s)
	case ReportItem:
		return d.report()
	}
	return d.end.Act(s)
}

// trade exchanges one item; the client sends first.
func (d *driver) trade(item string, out, in []byte) error {
	if d.role == exchange.Client {
		if err := d.line.write(item, out); err != nil {
			return err
		}
		return d.line.read(item, in)
	}
	if err := d.line.read(item, in); err != nil {
		return err
	}
	return d.line.write(item, out)
}

// tradeKey exchanges a key.
func (d *driver) tradeKey(item string, k Key) (peer Key, err error) {
	in := d.buf[:d.line.keyLen()]
	if err := d.trade(item, d.line.appendKey(nil, &k), in); err != nil {
		return peer, err
	}
	return peer, decodeError(item, d.line.decodeKey(&peer, in))
}

// gate exchanges an empty key: its queue pair has no peer yet.
func (d *driver) gate(s Step) error {
	_, err := d.tradeKey(s.String(), Key{})
	return err
}

func decodeError(item string, err error) error {
	if err == nil {
		return nil
	}
	return &exchange.ItemError{Item: item, Op: "decode", Err: err}
}

func (d *driver) version() error {
	in := d.buf[:VersionLen]
	if err := d.trade("version", AppendVersion(nil, Announced), in); err != nil {
		return err
	}
	return checkVersion(in)
}

// checkVersion rejects an invalid version, and a peer with a different exchange.
func checkVersion(in []byte) error {
	v, err := DecodeVersion(in)
	if err == nil && v.Number() < OldestPeer {
		err = fmt.Errorf("peer speaks version %.2f, %.2f or newer is needed", v.Number(), OldestPeer)
	}
	return decodeError("version", err)
}

func (d *driver) word(s Step) error {
	cycle, line := d.end.Sizes()
	out := cycle
	if s.Kind == LineItem {
		out = line
	}
	in := d.buf[:WordLen]
	if err := d.trade(s.String(), AppendWord(nil, out), in); err != nil {
		return err
	}
	v, err := DecodeWord(in, MaxWord)
	if err != nil {
		return decodeError(s.String(), err)
	}
	if s.Kind == CycleItem {
		d.peerCycle = v
		return nil
	}
	return d.end.PeerSizes(d.peerCycle, v)
}

func (d *driver) mtu() error {
	in := d.buf[:MTULen]
	if err := d.trade("path MTU", AppendMTU(nil, d.end.MTU()), in); err != nil {
		return err
	}
	v, err := DecodeMTU(in)
	if err != nil {
		return decodeError("path MTU", err)
	}
	return d.end.PeerMTU(v)
}

// errKeyChanged is the error of two ends with different numbers of queue pairs: every key is sent
// at least twice and does not change.
var errKeyChanged = errors.New("the peer's key has changed: it uses another -q or another test")

func (d *driver) key(s Step) error {
	peer, err := d.tradeKey(s.String(), d.end.Key(s.QP))
	if err != nil {
		if s.Kind == CloseItem && d.role == exchange.Server && peerLeftDuringSend(err) {
			return nil
		}
		return err
	}
	if before, ok := d.peerKeys[s.QP]; ok && before != peer {
		return decodeError(s.String(), errKeyChanged)
	}
	d.peerKeys[s.QP] = peer
	switch s.Kind {
	case KeyItem, KeyRepeatItem:
		return d.end.PeerKey(s.QP, peer, s.Kind == KeyRepeatItem)
	case CloseItem:
		if d.line.saysDone(DoneWait) {
			// Stock tools send "done" unprompted and do not read the peer's. An end that closes the
			// connection before it has read the peer's would send a reset, and the peer's send
			// would fail. The test is over, so errors are ignored.
			d.trade("done", []byte(Done), d.buf[:len(Done)])
		}
	}
	return nil
}

// peerLeftDuringSend reports whether err means that the peer disconnected while an item was sent. A
// client disconnects when it has the answer to its last item; with rdma_cm, the acknowledgement of
// this answer may be lost.
func peerLeftDuringSend(err error) bool {
	var e *exchange.ItemError
	return errors.As(err, &e) && e.Op == "send" && errors.Is(err, exchange.ErrPeerClosed)
}

func (d *driver) report() error {
	mine := d.end.Report()
	var peer Report
	for i := range ReportFields {
		in := d.buf[:FieldLen]
		item := "report: " + ReportField(i)
		if err := d.trade(item, mine.AppendField(nil, i), in); err != nil {
			return err
		}
		if err := peer.DecodeField(i, in); err != nil {
			return decodeError(item, err)
		}
	}
	return d.end.PeerReport(peer)
}
