//go:build linux

package uverbs

import (
	"github.com/gorxe/gorxe/internal/host/ringfile"
	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/internal/uapi"
)

// A ring is memory that a context shares with its program. The context's account counts its size.
type ring struct {
	*ringfile.Ring
	ctx *Context
}

// newRing maps a new ring of at least depth elements of elem bytes. The caller holds the context's
// lock.
func (c *Context) newRing(depth, elem int) (rings.Geometry, *ring, error) {
	g, err := rings.NewGeometry(depth, elem, c.server.page)
	if err != nil {
		return g, nil, errnoFor(err, uapi.EINVAL)
	}
	if err := c.take(ringBytes, int64(g.Size())); err != nil {
		return g, nil, err
	}
	r, err := c.file.Map(g.Size())
	if err != nil {
		c.give(ringBytes, int64(g.Size()))
		return g, nil, errnoFor(err, uapi.ENOMEM)
	}
	return g, &ring{r, c}, nil
}

// Close ends the ring. The caller holds the context's lock.
func (r *ring) Close() error {
	r.ctx.give(ringBytes, int64(len(r.Bytes)))
	return r.Ring.Close()
}

func mapInfo(r *ring) uapi.MMInfo { return uapi.MMInfo{Offset: r.Offset, Size: uint32(len(r.Bytes))} }
