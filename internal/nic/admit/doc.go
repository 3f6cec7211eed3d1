// Package admit decides which packets of other hosts a device accepts: [Hosts] by the source
// address, before anything is computed for a packet, and [FairShare] when a datagram queue pair
// is short of receives. It takes no locks.
package admit
