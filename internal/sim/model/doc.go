// Package model runs the machines of package transport on the nodes of a scenario and checks
// every step against a model of what the InfiniBand Architecture requires. The model predicts
// each packet, memory change, completion, event and timer of a queue pair.
//
// A [Network] is the nodes with their memory and keys, the connections and the multicast groups,
// in a [world.World]. Each end of a connection pairs a queue pair and its machine with the model
// of both: a requester and a responder. A step of an end is one call of its machine; the model is
// updated before it, and settleStep compares the two after it. Everything runs in one goroutine,
// without locks.
package model
