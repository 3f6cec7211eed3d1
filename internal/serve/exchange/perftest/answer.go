package perftest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Responder is a server that knows neither the test of its client nor the parameters of the test.
// [Answer] calls it.
type Responder interface {
	// Items is called before n items of the client are read. It blocks until they may be read, or
	// returns an error.
	Items(n int) error
	MTU() uint8 // path MTU number 1..5 of this end
	// PeerMTU gets the smaller of the path MTU numbers of both ends.
	PeerMTU(enum uint8) error
	// Key gets each key of the client, and returns the key of the queue pair connected to the
	// client's. The client sends the key of each queue pair several times: when it connects, and
	// when it synchronizes with the other end.
	Key(peer Key) (Key, error)
	PeerReport(r Report)
}

// Lines is a connection with its buffered input.
type Lines struct {
	net.Conn
	R *bufio.Reader
	// ItemTime is the timeout of the rest of an item whose first byte has arrived.
	ItemTime time.Duration
}

// Answer answers each item of a client of any test: the type of an item can be recognized, and its
// answer is an item of the same type. It therefore serves every test in which the server does
// nothing by itself between items. It returns nil when the client has sent "done", and an error
// that wraps exchange.ErrPeerClosed if the client disconnected before.
func Answer(l *Lines, r Responder) error {
	a := &answerer{Lines: l, to: r}
	for _, item := range []func() error{a.version, a.word, a.word, a.mtu} {
		if err := a.begin(); err != nil {
			return err
		}
		if err := item(); err != nil {
			return err
		}
	}
	for {
		if err := a.begin(); err != nil {
			return err
		}
		if done, err := a.item(); done || err != nil {
			return err
		}
	}
}

type answerer struct {
	*Lines
	to  Responder
	buf [KeyLen]byte
}

// MaxItems returns a number of items that no client with qps queue pairs exceeds, including the
// opening and the fields of reports. A client sends the key of each queue pair twice. In
// addition, the longest tests (-a -b) have two syncs and a report for each of 23 sizes: 161
// items.
func MaxItems(qps int) int { return 4*qps + 256 }

// begin waits for an item. From its first byte on, the item has a timeout.
func (a *answerer) begin() error {
	a.SetDeadline(time.Time{})
	if _, err := a.R.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			err = exchange.ErrPeerClosed
		}
		return &exchange.ItemError{Item: "item", Op: "receive", Err: err}
	}
	return a.admit(1)
}

// admit waits until n items may be read, and starts their timeout.
func (a *answerer) admit(n int) error {
	if err := a.to.Items(n); err != nil {
		return err
	}
	a.SetDeadline(time.Now().Add(a.ItemTime))
	return nil
}

func (a *answerer) Read(b []byte) (int, error) { return a.R.Read(b) }

func (a *answerer) read(item string, n int) ([]byte, error) {
	return a.buf[:n], exchange.ReadItem(a, item, a.buf[:n])
}

func (a *answerer) version() error {
	b, err := a.read("version", VersionLen)
	if err != nil {
		return err
	}
	if err := checkVersion(b); err != nil {
		return err
	}
	return exchange.WriteItem(a, "version", AppendVersion(nil, Announced))
}

// word answers the page and the cache line size with the client's value; each end uses the larger
// of both values.
func (a *answerer) word() error {
	b, err := a.read("page or cache line size", WordLen)
	if err != nil {
		return err
	}
	v, err := DecodeWord(b, MaxWord)
	if err != nil {
		return decodeError("page or cache line size", err)
	}
	return exchange.WriteItem(a, "page or cache line size", AppendWord(nil, v))
}

func (a *answerer) mtu() error {
	b, err := a.read("path MTU", MTULen)
	if err != nil {
		return err
	}
	v, err := DecodeMTU(b)
	if err != nil {
		return decodeError("path MTU", err)
	}
	mine := a.to.MTU()
	if err := a.to.PeerMTU(min(v, mine)); err != nil {
		return err
	}
	return exchange.WriteItem(a, "path MTU", AppendMTU(nil, mine))
}

// prefixLen is the number of bytes that identify an item. A key is text with a colon after four
// digits, "done" is text without one, and a report starts with the most significant bytes of a
// message size.
const prefixLen = len(Done)

// errNoItem does not quote the received bytes, which may be part of a key.
var errNoItem = errors.New("what came begins neither a key nor a report: is the peer perftest?")

// item answers a key, a report, or "done", and reports whether it was "done".
func (a *answerer) item() (done bool, err error) {
	tell, err := a.R.Peek(prefixLen)
	switch {
	case err != nil:
		_, err = a.read("item", prefixLen)
		return false, err
	case string(tell) == Done:
		return true, a.finish()
	case tell[prefixLen-1] == ':':
		return false, a.key()
	case tell[0] == 0:
		return false, a.report()
	}
	return false, decodeError("item", errNoItem)
}

func (a *answerer) key() error {
	var peer Key
	if err := (&tcpLine{conn: a}).read("key", a.buf[:KeyLen]); err != nil {
		return err
	}
	if err := peer.Decode(a.buf[:]); err != nil {
		return decodeError("key", err)
	}
	mine, err := a.to.Key(peer)
	if err != nil {
		return err
	}
	return exchange.WriteItem(a, "key", mine.Append(nil))
}

// report answers with an empty report: this end has measured nothing.
func (a *answerer) report() error {
	if err := a.admit(ReportFields - 1); err != nil {
		return err
	}
	var mine, peer Report
	for i := range ReportFields {
		item := "report: " + ReportField(i)
		b, err := a.read(item, FieldLen)
		if err != nil {
			return err
		}
		if err := peer.DecodeField(i, b); err != nil {
			return decodeError(item, err)
		}
		if err := exchange.WriteItem(a, item, mine.AppendField(nil, i)); err != nil {
			return err
		}
	}
	a.to.PeerReport(peer)
	return nil
}

// finish answers "done" and lets the client disconnect first, so that no data is lost by a reset.
// The test is over, so errors are ignored.
func (a *answerer) finish() error {
	a.SetDeadline(time.Now().Add(DoneWait))
	if b, err := a.read("done", len(Done)); err == nil {
		if exchange.WriteItem(a, "done", b) == nil {
			a.R.Peek(1)
		}
	}
	return nil
}
