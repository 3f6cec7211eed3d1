package benchcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/tools/bench/blast"
)

// blastCommand is the bare UDP sender and receiver that a run starts at both ends.
func blastCommand(a *app.App) *cobra.Command {
	var port uint16
	cfg := blast.Config{Warm: time.Second}
	c := &cobra.Command{
		Use: "blast [host]", Hidden: true, Args: app.OptionalHost,
		Short: "Send UDP datagrams as fast as the kernel takes them, and count what arrives",
		RunE: func(c *cobra.Command, args []string) error {
			return runBlast(c.Context(), a, app.HostArg(args), port, cfg)
		},
	}
	c.Flags().Uint16VarP(&port, "port", "p", 18516, "TCP `port` on which the ends meet")
	c.Flags().IntVar(&cfg.Segment, "segment", 4112, "`bytes` of a datagram")
	c.Flags().IntVar(&cfg.Lead, "lead", 0, "`bytes` of a datagram by itself before each train, 0 for none")
	c.Flags().DurationVar(&cfg.Time, "time", 2*time.Second, "`time` that counts, after a second that does not")
	return c
}

// runBlast is the sender of datagrams if there is a host, else the receiver. Both print what arrived.
func runBlast(ctx context.Context, a *app.App, host string, port uint16, cfg blast.Config) error {
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
		conn, err := a.TCP.Dial(ctx, host, port)
		if err != nil {
			return err
		}
		defer conn.Close()
		if r, err = blast.Send(conn, cfg); err != nil {
			return err
		}
	}
	return json.NewEncoder(a.Stdout).Encode(r)
}
