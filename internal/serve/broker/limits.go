package broker

import (
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/uapi"
)

// A Resource is something of which clients may have a limited number.
type Resource int

// Resources.
const (
	Clients   Resource = iota // connections
	Processes                 // that have device files open
	Contexts                  // open device files
	Installed                 // other descriptors that programs got: completion channels and files of events
	Calls                     // under way

	numResources
)

var resources = [numResources]struct {
	name        string
	descriptors int        // that one takes in this process
	errno       uapi.Errno // that a program sees at the limit
}{
	Clients:   {"connections", 1, uapi.EMFILE},
	Processes: {"processes", 0, uapi.EMFILE},
	Contexts:  {"contexts", 4, uapi.EMFILE},
	Installed: {"event files", 1, uapi.EMFILE},
	Calls:     {"calls under way", 0, uapi.EAGAIN},
}

// A Bound is how many of a resource one client, one user and all together may have.
type Bound struct{ Client, User, All int }

// Limits are the bounds of all resources.
type Limits [numResources]Bound

// DefaultLimits returns limits for a process that may have some number of descriptors open (RLIMIT_NOFILE). Programs of
// all clients take at most three quarters of them.
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

// counts are how many of each resource somebody has.
type counts [numResources]int

// quota counts what clients have. All methods are safe for concurrent use.
type quota struct {
	limits Limits

	mu    sync.Mutex
	all   counts             // guarded by mu
	users map[uint32]*counts // by user ID, of users that have something; guarded by mu
}

func newQuota(l Limits) *quota { return &quota{limits: l, users: map[uint32]*counts{}} }

// take counts one more of a resource for a client of a user, whose own counts are in client. The error wraps the number
// that a program sees.
func (q *quota) take(r Resource, user uint32, client *counts) error {
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
			return fmt.Errorf("all %d %s of %s are in use: %w", x.most, resources[r].name, x.who, resources[r].errno)
		}
	}
	q.users[user] = u
	client[r]++
	u[r]++
	q.all[r]++
	return nil
}

// give takes back what take has counted.
func (q *quota) give(r Resource, user uint32, client *counts) {
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

// used returns what all clients have.
func (q *quota) used() counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.all
}
