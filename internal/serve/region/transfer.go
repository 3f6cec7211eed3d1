package region

import (
	"context"
	"errors"
	"io"

	"github.com/gorxe/gorxe/verbs"
)

// Read reads n bytes at off into w, by several READs at a time. The bytes are not a snapshot:
// others may write to the region meanwhile. After an error that is not about the arguments, the
// connection is unusable.
func (c *Conn) Read(ctx context.Context, w io.Writer, off, n uint64) error {
	if err := c.check(Read, off, n); err != nil {
		return err
	}
	if err := c.read(ctx, w, off, n); err != nil {
		return c.failed(err)
	}
	return nil
}

func (c *Conn) read(ctx context.Context, w io.Writer, off, n uint64) error {
	// All pieces except the last have the same length, so the slot of each follows from its
	// offset.
	place := func(at uint64) uint64 { return at % (pieces * pieceLen) }
	asked, done := uint64(0), uint64(0)
	for done < n {
		for asked < n && asked-done < pieces*pieceLen {
			size := min(pieceLen, n-asked)
			if err := c.post(verbs.WRRead, int(place(asked)), int(size), off+asked); err != nil {
				return err
			}
			asked += size
		}
		if err := c.wait(ctx); err != nil {
			return err
		}
		size := min(pieceLen, n-done)
		if _, err := w.Write(c.buf[place(done):][:size]); err != nil {
			return err
		}
		done += size
	}
	return nil
}

// Write writes the data of r at off, until io.EOF, and returns the number of bytes that have
// arrived. It sends what a call of r.Read has returned before it calls r.Read again. Data past the
// end of the region is an error; what fits is written. After an error that is not about the
// arguments, the connection is unusable.
func (c *Conn) Write(ctx context.Context, r io.Reader, off uint64) (n uint64, err error) {
	if err := c.check(Write, off, 0); err != nil {
		return 0, err
	}
	n, err = c.write(ctx, r, off)
	if err != nil && !errors.Is(err, ErrBounds) {
		err = c.failed(err)
	}
	return n, err
}

func (c *Conn) write(ctx context.Context, r io.Reader, off uint64) (arrived uint64, err error) {
	var sizes [pieces]uint64
	posted, done := 0, 0 // numbers of pieces
	at := off            // offset of the next piece
	var end error        // why there is no next piece
	idle := 0            // consecutive empty reads of r
	for end == nil || done < posted {
		if end != nil || posted-done == pieces {
			if err := c.wait(ctx); err != nil {
				return arrived, err
			}
			arrived += sizes[done%pieces]
			done++
			continue
		}
		place := posted % pieces * pieceLen
		// At the end of the region, one byte more than fits shows that r has too much data.
		size, err := c.fill(ctx, r, c.buf[place:][:max(1, min(pieceLen, c.length-at))])
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return arrived, err
		case size > 0 && at == c.length:
			end = c.check(Write, at, 1)
			continue
		case err != nil:
			end = err
		}
		if size == 0 {
			if idle++; idle == 100 && end == nil {
				return arrived, io.ErrNoProgress
			}
			continue
		}
		idle = 0
		if err := c.post(verbs.WRWrite, place, size, at); err != nil {
			return arrived, err
		}
		sizes[posted%pieces] = uint64(size)
		posted++
		at += uint64(size)
	}
	if errors.Is(end, io.EOF) {
		end = nil
	}
	return arrived, end
}

// fill reads once from r. It stops waiting when ctx or the connection ends.
func (c *Conn) fill(ctx context.Context, r io.Reader, p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	got := make(chan result, 1)
	go func() {
		n, err := r.Read(p)
		got <- result{n, err}
	}()
	select {
	case g := <-got:
		return g.n, g.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-c.conn.Done():
		return 0, c.lost()
	}
}

// post posts a work request for size bytes, between the offset place of buf and the offset at of
// the region.
func (c *Conn) post(op verbs.WROpcode, place, size int, at uint64) error {
	return c.qp.PostSend(&verbs.SendWR{
		Opcode: op, Flags: verbs.Signaled, SGList: []verbs.SGE{c.mr.SGE(place, size)}, RemoteAddr: c.addr + at,
		RKey: c.rkey,
	})
}
