package cell

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
)

// CMTool describes how the two ends of a tool of rdma_cm are started and what they print: such
// tools have different flags and print no table. The texts contain placeholders in braces, see
// [Cell.words].
type CMTool struct {
	Server, Client           string // command lines of the unmodified programs
	GorxeServer, GorxeClient string // gorxe's command lines
	ServerSays, ClientSays   Says   // expected output of the unmodified programs
	Outcome                  Outcome
	Endless                  bool // the unmodified server does not end by itself
	Daemon                   bool // gorxe is only the server, and does not end by itself
	Lenient                  bool // the exit status of the unmodified client is always 0
	// Packets returns the minimum number of packets of a whole run.
	Packets func(p Params) int
}

// Says holds regular expressions that the output of a program must match, or must not match; "":
// no condition.
type Says struct{ Must, Never string }

// Outcome is the expected end of a run.
type Outcome uint8

// The outcomes.
const (
	Connected   Outcome = iota // both ends complete the run
	Refused                    // the host exists, but no program listens on the port
	Unreachable                // the host does not exist
)

// refusals matches gorxe's output for an outcome with an exit status other than 0.
var refusals = map[Outcome]string{
	Refused:     `(?i)reject|refuse|no listener|no server listens`,
	Unreachable: `(?i)unreachable|no answer|timed out|timeout`,
}

// unreachableTime exceeds the time for which rdma_cm of Linux tries to connect: 16 times, 6.4 s
// each.
const unreachableTime = 110 * time.Second

// talk returns the Talk of the cell's tool, nil for tools that print a table.
func (c Cell) talk() *CMTool { return c.Workload.Tool.Talk }

// Outcome returns the expected end of the cell.
func (c Cell) Outcome() Outcome {
	if t := c.talk(); t != nil {
		return t.Outcome
	}
	return Connected
}

// words replaces the placeholders of the cell's command lines: the local and the remote address,
// the port, another port, and the parameters.
func (c Cell) words(local, remote string, port int) *strings.Replacer {
	p := c.Workload.Params
	return strings.NewReplacer("{local}", local, "{remote}", remote, "{port}", strconv.Itoa(port),
		"{other}", strconv.Itoa(port+1), "{size}", strconv.Itoa(p.Size), "{count}", strconv.Itoa(p.Iters),
		"{last}", strconv.Itoa(p.Iters-1), "{connections}", strconv.Itoa(max(1, p.Conns)))
}

// lines returns the command lines of the unmodified program and of gorxe. An absent end has none
// (nil): the server that a client of gorxe must not reach.
func (c Cell) lines(l *Link, port int) (stock, gorxe []string) {
	t := c.talk()
	fill := func(text, local, remote string) []string {
		return strings.Fields(c.words(local, remote, port).Replace(text))
	}
	ours := func(text, local, remote string) []string {
		if c.Workload.Tool.UnderRun {
			text = strings.ReplaceAll(runPrefix, "{self}", "{local}") + " " + text
		}
		return append([]string{GorxePath}, fill(text, local, remote)...)
	}
	rxeAddr, gorxeAddr := l.Rxe.Addr[c.Family].String(), l.Gorxe.Addr[c.Family].String()
	if c.Role == Server {
		client := strings.NewReplacer("{device}", l.Rxe.Device, "{gid}", strconv.Itoa(l.Rxe.GID[c.Family]), "{tcp}",
			l.Gorxe.Addr[IPv4].String())
		gorxe = ours(t.GorxeServer, gorxeAddr, "")
		if t.Daemon && c.Family == IPv6 { // {tcp} is an IPv4 address
			gorxe = append(gorxe, "--foreign-gids", rxeAddr)
		}
		return fill(client.Replace(t.Client), rxeAddr, gorxeAddr), gorxe
	}
	remote := rxeAddr
	if t.Outcome == Unreachable {
		remote = l.Dead[c.Family].String()
	}
	gorxe = ours(t.GorxeClient, gorxeAddr, remote)
	if t.Outcome != Connected {
		return nil, gorxe
	}
	return fill(t.Server, rxeAddr, ""), gorxe
}

// Heard returns an error unless the exit status and the output of an end match the tool's CMTool.
// ended is false for a server that the lab had to end.
func (c Cell) Heard(code int, how, log string, client, ended bool) error {
	t := c.talk()
	gorxe := client == (c.Role == Client) && !c.Workload.Tool.UnderRun
	says := t.ServerSays
	if client {
		says = t.ClientSays
	}
	fails := client && t.Outcome != Connected
	if gorxe {
		says = Says{}
		if fails {
			says.Must = refusals[t.Outcome]
		}
	}
	switch {
	case !ended:
	case fails && code == 0 && (gorxe || !t.Lenient):
		return fmt.Errorf("it reports success: %s", transcript.LastLines(log))
	case !fails && code != 0:
		return fmt.Errorf("%s: %s", how, transcript.LastLines(log))
	}
	words := c.words("", "", 0)
	if says.Must != "" && !regexp.MustCompile(words.Replace(says.Must)).MatchString(log) {
		return fmt.Errorf("it does not say %q (%s): %s", words.Replace(says.Must), how, transcript.LastLines(log))
	}
	if says.Never != "" {
		if m := regexp.MustCompile(says.Never).FindString(log); m != "" {
			return fmt.Errorf("it says %q: %s", m, transcript.LastLines(log))
		}
	}
	return nil
}
