package respond

import "time"

// A TCP connection costs the host some sixty times as long as a packet. Clients beyond acceptBurst at
// once and one in acceptInterval wait in the kernel, which drops them where its queue is full: a
// flood of connections does not take the processor from the queue pairs that there are.
const (
	acceptBurst    = 100
	acceptInterval = time.Millisecond
)

// pace is when clients are accepted: a bucket that holds acceptBurst and fills by one in
// acceptInterval. The zero value is full.
type pace struct{ due time.Time }

// next counts a client that was accepted at now, and returns how long the next one has to wait.
func (p *pace) next(now time.Time) time.Duration {
	if full := now.Add(-acceptBurst * acceptInterval); p.due.Before(full) {
		p.due = full
	}
	p.due = p.due.Add(acceptInterval)
	return p.due.Sub(now)
}
