package perftest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Responder is a server that does not know which test its client runs, nor its parameters.
type Responder interface {
	// Items is called before n items of the client are read. It returns when they may be, or with
	// why they are not.
	Items(n int) error
	MTU() uint8 // path MTU number 1..5 of this end
	PeerMTU(enum uint8) error
	// Key is told each key of the client, and returns that of the queue pair that answers it. The client tells the key of each queue
	// pair several times: when it connects, and when it waits for the other end.
	Key(peer Key) (Key, error)
	PeerReport(r Report)
}

// Lines is a connection with what was read of it.
type Lines struct {
	net.Conn
	R *bufio.Reader
	// ItemTime is how long an item may take that has begun.
	ItemTime time.Duration
}

// Answer answers each item of a client, whatever test it is of: what an item is shows by itself, and its answer is an item of the same
// kind. So it serves every test in which the server does nothing on its own between items. It returns nil when the client has
// said that it is done, and an error with exchange.ErrPeerClosed when it hung up before.
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

// MostItems returns a number of items that no client with qps queue pairs sends, opening and
// fields of reports included. A client tells the key of each queue pair twice. Besides, the longest
// tests (-a -b) have two syncs and a report for each of 23 sizes: 161 items.
func MostItems(qps int) int { return 4*qps + 256 }

// begin waits for an item. What has begun must go on.
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

// admit waits until n items may be read, and gives them their time.
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

// word answers the page and the cache line size, of which the larger of both ends counts, with what the client said.
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

// tellLen is how many bytes tell what an item is. A key is text with a colon after four digits, "done" is text without, and a report
// begins with the most significant bytes of a message size.
const tellLen = len(Done)

// errNoItem does not quote what came, which may be the middle of a key.
var errNoItem = errors.New("what came begins neither a key nor a report: is the peer perftest?")

// item answers a key, a report, or "done".
func (a *answerer) item() (done bool, err error) {
	tell, err := a.R.Peek(tellLen)
	switch {
	case err != nil:
		_, err = a.read("item", tellLen)
		return false, err
	case string(tell) == Done:
		return true, a.finish()
	case tell[tellLen-1] == ':':
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

// report answers with a report of nothing: this end has measured nothing.
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

// finish answers "done" and lets the client hang up first, so that nothing is lost by a reset. The test is over, so nothing here is an error.
func (a *answerer) finish() error {
	a.SetDeadline(time.Now().Add(DoneWait))
	if b, err := a.read("done", len(Done)); err == nil {
		if exchange.WriteItem(a, "done", b) == nil {
			a.R.Peek(1)
		}
	}
	return nil
}
