// Package ringfile makes the file through which a program in another process shares queues with
// this process. The program maps a [Ring] from the [File], and a write to the file is a doorbell,
// which a [Watcher] reports.
//
// The file is the program's descriptor of a verbs device, so it must be mappable at the offsets
// that the program is given, and write(2) on it must be cheap. A regular file on tmpfs has both
// properties: the write ends in the page cache, and inotify reports it. inotify does not report
// writes to files of memfd_create.
//
// The program may truncate the file, after which an access to a ring faults, fill it, or write
// anywhere: package internal/rings reads and writes the rings safely.
//
// File.mu guards the descriptors and the allocation of rings; calls of [File.Doorbells] need
// external synchronization. Watcher.mu guards the set of watched files and is not held during a
// callback.
package ringfile
