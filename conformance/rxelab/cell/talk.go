package cell

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
)

// Talk is how the two ends of a tool of rdma_cm are started and what they say: such tools have flags of their own, and print no
// table. Everything is text with words in braces, see [Cell.words].
type Talk struct {
	Server, Client           string // command lines of the unmodified programs
	GorxeServer, GorxeClient string // gorxe's
	ServerSays, ClientSays   Says   // what the unmodified programs print
	Outcome                  Outcome
	Endless                  bool               // the unmodified server does not end by itself
	Daemon                   bool               // gorxe is the server only, and does not end by itself
	Lenient                  bool               // the unmodified client has exit status 0 whatever happens
	Packets                  func(p Params) int // how many a whole run has at least
}

// Says are regular expressions for all that a program prints; an empty one says nothing.
type Says struct{ Must, Never string }

// Outcome is how a run has to end.
type Outcome uint8

// The outcomes.
const (
	Connected   Outcome = iota // both ends do all that they are asked to
	Refused                    // the host is there, but nobody listens on the port
	Unreachable                // nobody is there
)

// refusals is what gorxe says of an outcome, and the exit status is not 0.
var refusals = map[Outcome]string{
	Refused:     `(?i)reject|refuse|no listener|nobody listens`,
	Unreachable: `(?i)unreachable|no answer|timed out|timeout`,
}

// unreachableTime is how long rdma_cm of Linux asks before it gives up: 16 times, 6.4 s each.
const unreachableTime = 110 * time.Second

// talk is how the cell's ends talk; nil for tools that print a table.
func (c Cell) talk() *Talk { return c.Workload.Tool.Talk }

// Outcome is how the cell has to end.
func (c Cell) Outcome() Outcome {
	if t := c.talk(); t != nil {
		return t.Outcome
	}
	return Connected
}

// words are what the words of the cell's command lines stand for: the end's own address, the one to connect to, the port and
// another one, and the parameters.
func (c Cell) words(local, remote string, port int) *strings.Replacer {
	p := c.Workload.Params
	return strings.NewReplacer("{local}", local, "{remote}", remote, "{port}", strconv.Itoa(port), "{other}", strconv.Itoa(port+1),
		"{size}", strconv.Itoa(p.Size), "{count}", strconv.Itoa(p.Iters), "{last}", strconv.Itoa(p.Iters-1),
		"{connections}", strconv.Itoa(max(1, p.Conns)))
}

// lines returns the command lines of the unmodified program and of gorxe. One is empty when that end does not take part: a client
// of gorxe's that is to find nobody.
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
		client := strings.NewReplacer("{device}", l.Rxe.Device, "{gid}", strconv.Itoa(l.Rxe.GID[c.Family]), "{tcp}", l.Gorxe.Addr[IPv4].String())
		gorxe = ours(t.GorxeServer, gorxeAddr, "")
		if t.Daemon && c.Family == IPv6 { // {tcp} is of IPv4
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

// Heard says what is wrong with the end of a program whose end is a Talk's; ended is false for a server that the lab had to end.
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
