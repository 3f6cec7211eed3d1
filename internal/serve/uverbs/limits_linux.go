package uverbs

import (
	"github.com/gorxe/gorxe/internal/host/ringfile"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// A resource is a resource of this process or its device that is limited per program.
type resource int

// Resources.
const (
	contexts resource = iota
	eventFiles
	ringBytes
	numPDs
	numCQs
	numSRQs
	numQPs
	numMRs
	numMWs
	numAHs

	numResources
)

// Limits of one program, which is a process. They exceed by far what programs use, and are far
// below the limits of the device. An MPI rank has one context, one event file for each of a few
// completion queues, and one or two queue pairs for each other rank.
const (
	// Each context has up to five descriptors of this process: its file twice, the events, and
	// the program's memory. Programs have one context per device and library.
	programContexts = 1 << 9
	// Each event file has one descriptor of this process, and one of the program, which is usually
	// limited to 1024 descriptors.
	programEventFiles = 1 << 10
	// The rings of 16,384 queue pairs with 256 requests of 512 bytes in each queue. The kernel
	// limits only memory.
	programRingBytes = 4 << 30
	programPDs       = 1 << 10
	programCQs       = 1 << 14
	programSRQs      = 1 << 10
	programQPs       = 1 << 14
	programMRs       = 1 << 16
	programMWs       = 1 << 14
	programAHs       = 1 << 16
)

// contextLimits are the same limits for one [verbs.Context]; programs see them as attributes of the
// device.
var contextLimits = verbs.ContextLimits{
	MaxPD: programPDs, MaxCQ: programCQs, MaxSRQ: programSRQs, MaxQP: programQPs, MaxMR: programMRs, MaxMW: programMWs,
}

// Parts of the total that the programs of one user may have, so that something is left for other
// users.
const (
	userDevice = 1.0 / 2 // of the device's objects
	// userRings is the part of the file system of the rings, which also holds other programs'
	// memory.
	userRings = 3.0 / 4
	// userContexts and userEventFiles are parts of the limit of descriptors of this process
	// (RLIMIT_NOFILE). The number of contexts is also limited by maxContexts.
	userContexts   = 1.0 / 16
	userEventFiles = 1.0 / 4
	unlimited      = 1 << 62

	// A context may block two threads of this process, which is limited to 10,000 threads
	// (runtime/debug.SetMaxThreads).
	maxContexts = 1 << 10
)

// resourceInfo holds the names of the resources, and the errors at the limits of a program and of a
// user.
var resourceInfo = [numResources]struct {
	name          string
	program, user uapi.Errno
}{
	contexts:   {"contexts", uapi.EMFILE, uapi.ENFILE},
	eventFiles: {"event files", uapi.EMFILE, uapi.ENFILE},
	ringBytes:  {"bytes of rings", uapi.ENOMEM, uapi.ENOMEM},
	numPDs:     {"protection domains", uapi.ENOMEM, uapi.ENOMEM},
	numCQs:     {"completion queues", uapi.ENOMEM, uapi.ENOMEM},
	numSRQs:    {"shared receive queues", uapi.ENOMEM, uapi.ENOMEM},
	numQPs:     {"queue pairs", uapi.ENOMEM, uapi.ENOMEM},
	numMRs:     {"memory regions", uapi.ENOMEM, uapi.ENOMEM},
	numMWs:     {"memory windows", uapi.ENOMEM, uapi.ENOMEM},
	numAHs:     {"address handles", uapi.ENOMEM, uapi.ENOMEM},
}

// amounts holds a number per resource.
type amounts [numResources]int64

// programLimits are the limits of one program.
var programLimits = amounts{
	contexts: programContexts, eventFiles: programEventFiles, ringBytes: programRingBytes, numPDs: programPDs,
	numCQs: programCQs, numSRQs: programSRQs, numQPs: programQPs, numMRs: programMRs, numMWs: programMWs,
	numAHs: programAHs,
}

// userLimits returns the limits of all programs of one user; known is false if all programs belong
// to one user. f is a file on the file system of the rings.
func (s *Server) userLimits(known bool, f *ringfile.File) amounts {
	l := amounts{}
	for r := range l {
		l[r] = unlimited
	}
	part := func(of float64, all uint64) int64 { return max(1, int64(of*float64(min(all, unlimited)))) }
	if known {
		a := s.dev.Attr()
		for r, all := range map[resource]int{
			numPDs: a.MaxPD, numCQs: a.MaxCQ, numSRQs: a.MaxSRQ, numQPs: a.MaxQP, numMRs: a.MaxMR, numMWs: a.MaxMW,
		} {
			l[r] = part(userDevice, uint64(all))
		}
	}
	var d unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &d) == nil {
		l[contexts], l[eventFiles] = min(part(userContexts, d.Cur), maxContexts), part(userEventFiles, d.Cur)
	}
	if size, err := f.Capacity(); err == nil {
		l[ringBytes] = part(userRings, size)
	}
	return l
}
