// Package hangup watches the write ends of pipes. A [Watcher] reports when the last reader of a
// pipe has closed it or has ended and, on request, when a full pipe is writable again.
package hangup
