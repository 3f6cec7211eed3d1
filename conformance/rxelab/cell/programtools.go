package cell

import "slices"

// runDevice is the RDMA device that a program under gorxe run finds.
const runDevice = "rxe0"

// runPrefix is the start of the command line of gorxe's end under gorxe run; the program follows.
// It names the address of the end and not its interface, so the GID index is 0.
const runPrefix = "run --no-daemon -d {self} --"

// programTools returns the tools of Core, Verbs and CM with the unmodified program at both ends:
// gorxe's end runs it under gorxe run.
func programTools() []Tool {
	var out []Tool
	for _, t := range slices.Concat(coreTools, verbsTools, cmTools) {
		t.Program, t.Gorxe, t.UnderRun = t.program(), nil, true
		if t.Talk != nil {
			talk := *t.Talk
			talk.GorxeServer, talk.GorxeClient = serverOf(t.Name, &talk), talk.Client
			if talk.GorxeServer == "" {
				continue
			}
			t.Talk = &talk
		}
		if t.CM && t.Talk == nil {
			t.TooEarly = nobodyListens
		}
		t.Runs = programRuns(&t)
		t.Few = t.Talk == nil
		out = append(out, t)
	}
	return out
}

// nobodyListens is the message of perftest 25.01's client with -R when it is rejected with
// IB_CM_REJ_INVALID_SERVICE_ID. The server listens for the queue pairs only after its last
// message to the client on the previous connection, and the client tries once: if the server is
// slow, on any device, the client may be too early.
const nobodyListens = "RDMA_CM_EVENT_REJECTED; error: 8."

// programRuns returns the parameters of a tool. Only the path of requests to gorxe differs from
// the other groups, not the packets, so fewer runs suffice.
func programRuns(t *Tool) []Params {
	switch {
	case t.Runs == nil:
		return linkRuns[t.Kind]
	case len(t.Runs) > 2:
		return []Params{t.Runs[0], t.Runs[len(t.Runs)-1]}
	}
	return t.Runs
}

// serverOf returns the command line of gorxe's server for a tool, some of which the client must
// not reach. It is empty if the program cannot be that server.
func serverOf(name string, t *CMTool) string {
	switch name {
	case "rping, no listener", "rping, dead host":
		return t.GorxeServer
	case "ucmatose, no listener":
		return "ucmatose -b {local} -p {other}"
	case "udaddy, no listener": // udaddy has one fixed port, on which the client would reach it
		return ""
	case "udaddy, dead host":
		return "udaddy -b {local}"
	}
	return t.Server
}
