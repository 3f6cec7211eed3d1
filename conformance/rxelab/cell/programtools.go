package cell

import "slices"

// runDevice is the RDMA device that a program under gorxe run finds.
const runDevice = "rxe0"

// runPrefix is how gorxe's end of a tool that is under gorxe run begins; the program follows. With the address that
// the lane's end has, and not its interface, the GID index is 0.
const runPrefix = "run --no-daemon -d {self} --"

// programTools are the tools of the other groups about rxe with the unmodified program at both ends: gorxe's is under
// gorxe run.
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

// nobodyListens is what the client of perftest 25.01 with -R prints when it is rejected with
// IB_CM_REJ_INVALID_SERVICE_ID. The server listens for the queue pairs only after its last message to the client on the
// connection before, and the client asks once: where the server is slow, whatever its device, the client may come too
// early.
const nobodyListens = "RDMA_CM_EVENT_REJECTED; error: 8."

// programRuns are what a tool is run with. That differs from the other groups in how requests come to gorxe, not in
// what it sends: so there are fewer.
func programRuns(t *Tool) []Params {
	switch {
	case t.Runs == nil:
		return linkRuns[t.Kind]
	case len(t.Runs) > 2:
		return []Params{t.Runs[0], t.Runs[len(t.Runs)-1]}
	}
	return t.Runs
}

// serverOf is the server of a tool as gorxe's end, which is to find nobody in some; empty where the program cannot be
// that.
func serverOf(name string, t *Talk) string {
	switch name {
	case "rping, no listener", "rping, dead host":
		return t.GorxeServer
	case "ucmatose, no listener":
		return "ucmatose -b {local} -p {other}"
	case "udaddy, no listener": // it has one port, on which it would be found
		return ""
	case "udaddy, dead host":
		return "udaddy -b {local}"
	}
	return t.Server
}
