package pingpong

import (
	"bufio"
	"errors"
	"net"
	"os"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Answer performs the exchange of a server for ibv_srq_pingpong and the other pingpongs. A client
// that sends more within pause after its first address is ibv_srq_pingpong, which sends SRQRecords
// addresses; the others send one. connect gets the addresses of the peer's queue pairs, and returns
// the same number of addresses of this end. r reads from conn, whose deadline the caller sets;
// after the pause the read deadline is set to limit.
func Answer(conn net.Conn, r *bufio.Reader, pause time.Duration, limit time.Time,
	connect func(remote []Dest) (local []Dest, err error)) error {
	in := &reading{conn, r}
	remote, err := receiveAll(in, 1)
	if err != nil {
		return err
	}
	records := 1
	conn.SetReadDeadline(time.Now().Add(pause))
	_, err = r.Peek(1)
	conn.SetReadDeadline(limit)
	if err == nil {
		records = SRQRecords
		more, err := receiveAll(in, records-1)
		if err != nil {
			return err
		}
		remote = append(remote, more...)
	} else if !errors.Is(err, os.ErrDeadlineExceeded) {
		return &exchange.ItemError{Item: "remote address", Op: "receive", Err: exchange.ErrPeerClosed}
	}
	there := 0
	for there < len(remote) && remote[there].QPN != 0 {
		there++
	}
	local, err := connect(remote[:there])
	if err != nil {
		return err
	}
	if err := sendAll(conn, append(local, make([]Dest, records-len(local))...)); err != nil {
		return err
	}
	return exchange.ReadItem(in, "done", make([]byte, len(Done)))
}

// reading is a connection whose input r has buffered.
type reading struct {
	net.Conn
	r *bufio.Reader
}

func (c *reading) Read(b []byte) (int, error) { return c.r.Read(b) }
