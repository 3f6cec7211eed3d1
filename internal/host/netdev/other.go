//go:build !linux

package netdev

import (
	"fmt"
	"runtime"
)

// A Watcher needs Linux.
type Watcher struct{}

// Watch needs Linux: no other host is listened to.
func Watch(device string) (*Watcher, error) {
	return nil, fmt.Errorf("following %s needs Linux, this is %s", device, runtime.GOOS)
}

// Changes never has anything.
func (*Watcher) Changes() <-chan struct{} { return nil }

// Look finds nothing.
func (*Watcher) Look() (State, error) { return State{}, nil }

// Close does nothing.
func (*Watcher) Close() {}

// Namespace is the only one there is.
type Namespace struct{}

// Here is the only namespace there is.
func Here() (*Namespace, error) { return &Namespace{}, nil }

// Go calls f in a goroutine of its own.
func (*Namespace) Go(f func(error)) { go f(nil) }

// Close does nothing.
func (*Namespace) Close() {}

// WatchCarrier needs Linux. Elsewhere an interface counts as up.
func WatchCarrier(string, func(up bool)) (stop func()) { return func() {} }
