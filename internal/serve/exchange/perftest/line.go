package perftest

import (
	"fmt"
	"net"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// lineConn transfers the items of an exchange, and encodes keys as its kind of connection requires.
type lineConn interface {
	write(item string, b []byte) error
	read(item string, b []byte) error // fills b
	keyLen() int
	appendKey(dst []byte, k *Key) []byte
	decodeKey(k *Key, b []byte) error
	// saysDone reports whether the exchange ends with "done", and sets the timeout of this last
	// item.
	saysDone(wait time.Duration) bool
}

type tcpLine struct{ conn net.Conn }

func (l *tcpLine) write(item string, b []byte) error { return exchange.WriteItem(l.conn, item, b) }

// read reads one item. A key without GID is shorter, so waiting for KeyLen bytes would block; read
// detects such a key.
func (l *tcpLine) read(item string, in []byte) error {
	if len(in) != KeyLen {
		return exchange.ReadItem(l.conn, item, in)
	}
	if err := exchange.ReadItem(l.conn, item, in[:keyLenNoGID]); err != nil {
		return err
	}
	if in[keyLenNoGID-1] == 0 {
		return decodeError(item, new(Key).Decode(in[:keyLenNoGID]))
	}
	return exchange.ReadItem(l.conn, item, in[keyLenNoGID:])
}

func (l *tcpLine) keyLen() int                         { return KeyLen }
func (l *tcpLine) appendKey(dst []byte, k *Key) []byte { return k.Append(dst) }
func (l *tcpLine) decodeKey(k *Key, b []byte) error    { return k.Decode(b) }

func (l *tcpLine) saysDone(wait time.Duration) bool {
	l.conn.SetDeadline(time.Now().Add(wait))
	return true
}

// Messages transfers the SENDs of a connection of rdma_cm.
type Messages interface {
	// Send sends b as one message and returns when the peer has received it.
	Send(b []byte) error
	// Receive waits for a message and stores it in b; n is its length, which may exceed that of
	// b.
	Receive(b []byte) (n int, err error)
}

// MaxMessage is the length of the longest message of the exchange. A receive of that length must
// be posted before the connection is established. Stock tools have one receive posted at a time:
// they send an item only after they have received the previous one.
const MaxMessage = BinaryKeyLen

type messageLine struct{ m Messages }

func (l *messageLine) write(item string, b []byte) error {
	if err := l.m.Send(b); err != nil {
		return &exchange.ItemError{Item: item, Op: "send", Err: err}
	}
	return nil
}

func (l *messageLine) read(item string, b []byte) error {
	n, err := l.m.Receive(b)
	if err == nil && n != len(b) {
		err = fmt.Errorf("a message of %d bytes came, want %d: the peer runs another test, or is not perftest",
			n, len(b))
	}
	if err != nil {
		return &exchange.ItemError{Item: item, Op: "receive", Err: err}
	}
	return nil
}

func (l *messageLine) keyLen() int                         { return BinaryKeyLen }
func (l *messageLine) appendKey(dst []byte, k *Key) []byte { return k.AppendBinary(dst) }
func (l *messageLine) decodeKey(k *Key, b []byte) error    { return k.DecodeBinary(b) }
func (l *messageLine) saysDone(time.Duration) bool         { return false }
