package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"golang.org/x/sys/unix"
)

// Environment variables of the tests below: the number of kills, and the seed for the choice of
// process and time.
const (
	killsVariable = "GORXE_KILLS"
	seedVariable  = "GORXE_KILLS_SEED"
)

// fewKills is the number of kills without killsVariable: one for each kind of traffic.
const fewKills = 4

// variable returns the number in an environment variable, or another one if it is not set.
func variable(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// A traffic describes the messages that two programs exchange until one of them ends. In the
// command lines, ADDR is the server's address, PORT the port and SIZE the length of messages in
// bytes.
type traffic struct {
	name           string
	server, client string
	sizes          []int
	// perMessage is the number of PSNs that a message of up to 4096 bytes uses in one direction.
	perMessage int
	// says lists the possible messages of an end whose peer was killed. oneWay: the server sends
	// nothing and is not notified.
	says   []string
	oneWay bool
	cm     bool // the connection is established with rdma_cm
}

// IBV_WC_RETRY_EXC_ERR in the output of perftest, and IBV_WC_REM_OP_ERR in that of perftest and
// rping. The latter completes requests for the memory of a program that has ended while its queue
// pairs still exist.
const (
	retryExceeded        = "Failed status 12"
	remoteOperation      = "Failed status 11"
	remoteOperationRping = "completion failed status 11"
)

// perftest returns the traffic of a tool of perftest, with a local ACK timeout of 16.8 ms.
func perftest(name, line string, oneWay bool) traffic {
	line += " -F -x 0 -u 12 -s SIZE -p PORT"
	return traffic{
		name: name, server: line, client: line + " 127.0.0.1", sizes: []int{64, 4096, 65536, 1 << 20},
		perMessage: 1, says: []string{retryExceeded, remoteOperation}, oneWay: oneWay,
	}
}

var traffics = []traffic{
	perftest("WRITE", "ib_write_bw -b -D 3000", false),
	perftest("READ", "ib_read_bw -b -D 3000", false),
	perftest("SEND", "ib_send_bw -e -N -n 100000000", true), // -D does not work with events
	{
		name: "rping", server: "rping -s -a ADDR -p PORT -S SIZE", client: "rping -c -a ADDR -p PORT -S SIZE",
		sizes: []int{64, 4096, 65535}, perMessage: 2,
		says: []string{"DISCONNECT EVENT", remoteOperationRping}, cm: true,
	},
}

// finds returns the message of says in text; "" for none.
func (tr *traffic) finds(text string) string {
	for _, s := range tr.says {
		if strings.Contains(text, s) {
			return s
		}
	}
	return ""
}

// A victim is the kind of process to be killed.
type victim int

const (
	theProgram victim = iota
	theSupervisor
	theDaemon
)

var victims = [...]string{theProgram: "program", theSupervisor: "gorxe run", theDaemon: "daemon"}

func TestNothingIsLeftOfAProgramKilledUnderTraffic(t *testing.T)     { killUnderTraffic(t, theProgram) }
func TestNothingIsLeftOfAGorxeRunKilledUnderTraffic(t *testing.T)    { killUnderTraffic(t, theSupervisor) }
func TestADaemonKilledUnderTrafficLeavesNothingAtPeers(t *testing.T) { killUnderTraffic(t, theDaemon) }

func killUnderTraffic(t *testing.T, v victim) {
	needPrograms(t, "ib_write_bw", "ib_read_bw", "ib_send_bw", "rping")
	rounds := int(variable(t, killsVariable, fewKills))
	seed := variable(t, seedVariable, rand.Uint64())
	t.Logf("%d kills of the %s, %s=%d", rounds, victims[v], seedVariable, seed)
	k := newKilling(t, v, rand.New(rand.NewPCG(seed, uint64(v))))
	every := max(1, rounds/60)
	for i := range rounds {
		k.round(i)
		if t.Failed() {
			t.Fatalf("after %d kills", i+1)
		}
		if i%every == 0 {
			k.sample(i + 1)
		}
	}
	k.finish()
}

// A killing kills processes of one kind, one per round. Each round has two programs; the program
// that is killed, or whose gorxe run or daemon is killed, uses the first daemon.
type killing struct {
	*place
	victim  victim
	rnd     *rand.Rand
	daemons [2]*counted
	ends    []*end // of the round
	killed  map[string]int
	seen    map[string]int // number of ends of peers, by their message
	files   map[string]int // number of files in directories before the first round
}

func newKilling(t *testing.T, v victim, rnd *rand.Rand) *killing {
	t.Helper()
	k := &killing{place: newPlace(t), victim: v, rnd: rnd, killed: map[string]int{}, seen: map[string]int{}}
	adoptOrphans(t)
	k.files = k.names()
	for i := range k.daemons {
		k.daemons[i] = k.startCounted(i)
	}
	return k
}

// round lets two programs exchange messages, kills a process, and waits until both have been
// removed completely.
func (k *killing) round(i int) {
	k.t.Helper()
	tr := &traffics[i%len(traffics)]
	// Both programs may use one daemon, unless the daemon is to be killed.
	daemons := [2]*counted{k.daemons[0], k.daemons[1]}
	if k.victim != theDaemon && k.rnd.IntN(2) == 0 {
		daemons[1] = daemons[0]
	}
	isClient := k.rnd.IntN(2) == 1 // whether the client is killed
	size := tr.sizes[k.rnd.IntN(len(tr.sizes))]
	at := daemons[0]
	if isClient {
		at = daemons[1]
	}
	port := 23000 + i%1000
	words := strings.NewReplacer("ADDR", at.address, "PORT", strconv.Itoa(port), "SIZE", strconv.Itoa(size))
	server, client := words.Replace(tr.server), words.Replace(tr.client)

	var dies, peer *end
	if isClient {
		peer, dies = k.connect(tr, port, daemons[1], server, daemons[0], client)
	} else {
		dies, peer = k.connect(tr, port, daemons[0], server, daemons[1], client)
	}
	// The time of the kill is measured in packets.
	packets := tr.perMessage * (size + 4095) / 4096
	pid := dies.progress(packets + k.rnd.IntN(packets<<k.rnd.IntN(10)))
	k.kill(dies, pid)
	k.awaitPeer(tr, peer, isClient)
	k.killed[fmt.Sprintf("%s, %s", tr.name, map[bool]string{true: "client", false: "server"}[isClient])]++
	if k.victim == theDaemon {
		k.daemons[0] = k.startCounted(0)
	}
	k.ends = nil
	k.awaitNothing()
}

// connect starts both programs and returns them when their queue pairs are connected.
func (k *killing) connect(tr *traffic, port int, s *counted, server string, c *counted, client string) (*end, *end) {
	k.t.Helper()
	first := k.startEnd(s, server)
	if !tr.cm {
		until(k.t, server+" does not listen", func() bool {
			if first.over() {
				k.t.Fatalf("%s ended: %v\n%s", server, first.err, first.text())
			}
			return listens(k.t, port)
		})
	}
	second := k.startEnd(c, client)
	until(k.t, client+" does not connect", func() bool {
		switch {
		case first.over():
			k.t.Fatalf("%s ended: %v\n%s", server, first.err, first.text())
		case second.over() && tr.cm: // it ended before the server listened
			second = k.startEnd(c, client)
		case second.over():
			k.t.Fatalf("%s ended: %v\n%s", client, second.err, second.text())
		}
		return first.connected() && second.connected()
	})
	return first, second
}

// kill kills the program with a PID, its gorxe run, or its daemon, and waits until program and
// gorxe run have ended.
func (k *killing) kill(e *end, pid int) {
	k.t.Helper()
	switch k.victim {
	case theProgram:
		e.signal(pid, unix.SIGKILL)
	case theSupervisor:
		e.signal(e.Process.Pid, unix.SIGKILL)
	case theDaemon:
		_ = k.stop(k.daemons[0].daemon, unix.SIGKILL)
		const says = "gorxe: the daemon has ended"
		until(k.t, "gorxe run does not say that the daemon has ended", func() bool {
			return strings.Contains(e.text(), says) || e.over()
		})
		if text := e.text(); !strings.Contains(text, says) {
			k.t.Errorf("%s: gorxe run ended and did not say %q:\n%s", e.line, says, text)
		}
		if !e.over() {
			e.terminate() // a polling program waits for completions forever
		}
	}
	<-e.done
	status := e.ProcessState.Sys().(unixStatus)
	bySignal := status.Signaled() && status.Signal() == unix.SIGKILL
	if bySignal != (k.victim == theSupervisor) || e.err == nil ||
		k.victim == theProgram && status.ExitStatus() != 128+int(unix.SIGKILL) {
		k.t.Errorf("%s: gorxe run ended with %v\n%s", e.line, e.err, e.text())
	}
}

// awaitPeer waits for the end of the program whose peer was killed.
func (k *killing) awaitPeer(tr *traffic, peer *end, killedClient bool) {
	k.t.Helper()
	// A killed daemon sends no message of rdma_cm, and a server that only receives gets no error.
	told := !(tr.cm && k.victim == theDaemon || tr.oneWay && killedClient)
	if told {
		until(k.t, fmt.Sprintf("%s is not told that its peer was killed", peer.line), func() bool {
			return tr.finds(peer.text()) != "" || peer.over()
		})
		k.seen[tr.finds(peer.text())]++
	}
	if !told || tr.cm && !peer.over() {
		peer.terminate()
	}
	<-peer.done
	// When rping is notified of the end, its exit status varies.
	if text := peer.text(); peer.err == nil && !tr.cm || told && tr.finds(text) == "" {
		k.t.Errorf("%s ended with %v, want one of %q\n%s", peer.line, peer.err, tr.says, text)
	}
}

// awaitNothing waits until the daemons hold nothing of the programs, except connections in
// TIME-WAIT, and no process of the round remains.
func (k *killing) awaitNothing() {
	k.t.Helper()
	for _, d := range k.daemons {
		d.awaitIdle(k.t, false)
	}
	until(k.t, "a process of the round is left", func() bool {
		reapOrphans(k.pids())
		return len(k.strays()) == 0
	})
}

// progress waits until the peer has acknowledged a number of packets of the program, or has sent
// that many, and returns the PID of the program.
func (e *end) progress(packets int) int {
	e.t.Helper()
	var pid int
	var first *control.QP
	until(e.t, fmt.Sprintf("%s does not exchange %d packets", e.line, packets), func() bool {
		n, q, ok := e.find()
		if !ok {
			if e.over() {
				e.t.Fatalf("%s ended: %v\n%s", e.line, e.err, e.text())
			}
			return false
		}
		if first == nil || first.State != q.State { // the first PSN to be sent is valid from RTS on
			first = &q
		}
		pid = n
		const mask = 1<<24 - 1
		return max((q.AckPSN-first.AckPSN)&mask, (q.RecvPSN-first.RecvPSN)&mask) >= uint32(packets)
	})
	return pid
}

// connected reports whether the program has a connected queue pair.
func (e *end) connected() bool {
	_, _, ok := e.find()
	return ok
}

// find returns the program's PID and its queue pair in RTS, or in RTR, where a server of perftest
// that only receives stays.
func (e *end) find() (pid int, q control.QP, ok bool) {
	var all qps
	if err := control.NewClient(e.daemon.control, nil).Get(context.Background(), "/v1/qps", nil, &all); err != nil {
		e.t.Fatal(err)
	}
	mine := all.ofPrograms()
	i := slices.IndexFunc(mine, func(q control.QP) bool {
		text, _, _ := strings.Cut(q.Program, " ")
		pid, _ = strconv.Atoi(text)
		return (q.State == "RTS" || q.State == "RTR") && descends(pid, e.Process.Pid)
	})
	if i < 0 {
		return 0, q, false
	}
	return pid, mine[i], true
}
