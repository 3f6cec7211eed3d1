// Package sim is a deterministic simulation of RDMA nodes: memory, queue pairs, a virtual clock,
// and links that drop, duplicate, reorder, delay and corrupt packets. A seed determines the whole
// run. The simulation runs the machines of package transport in one goroutine, over real packets
// with a real ICRC.
//
// Package scenario generates a scenario from a seed: the connections, the posted work requests, the
// link faults. [Run] plays it in package world and checks every step, that is every call of a
// machine, against package model, a model of what the InfiniBand Architecture requires:
//
//   - every outgoing packet is the one that its work request requires: PSN, opcode, headers and
//     payload, within the window; after a loss, the requester goes back to the oldest
//     unacknowledged PSN, or retransmits this packet alone if the peer keeps packets after a gap;
//   - every incoming packet changes exactly the bytes of memory that it must, once;
//   - every work request completes exactly once, in order, with the correct status, in the step
//     that receives the last response it needs;
//   - nothing is acknowledged before it is executed;
//   - every asynchronous event of a queue pair or SRQ is raised in the step in which it is due,
//     and no other event is raised;
//   - a key grants what it was registered or bound for, and only to the queue pairs it is meant
//     for; a changed key never grants its former access, even to requests in progress;
//   - a CQ that overflows loses only the completions beyond its depth, and only the queue pairs
//     that complete into it fail;
//   - a multicast datagram reaches each member as often as its link delivers it, and never the
//     sender;
//   - after the last fault all outstanding work completes.
//
// A broken rule is a [world.Violation]. A test that finds one prints the seed and the command that
// repeats it, reduces the scenario with [Shrink], which removes acts and faults, and writes a
// capture. make soak runs new seeds. docs/goodput.md is computed with this simulation.
package sim
