package broker

import (
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/uapi"
)

// A Resource is a resource that is limited per client.
type Resource int

// Resources.
const (
	Clients   Resource = iota // connections
	Processes                 // processes with open device files
	Contexts                  // open device files
	Installed                 // other descriptors of programs: completion channels and event files
	Calls                     // in progress

	numResources
)

var resources = [numResources]struct {
	name        string
	descriptors int        // descriptors per unit in this process
	errno       uapi.Errno // error that a program sees at the limit
}{
	Clients:   {"connections", 1, uapi.EMFILE},
	Processes: {"processes", 0, uapi.EMFILE},
	Contexts:  {"contexts", 4, uapi.EMFILE},
	Installed: {"event files", 1, uapi.EMFILE},
	Calls:     {"calls in progress", 0, uapi.EAGAIN},
}

// A Bound is the maximum of a resource for one client, for one user and for all together.
type Bound struct{ Client, User, All int }

// Limits holds the bounds of all resources.
type Limits [numResources]Bound

// DefaultLimits returns limits for a process with the given limit of open descriptors
// (RLIMIT_NOFILE). All clients together use at most three quarters of these descriptors.
func DefaultLimits(descriptors uint64) Limits {
	l := Limits{
		Clients:   {1, 64, 256},
		Processes: {512, 1024, 2048},
		Contexts:  {1024, 2048, 4096},
		Installed: {4096, 8192, 16384},
		Calls:     {1024, 2048, 4096},
	}
	all := 0
	for r := range l {
		all += l[r].All * resources[r].descriptors
	}
	room := int(min(descriptors, 1<<20)) / 4 * 3
	if all <= room {
		return l
	}
	for r := range l {
		if resources[r].descriptors > 0 {
			l[r].All = max(1, l[r].All*room/all)
			l[r].User = min(l[r].User, max(1, l[r].All/2))
			l[r].Client = min(l[r].Client, l[r].User)
		}
	}
	return l
}

// counts holds a number per resource.
type counts [numResources]int

// quota counts the resources of clients. All methods are safe for concurrent use.
type quota struct {
	limits Limits

	mu    sync.Mutex
	all   counts             // guarded by mu
	users map[uint32]*counts // by user ID, without empty entries; guarded by mu
}

func newQuota(l Limits) *quota { return &quota{limits: l, users: map[uint32]*counts{}} }

// acquire acquires one unit of a resource for a client of a user. client holds the client's counts.
// The error wraps the error number for the program.
func (q *quota) acquire(r Resource, user uint32, client *counts) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.users[user]
	if u == nil {
		u = &counts{}
	}
	b := q.limits[r]
	for _, x := range []struct {
		has, most int
		who       string
	}{{client[r], b.Client, "one gorxe run"}, {u[r], b.User, "one user"}, {q.all[r], b.All, "all programs"}} {
		if x.has >= x.most {
			return fmt.Errorf("limit of %d %s of %s reached: %w", x.most, resources[r].name, x.who, resources[r].errno)
		}
	}
	q.users[user] = u
	client[r]++
	u[r]++
	q.all[r]++
	return nil
}

// release releases a unit that acquire acquired.
func (q *quota) release(r Resource, user uint32, client *counts) {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.users[user]
	client[r]--
	u[r]--
	q.all[r]--
	if *u == (counts{}) {
		delete(q.users, user)
	}
}

// used returns the counts of all clients.
func (q *quota) used() counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.all
}
