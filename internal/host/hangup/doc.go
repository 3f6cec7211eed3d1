// Package hangup watches the write ends of pipes. A [Watcher] reports a pipe whose last reader
// has closed it or has ended and, on request, a full pipe that is writable again.
package hangup
