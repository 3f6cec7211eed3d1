// Package epoll waits for events of descriptors that cannot be registered with the runtime's
// poller. An [Instance] is an epoll instance that the poller watches, so a goroutine in
// [Instance.Wait] has no thread. A goroutine in epoll_wait(2) has one, and keeps its P (processor
// of the runtime) until the runtime's monitor notices: with one P, nothing else runs for up to 10
// ms.
package epoll
