// Package keeper is the parent of a program that runs under a seccomp filter with a listener.
//
// The keeper is a process between the supervisor, which answers the trapped calls, and the program.
// It outlives the supervisor: when that is killed, nobody answers trapped calls, so the keeper says so
// on the program's standard error and kills the program and all its descendants. It is their
// subreaper, so they all stay below it, and below the supervisor, whose right to open their memory
// depends on that (Yama). See docs/decisions/keeper.md.
//
// The supervisor starts its own executable with [Name] as argv[0]. The init function of this package
// does the keeper's work and never returns. It runs before most other packages are initialized:
// packages are initialized in the order of their import paths once their imports are (Go
// specification, "Program initialization"), so this one imports little. That saves most of the
// start-up time and memory of a large program.
//
// # Start
//
// The leader thread of the keeper installs the filter on itself and forks the program, which inherits
// it. Other threads have no filter. While the supervisor does not answer yet, the leader makes no
// trapped call: the first one is execve of the program. The leader stays, because PR_SET_PDEATHSIG of
// the program is sent when it ends.
//
// # Signals
//
// The keeper is in the program's process group, so it gets signals of the terminal and of kill(2) for
// the group. It ignores them. The program begins with the signals ignored that the supervisor names.
package keeper
