package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/leaks"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
)

// Report is the result of a soak test.
type Report struct {
	Started  time.Time
	Duration time.Duration
	Kernel   report.KernelVersion
	Host     string
	Versions []host.Version
	Seed     uint64

	Clients    map[string]*Visits // by tool and parameters
	Known      map[string]int     // clients that failed for known reasons outside gorxe, by reason
	Packets    int                // number of captured packets, including Bad
	Bad        int
	Missed     int              // frames that the kernel dropped because tcpdump was too slow
	Samples    [][]leaks.Sample // of each daemon, one for each pause
	Counters   []leaks.Gauges   // of each daemon, at the end
	Complaints []string         // complaints of the kernel
	Wrong      []string         // the first failures
	WrongMore  int
}

// Visits counts the clients of one kind.
type Visits struct {
	Done, Killed, Failed int
	Compared             uint64 // bytes verified by the clients
	Sent                 uint64 // bytes that the daemons must have verified
}

// Counters of the daemon for the bytes of perftest's clients.
const (
	checkedBytes = "gorxe_responder_checked_bytes_total"
	wrongPayload = "gorxe_responder_ended_total{wrong_payload}"
)

// cycleBuffer is the size in bytes of the memory to which perftest writes cyclically if messages
// are shorter. The daemon verifies it once.
const cycleBuffer = 4096

// maxWrong bounds the list of failures.
const maxWrong = 50

func (r *Report) wrong(text string) {
	if len(r.Wrong) == maxWrong {
		r.WrongMore++
		return
	}
	r.Wrong = append(r.Wrong, text)
}

// visited counts a client. why is a known reason for its failure outside gorxe.
func (r *Report) visited(w cell.Workload, killed bool, err error, why string) {
	name := w.Tool.Name + " " + w.Params.String()
	v := r.Clients[name]
	if v == nil {
		v = &Visits{}
		r.Clients[name] = v
	}
	switch {
	case killed:
		v.Killed++
	case err != nil:
		v.Failed++
		if why != "" {
			r.Known[why]++
		}
	default:
		v.Done++
		size, all := uint64(w.Params.Size), uint64(w.Params.Size*w.Params.Iters)
		switch tool, _, _ := strings.Cut(w.Tool.Name, " "); tool {
		case "rping":
			v.Compared += all
		case "ib_send_bw", "ib_send_lat":
			v.Sent += all
		case "ib_write_bw":
			v.Sent += max(size, cycleBuffer)
		}
	}
}

func (r *Report) total() (all Visits) {
	for _, v := range r.Clients {
		all.Done += v.Done
		all.Killed += v.Killed
		all.Failed += v.Failed
		all.Compared += v.Compared
		all.Sent += v.Sent
	}
	return all
}

func (r *Report) failures() int { return r.total().Failed }

// capture adds the result of a capture.
func (r *Report) capture(sum *icrc.Summary, missed int) {
	r.Packets += sum.Packets
	r.Bad += sum.Bad
	r.Missed += missed
	for _, f := range sum.Faults {
		r.wrong("on the wire: " + f)
	}
}

// sample stores the resource use of a daemon in a pause, and returns a description.
func (r *Report) sample(index int, g leaks.Gauges) string {
	for len(r.Samples) <= index {
		r.Samples, r.Counters = append(r.Samples, nil), append(r.Counters, nil)
	}
	s := g.Sample()
	r.Samples[index], r.Counters[index] = append(r.Samples[index], s), g
	all := r.total()
	return fmt.Sprintf(
		"%5v lane %d: resident %.1f MiB, heap %.1f MiB, %.0f goroutines; clients so far: %d done, %d killed, %d failed",
		time.Since(r.Started).Round(time.Second), index, s.Resident/(1<<20), s.Heap/(1<<20), s.Goroutines, all.Done,
		all.Killed, all.Failed)
}

// Verdict returns all failures.
func (r *Report) Verdict() []string {
	wrong := slices.Clone(r.Wrong)
	if r.WrongMore > 0 {
		wrong = append(wrong, fmt.Sprintf("and %d more", r.WrongMore))
	}
	for i, s := range r.Samples {
		if err := leaks.Rising(s); err != nil {
			wrong = append(wrong, fmt.Sprintf("lane %d: %v", i, err))
		}
	}
	for i, g := range r.Counters {
		if n := g[wrongPayload]; n > 0 {
			wrong = append(wrong, fmt.Sprintf(
				"lane %d: %v perftest clients left bytes that are not those they sent", i, n))
		}
	}
	for _, c := range r.Complaints {
		wrong = append(wrong, "the kernel complained: "+c)
	}
	all := r.total()
	if all.Done == 0 || all.Compared == 0 || r.checked() == 0 || r.Packets == 0 {
		wrong = append(wrong, "nothing was done, compared or captured of some kind")
	}
	if got := r.checked(); got < float64(all.Sent) {
		wrong = append(wrong, fmt.Sprintf("the daemons compared %.0f bytes of perftest, its clients sent %d",
			got, all.Sent))
	}
	if known := len(r.Known); known > 0 && all.Failed*20 > all.Done {
		wrong = append(wrong, fmt.Sprintf("%d of %d clients failed for reasons of their own: too many to believe it",
			all.Failed, all.Done+all.Failed))
	}
	return wrong
}

// checked returns the number of perftest's bytes that the daemons have verified.
func (r *Report) checked() (n float64) {
	for _, g := range r.Counters {
		n += g[checkedBytes]
	}
	return n
}

// Text writes the report as text.
func (r *Report) Text(w io.Writer) error {
	e := &report.Writer{W: w}
	all := r.total()
	e.Printf("\nLinux %s, %v, seed %d\n", r.Kernel.Release, r.Duration.Round(time.Second), r.Seed)
	e.Printf("%-28s %7s %7s %7s\n", "client", "done", "killed", "failed")
	for _, name := range slices.Sorted(maps.Keys(r.Clients)) {
		v := r.Clients[name]
		e.Printf("%-28s %7d %7d %7d\n", name, v.Done, v.Killed, v.Failed)
	}
	e.Printf("%-28s %7d %7d %7d\n", "all", all.Done, all.Killed, all.Failed)
	for _, why := range slices.Sorted(maps.Keys(r.Known)) {
		e.Printf("failed, and gorxe had no part in it: %d, %s\n", r.Known[why], why)
	}
	e.Printf("bytes compared by rping, there and back: %d; of perftest by the daemons: %.0f (at least %d)\n",
		all.Compared, r.checked(), all.Sent)
	e.Printf("packets captured: %d, with a wrong ICRC: %d; tcpdump was too slow for %d\n", r.Packets, r.Bad, r.Missed)
	for i, samples := range r.Samples {
		var mib []string
		for _, s := range samples {
			mib = append(mib, fmt.Sprintf("%.1f", s.Resident/(1<<20)))
		}
		e.Printf("daemon %d with no client: resident MiB %s\n", i, strings.Join(mib, " "))
	}
	for _, text := range r.Verdict() {
		e.Printf("WRONG: %s\n", text)
	}
	return e.Err
}

// Save writes the report as JSON.
func (r *Report) Save(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}
