// Package softlimit records the soft RLIMIT_NOFILE that this process was started with.
//
// The syscall package of Go raises the soft limit to the hard one when it is initialized, and
// restores it in the programs that the process starts. A process that needs the limit of these
// programs must therefore read it earlier. A package is initialized once its imports are, in the
// order of import paths (Go specification, "Program initialization"), so this package imports
// only runtime and unsafe and comes before syscall.
package softlimit

// NOFILE is the soft RLIMIT_NOFILE at the start of the process, 0 if it could not be read.
var NOFILE = read()
