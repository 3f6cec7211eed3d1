package app

import (
	"context"
	"fmt"
	"os"
)

// OpenUntil calls open, which opens the file with the given name, or fails when ctx is done: the
// open of a FIFO waits for the other end. A call that it leaves behind closes the file.
func OpenUntil(ctx context.Context, name string, open func() (*os.File, error)) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	result := make(chan opened, 1)
	go func() {
		f, err := open()
		result <- opened{f, err}
	}()
	select {
	case r := <-result:
		return r.f, r.err
	case <-ctx.Done():
	}
	go func() {
		if r := <-result; r.err == nil {
			r.f.Close()
		}
	}()
	return nil, fmt.Errorf("%s: %w", name, ctx.Err())
}
