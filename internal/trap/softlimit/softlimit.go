// Package softlimit keeps the soft RLIMIT_NOFILE that this process was started with.
//
// The syscall package of Go raises the soft limit to the hard one when it is initialized, and
// restores it in the programs that the process starts. A process that has to know the limit of
// these programs must therefore read it earlier. Packages without unmet imports are initialized
// in the order of their import paths (Go specification, "Program initialization"), so this one
// imports only runtime and unsafe of the standard library and comes before syscall.
package softlimit

// NOFILE is the soft RLIMIT_NOFILE at the start of the process, 0 if unknown.
var NOFILE = read()
