package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/tools/bench/blast"
)

// blastName is the command that sends bare UDP, or receives it if no host is given.
const blastName = "blast"

// runBlast sends datagrams to the given host as fast as the kernel accepts them, or receives
// them. Both ends print what arrived as JSON.
func runBlast(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg := blast.Config{Warm: time.Second}
	fs := flag.NewFlagSet(blastName, flag.ContinueOnError)
	fs.SetOutput(stderr)
	port := fs.Uint("p", 18516, "TCP `port` on which the ends meet")
	fs.IntVar(&cfg.Segment, "segment", 4112, "`bytes` of a datagram")
	fs.IntVar(&cfg.Lead, "lead", 0, "`bytes` of a datagram by itself before each train, 0 for none")
	fs.BoolVar(&cfg.ICRC, "icrc", false,
		"datagrams are packets of a RoCE end: gathered from pieces, with an ICRC that is checked, copied and acknowledged")
	fs.BoolVar(&cfg.Copied, "copied", false, "the sender copies each payload first, as the responder of a READ does")
	fs.IntVar(&cfg.Regions, "regions", 1, "`number` of regions of 64 KiB that packets go through at both ends")
	fs.BoolVar(&cfg.AsLink, "as-link", false, "the sender uses its socket as gorxe's udp link does")
	fs.BoolVar(&cfg.Requests, "requests", false,
		"the receiver sends a READ request for each two packets instead of acknowledgements")
	fs.BoolVar(&cfg.Reliable, "reliable", false,
		"the sender repairs losses, one gap per round trip, and both ends poll")
	fs.Float64Var(&cfg.Lose, "lose", 0,
		"`part` of the packets and acknowledgements that each end loses, 0 to less than 1; implies -reliable")
	fs.DurationVar(&cfg.Time, "time", 2*time.Second, "`duration` of the measurement, which begins after one second")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var r blast.Result
	var err error
	switch fs.NArg() {
	case 0:
		r, err = receive(ctx, ":"+strconv.FormatUint(uint64(*port), 10))
	case 1:
		r, err = send(ctx, net.JoinHostPort(fs.Arg(0), strconv.FormatUint(uint64(*port), 10)), cfg)
	default:
		err = errors.New("blast: name one host, behind the flags")
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(r)
}

func receive(ctx context.Context, addr string) (blast.Result, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return blast.Result{}, fmt.Errorf("listening on TCP port %s: %w", addr, err)
	}
	defer l.Close()
	return blast.Receive(l)
}

func send(ctx context.Context, addr string, cfg blast.Config) (blast.Result, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return blast.Result{}, err
	}
	defer conn.Close()
	return blast.Send(conn, cfg)
}
