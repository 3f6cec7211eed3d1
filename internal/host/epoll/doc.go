// Package epoll waits for events of descriptors that cannot be registered with the runtime's
// poller. An [Instance] is an epoll instance that the poller watches, so a goroutine in
// [Instance.Wait] occupies no thread. A goroutine in epoll_wait(2) would occupy a thread and keep
// its P (processor of the runtime) until the runtime's monitor takes it away: with one P, no other
// goroutine would run for up to 10 ms.
package epoll
