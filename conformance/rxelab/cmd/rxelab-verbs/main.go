// Command rxelab-verbs is gorxe's end of the operations of package verbspeer; the other end is
// verbs_peer.py. The lab runs both.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/verbspeer"
	"github.com/gorxe/gorxe/verbs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rxelab-verbs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("rxelab-verbs", flag.ContinueOnError)
	device := fs.String("d", "", "network `interface` or local address")
	gid := fs.Int("g", 0, "GID `index`")
	port := fs.Int("p", 18515, "TCP `port`")
	rounds := fs.Int("n", 1, "`number` of rounds")
	size := fs.Int("s", 4096, "`bytes` to write in a round")
	mtu := fs.Int("m", 1024, "path MTU in `bytes`")
	op := fs.String("op", "", "`operation`, an entry of ops.json")
	refused := fs.Bool("refused", false, "end each round with what the server must refuse")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dev, err := verbs.Open(verbs.Config{Device: *device})
	if err != nil {
		return err
	}
	defer dev.Close()
	g, err := dev.GID(*gid)
	if err != nil {
		return err
	}
	c := &verbspeer.Config{Device: dev, GID: g, MTU: verbs.MTU(*mtu), Op: *op, Refused: *refused, Size: *size,
		Rounds: *rounds}
	done := *rounds
	if fs.NArg() > 0 {
		err = client(ctx, c, net.JoinHostPort(fs.Arg(0), strconv.Itoa(*port)))
	} else {
		done, err = server(ctx, c, *port)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d rounds of %d bytes as they should be\n", *op, done, *size)
	time.Sleep(linger)
	return nil
}

// linger keeps the device open for a peer that missed the last acknowledgement.
const linger = 500 * time.Millisecond

func client(ctx context.Context, c *verbspeer.Config, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	return c.Run(ctx, conn)
}

func server(ctx context.Context, c *verbspeer.Config, port int) (int, error) {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	conn, err := l.Accept()
	l.Close()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	return c.Serve(ctx, conn)
}
