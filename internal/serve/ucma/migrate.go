//go:build linux

package ucma

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/uapi"
)

// fetchChannel fetches the channel that an identifier leaves.
func (r *request) fetchChannel() error {
	q, err := decode[uapi.UCMMigrateID](r)
	if err != nil {
		return err
	}
	if r.channel = r.caller.Channel(int32(q.FD)); r.channel == nil || r.channel.server != r.ch.server {
		return fmt.Errorf("descriptor %d is no rdma_cm channel: %w", int32(q.FD), uapi.EINVAL)
	}
	return nil
}

// migrate moves an identifier to this channel, with its queued events.
func (r *request) migrate(q *uapi.UCMMigrateID) (any, error) {
	old := r.channel
	i, err := old.find(q.ID)
	if err != nil {
		return nil, err
	}
	if old != r.ch {
		if err := r.ch.full(); err != nil {
			return nil, err
		}
		i.move(r.ch)
	}
	r.response = q.Response
	return uapi.UCMMigrateResp{EventsReported: i.fetched}, nil
}

// move moves an identifier to another channel, with its queued events and the new identifiers of
// its queued connection requests. The caller holds mu.
func (i *ident) move(to *Channel) {
	from := i.ch
	from.reassign(i, to)
	stay := from.queue[:0]
	var moved []*event
	for _, e := range from.queue {
		if e.owner != i {
			stay = append(stay, e)
			continue
		}
		moved = append(moved, e)
		if e.newIdent != nil {
			from.reassign(e.newIdent, to)
		}
	}
	clear(from.queue[len(stay):])
	from.queue = stay
	from.signal()
	to.queue = append(to.queue, moved...)
	to.serve()
}

// reassign moves an identifier to the table of another channel, without its events.
func (ch *Channel) reassign(i *ident, to *Channel) {
	delete(ch.ids, i.num)
	to.ids[i.num] = i
	ch.groups -= len(i.groups)
	to.groups += len(i.groups)
	i.ch = to
}
