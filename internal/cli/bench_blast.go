package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/internal/bench/blast"
)

// blast is the sender of datagrams if there is a host, else the receiver. Both print what arrived.
func (a *app) blast(ctx context.Context, host string, port uint16, segment int, length time.Duration) error {
	var r blast.Result
	if host == "" {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", ":"+strconv.Itoa(int(port)))
		if err != nil {
			return fmt.Errorf("listening on TCP port %d: %w", port, err)
		}
		defer l.Close()
		if r, err = blast.Receive(l); err != nil {
			return err
		}
	} else {
		conn, err := a.tcp.dial(ctx, host, port)
		if err != nil {
			return err
		}
		defer conn.Close()
		if r, err = blast.Send(conn, blast.Config{Segment: segment, Warm: time.Second, Time: length}); err != nil {
			return err
		}
	}
	return json.NewEncoder(a.stdout).Encode(r)
}
