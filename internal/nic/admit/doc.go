// Package admit decides which peers a device listens to: [Hosts] by address, before anything is computed
// for a packet, and [FairShare] when a datagram queue pair is short of receives. Nothing in it locks.
package admit
