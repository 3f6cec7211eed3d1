// Package keeper is the parent process of a program that runs under a seccomp filter with a
// listener.
//
// The keeper is a process between the supervisor, which answers the trapped calls, and the program.
// It outlives the supervisor: if the supervisor is killed, nothing answers trapped calls any more,
// so the keeper reports that on the program's standard error and kills the program and all its
// descendants. The keeper is the subreaper of these descendants, so all of them stay descendants of
// the keeper and of the supervisor. The supervisor must be their ancestor to open their memory
// (Yama). See docs/decisions/keeper.md.
//
// The supervisor starts its own executable with [Name] as argv[0] and passes a [Config] in a
// file. The keeper reports each step to the supervisor with a [Message] on a socket.
//
// The init function of this package does the keeper's work and never returns. It runs before most
// other packages are initialized: a package is initialized once its imports are, in the order of
// import paths (Go specification, "Program initialization"), so this package imports little. That
// saves most of the start-up time and memory of a large program.
//
// # Start
//
// The leader thread of the keeper installs the filter on itself and forks the program, which
// inherits the filter. Other threads of the keeper have no filter. The leader makes no trapped call
// while the supervisor does not answer yet: the first trapped call is the execve of the program.
// The leader must not end, because its end sends the program the signal of PR_SET_PDEATHSIG.
//
// # Signals
//
// The keeper is in the program's process group, so it receives signals of the terminal and of
// kill(2) for the group. It ignores them. The program begins with those signals ignored that the
// supervisor names in the Config.
package keeper
