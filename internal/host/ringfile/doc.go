// Package ringfile makes the file through which a program of another process shares queues with this one: the
// program maps rings from it, and a write to it is a doorbell.
//
// The file is the program's descriptor of a verbs device, so it has to be mappable at the offsets that the program is
// told, and write(2) on it must cost little. A regular file on tmpfs is both: the write ends in the page cache, and
// inotify reports it ([Watcher]). Files of memfd_create report nothing.
//
// The program may truncate the file, after which an access to a ring faults, fill it, or write anywhere: package
// internal/rings reads and writes the rings.
package ringfile
