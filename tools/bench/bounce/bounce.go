// Package bounce measures the latency that a device in another process than its program can reach
// on a machine: two ends exchange the messages of ib_send_lat under gorxe run, without an RDMA
// transport. An end is two processes, as under gorxe run: the device owns the socket, the program
// receives each message from the device and rings a doorbell for the next one. [Ways] returns the
// variants of what the two processes do for a message. In [SendWays] an end is one process, like
// gorxe perf: the limit of a RoCE end in user space.
//
// The loops make only raw system calls, which the Go runtime does not notice: for others it wakes
// its monitor thread, which would take time from both processes.
package bounce

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/internal/histogram"
)

// Way is what the device and the program of an end do for a message.
type Way string

// The ways.
const (
	// Datagrams has no program: the device answers.
	Datagrams Way = "datagrams"
	// Process: the device writes the message to a pipe that the program reads, and the program
	// writes a doorbell to a file that the device watches with inotify.
	Process Way = "process"
	// Trap is Process with one system call of the program per message that a seccomp filter
	// passes to the device.
	Trap Way = "trap"
	// Events does what ib_send_lat -e does: each message is acknowledged by a datagram, and the
	// program blocks for two completions, of its message and of the peer's, and makes a trapped
	// system call after each.
	Events Way = "events"
	// Polling has no pipe: the program polls memory that it shares with the device until the
	// message is there.
	Polling Way = "polling"

	// Sends has no program: the device answers SENDs, packets with BTH and ICRC, and waits for
	// them in the kernel. The acknowledgement of a message is sent with the answer.
	Sends Way = "sends"
	// SendsPolling is Sends with a device that polls for packets.
	SendsPolling Way = "sends-polling"
)

// Ways returns the ways whose messages are not packets, the one with the fewest steps first.
func Ways() []Way { return []Way{Datagrams, Process, Trap, Events, Polling} }

// SendWays returns the ways that exchange SENDs.
func SendWays() []Way { return []Way{Sends, SendsPolling} }

func allWays() []Way { return append(Ways(), SendWays()...) }

// check returns an error for an unknown way.
func (w Way) check() error {
	if slices.Contains(allWays(), w) {
		return nil
	}
	var names []string
	for _, w := range allWays() {
		names = append(names, string(w))
	}
	return fmt.Errorf("way %q: choose one of %s", string(w), strings.Join(names, ", "))
}

// traps reports whether the program makes system calls that the device answers.
func (w Way) traps() bool { return w == Trap || w == Events }

// sends reports whether messages are packets.
func (w Way) sends() bool { return w == Sends || w == SendsPolling }

// acks reports whether messages are acknowledged.
func (w Way) acks() bool { return w == Events || w.sends() }

// alone reports whether an end has no program.
func (w Way) alone() bool { return w == Datagrams || w.sends() }

// Config configures a measurement by a client.
type Config struct {
	Way      Way
	Messages int // messages that are measured, 1 to MaxMessages
	Warm     int // messages before those, 0 to MaxMessages
}

// MaxMessages is the maximum number of messages of a measurement.
const MaxMessages = 100_000_000

func (c Config) check() error {
	switch {
	case c.Messages < 1 || c.Messages > MaxMessages:
		return fmt.Errorf("%d messages: choose 1 to %d", c.Messages, MaxMessages)
	case c.Warm < 0 || c.Warm > MaxMessages:
		return fmt.Errorf("%d messages for warm-up: choose 0 to %d", c.Warm, MaxMessages)
	}
	return c.Way.check()
}

// Result is the result of a client: half the time between two successive messages that it sends.
type Result struct {
	Way       Way                `json:"way"`
	Messages  int                `json:"messages"`
	Average   float64            `json:"average_us"` // µs
	Histogram []histogram.Bucket `json:"histogram"`  // µs
	Resent    uint64             `json:"resent"`     // by the client, including warm-up
}

// result returns the Result for the times, in ns, at which messages were sent; the last one is
// the time at which one more would have been sent.
func (c Config) result(sent []int64, resent uint64) Result {
	times := histogram.New()
	counted := sent[c.Warm:]
	for i, at := range counted[1:] {
		times.Add(half(at-counted[i]), 1)
	}
	all := half(counted[len(counted)-1] - counted[0])
	return Result{
		Way: c.Way, Messages: c.Messages, Average: all / float64(c.Messages), Histogram: times.Bars(), Resent: resent,
	}
}

// half returns half of ns, in µs.
func half(ns int64) float64 { return float64(ns) / 2 / float64(time.Microsecond) }

// Time limits of an end.
const (
	recvTimeout = 200 * time.Millisecond // without a datagram: the client retransmits its message
	limit       = 10 * time.Second       // without progress: the measurement has failed
)

// Messages that the ends exchange over TCP, as lines of JSON.
type (
	// hello is the server's first line: its UDP port.
	hello struct {
		Port int `json:"port"`
	}
	// plan is the client's first line.
	plan struct {
		Way  Way `json:"way"`
		Port int `json:"port"` // UDP
	}
	// report is a later line of an end: the server is ready, the client is done, or either has
	// failed.
	report struct {
		Error string `json:"error,omitempty"`
	}
)

// err returns the peer's failure, or the reason for which there is no report.
func (r report) err(peer string, reading error) error {
	switch {
	case reading != nil:
		return fmt.Errorf("the %s has ended: %w", peer, reading)
	case r.Error != "":
		return fmt.Errorf("the %s: %s", peer, r.Error)
	}
	return nil
}

// reportOf returns the report of an error.
func reportOf(err error) report {
	if err == nil {
		return report{}
	}
	return report{cmp.Or(err.Error(), "it failed")}
}

var (
	errPeer    = errors.New("the peer has something to say or has ended")
	errProgram = errors.New("the program has ended")
)
