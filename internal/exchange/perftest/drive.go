package perftest

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gorxe/gorxe/internal/exchange"
)

// MaxWord bounds what a peer may announce as page or cache line size.
const MaxWord = 1 << 20

// DoneWait is how long the last act, trading "done", may take.
const DoneWait = time.Second

// End is one end of a test, asked by Drive for what it has to say and told what the peer said.
type End interface {
	Words() (cycle, line uint32)        // page and cache line size of this end
	PeerWords(cycle, line uint32) error // after LineItem
	MTU() uint8                         // path MTU number 1..5 of this end
	PeerMTU(enum uint8) error
	Key(qp int) Key
	PeerKey(qp int, k Key, again bool) error
	Report() Report
	PeerReport(r Report) error
	Act(s Step) error // a local step
}

// Drive performs the script over conn until its end or the first error. When CloseItem is done the connection may be
// closed without the peer seeing a reset.
func Drive(conn net.Conn, role exchange.Role, steps []Step, end End) error {
	d := &driver{conn: conn, role: role, end: end, peerKeys: make(map[int]Key)}
	for _, s := range steps {
		if err := d.step(s); err != nil {
			return err
		}
	}
	return nil
}

type driver struct {
	conn      net.Conn
	role      exchange.Role
	end       End
	peerCycle uint32
	peerKeys  map[int]Key
	buf       [KeyLen]byte
}

func (d *driver) step(s Step) error {
	switch s.Kind {
	case VersionItem:
		return d.version()
	case CycleItem, LineItem:
		return d.word(s)
	case MTUItem:
		return d.mtu()
	case KeyItem, KeyAgainItem, SyncItem, CloseItem:
		return d.key(s)
	case ReportItem:
		return d.report()
	}
	return d.end.Act(s)
}

// trade exchanges one item: the client speaks first.
func (d *driver) trade(item string, out, in []byte) error {
	if d.role == exchange.Client {
		if err := exchange.WriteItem(d.conn, item, out); err != nil {
			return err
		}
		return d.read(item, in)
	}
	if err := d.read(item, in); err != nil {
		return err
	}
	return exchange.WriteItem(d.conn, item, out)
}

// read reads one item. A key without GID is shorter and would be waited for in vain, so it is looked for on the way.
func (d *driver) read(item string, in []byte) error {
	if len(in) != KeyLen {
		return exchange.ReadItem(d.conn, item, in)
	}
	if err := exchange.ReadItem(d.conn, item, in[:keyLenNoGID]); err != nil {
		return err
	}
	if in[keyLenNoGID-1] == 0 {
		return decodeError(item, new(Key).Decode(in[:keyLenNoGID]))
	}
	return exchange.ReadItem(d.conn, item, in[keyLenNoGID:])
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
	v, err := DecodeVersion(in)
	if err == nil && v.Number() < OldestPeer {
		err = fmt.Errorf("peer speaks version %s, %.2f or newer is needed", v, OldestPeer)
	}
	return decodeError("version", err)
}

func (d *driver) word(s Step) error {
	cycle, line := d.end.Words()
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
	return d.end.PeerWords(d.peerCycle, v)
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

// errKeyChanged is what two ends that count their queue pairs differently see: every key is told at least twice, and
// always the same.
var errKeyChanged = errors.New("the peer's key is not the one it told before: it has another number of QPs (-q), or runs another test")

func (d *driver) key(s Step) error {
	in := d.buf[:KeyLen]
	k := d.end.Key(s.QP)
	if err := d.trade(s.String(), k.Append(nil), in); err != nil {
		return err
	}
	var peer Key
	if err := peer.Decode(in); err != nil {
		return decodeError(s.String(), err)
	}
	if before, ok := d.peerKeys[s.QP]; ok && before != peer {
		return decodeError(s.String(), errKeyChanged)
	}
	d.peerKeys[s.QP] = peer
	switch s.Kind {
	case KeyItem, KeyAgainItem:
		return d.end.PeerKey(s.QP, peer, s.Kind == KeyAgainItem)
	case CloseItem:
		d.close()
	}
	return nil
}

// close trades "done", which stock tools send unasked and do not read. An end that closes with it unread would send a
// reset, and the peer's own "done" would fail. The test is over, so nothing here is an error.
func (d *driver) close() {
	d.conn.SetDeadline(time.Now().Add(DoneWait))
	d.trade("done", []byte(Done), d.buf[:len(Done)])
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
