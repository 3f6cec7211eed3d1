// Package epoll waits for events of descriptors that are not for the runtime's poller, through an epoll instance that
// the poller watches. A goroutine that waits so has no thread. One that waits in epoll_wait(2) has one, and takes up
// the processor of the runtime (its P) until the runtime's monitor notices: on one processor, up to 10 ms in which
// nothing else runs.
package epoll
