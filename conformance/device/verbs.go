package device

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
)

// script is a client of the tester over pyverbs, for operations that perftest does not have. It
// exits with notFound if the device or pyverbs lacks the operation.
//
//go:embed verbs.py
var script string

// operations are the first arguments of the script.
var operations = map[conformance.Program]string{
	conformance.AtomicWriteClient: "atomic-write",
	conformance.FlushClient:       "flush",
}

// Python is the interpreter for which Debian installs pyverbs.
const Python = "/usr/bin/python3"

// quoted returns an argument of a shell command that a shell turns into a Python program that
// executes code. It may pass a second shell, as ssh starts it, which removes the inner quotes: with
// them, the program is a format string with the call, and without them, an expression. It must
// contain no other quotes and nothing that a shell replaces between double quotes.
func quoted(code string) string {
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint([]byte(code)), " ", ","), "[]")
	return fmt.Sprintf(`"f'rozenset and {exec(bytes([%s]))}'"`, numbers)
}

// openVerbs starts a client over pyverbs and connects its queue pair.
func (s *Stock) openVerbs(ctx context.Context, program conformance.Program,
	local conformance.Local) (conformance.Peer, error) {
	p, conn, err := s.startClient(ctx, program, local.Addr, func(at netip.AddrPort) string {
		return fmt.Sprintf("%s -c %s %s %v %d %s %d %d", Python, quoted(script), operations[program], at.Addr(),
			at.Port(), cmp.Or(s.Name, "-"), max(s.GIDIndex, 0), local.AckTimeout)
	})
	if err != nil {
		return nil, err
	}
	stop := s.handshake(ctx, conn)
	defer stop()
	c := &verbsClient{connected{process: p, conn: conn, target: conformance.Target{Addr: s.Addr, MTU: perftestMTU}},
		s.startTime()}
	if err := c.connect(local); err != nil {
		return nil, p.failed(conn, err)
	}
	return c, nil
}

// verbsClient is a client over pyverbs.
type verbsClient struct {
	connected
	limit time.Duration // of Go
}

// maxHello is the maximum length of a line of the handshake in bytes.
const maxHello = 256

// connect exchanges the queue pairs.
func (c *verbsClient) connect(local conformance.Local) error {
	r := bufio.NewReaderSize(c.conn, maxHello)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	var qpn, psn uint32
	if _, err := fmt.Sscanf(string(line), "%d %d\n", &qpn, &psn); err != nil || qpn > 0xffffff || psn > 0xffffff {
		return fmt.Errorf("a queue pair was expected, %q came", line)
	}
	c.target.QPN, c.target.PSN = bth.QPN(qpn), bth.PSN(psn)
	g := gid(local.Addr)
	var groups []string
	for i := 0; i < len(g); i += 2 {
		groups = append(groups, fmt.Sprintf("%02x%02x", g[i], g[i+1]))
	}
	_, err = fmt.Fprintf(c.conn, "%d %d %d %d %s\n", local.QPN, local.PSN, local.RKey, local.VA,
		strings.Join(groups, ":"))
	if err != nil {
		return err
	}
	if line, err = r.ReadSlice('\n'); err != nil {
		return err
	}
	if string(line) != "ready\n" {
		return errors.New("the client is not ready")
	}
	return nil
}

// Go lets the client post its request.
func (c *verbsClient) Go() error {
	c.conn.SetDeadline(time.Now().Add(c.limit))
	_, err := fmt.Fprintln(c.conn, "go")
	return err
}
