//go:build !linux

package netdev

import (
	"fmt"
	"runtime"
)

// A Watcher needs Linux.
type Watcher struct{}

// Watch returns an error: it needs Linux.
func Watch(device string) (*Watcher, error) {
	return nil, fmt.Errorf("following %s needs Linux, this is %s", device, runtime.GOOS)
}

// Changes returns a nil channel.
func (*Watcher) Changes() <-chan struct{} { return nil }

// Look returns an empty State.
func (*Watcher) Look() (State, error) { return State{}, nil }

// Close does nothing.
func (*Watcher) Close() {}

// Namespace stands for the only namespace.
type Namespace struct{}

// Here returns the only namespace.
func Here() (*Namespace, error) { return &Namespace{}, nil }

// Go calls f in a new goroutine.
func (*Namespace) Go(f func(error)) { go f(nil) }

// Close does nothing.
func (*Namespace) Close() {}

// WatchCarrier needs Linux. On other systems an interface is assumed to be up.
func WatchCarrier(string, func(up bool)) (stop func()) { return func() {} }
