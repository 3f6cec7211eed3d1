// Package sim is a world of RDMA nodes that is decided by a seed: nodes with memory and
// queue pairs, links that lose, repeat, reorder, delay and corrupt, a clock that is a
// number. It runs the machines of package transport over packets of real bytes, sealed
// with a real ICRC, in one goroutine.
//
// Package scenario makes a scenario from a seed: which queue pairs are connected, which verbs are
// posted when, what the links do. [Run] plays it in package world and holds every step against
// package model, which knows what the InfiniBand Architecture promises:
//
//   - every packet that leaves is the one its work request asks for: PSN, opcode, headers,
//     payload, within the window, after a go-back from the oldest unacknowledged PSN, or that
//     one alone where the peer keeps what comes after a gap;
//   - every packet that arrives changes exactly the bytes of memory that it must, once;
//   - every work request completes exactly once, in order, with the status that fits what
//     happened to it, and at the step in which the last answer it needs came in;
//   - nothing is acknowledged that was not executed;
//   - every asynchronous event of a queue pair and of an SRQ is raised in the step in which it
//     is due, and no other is;
//   - a key opens what it was bound or registered for to those it was meant for, and what it
//     opened before to nobody, whatever is under way;
//   - a CQ that overflows loses what is past its depth, and only those who complete into it
//     fail;
//   - a datagram to a group comes to each member as often as its link brings it, and not to
//     the sender;
//   - once the faults are over all of it comes to its end.
//
// What does not hold is a [world.Violation]. [Shrink] makes a scenario that has one smaller.
package sim
