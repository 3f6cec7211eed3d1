// Package admit decides which packets of other hosts a device accepts: [Hosts] by the source
// address, before the ICRC is computed, and [FairShare] by the sender's number of unread datagrams,
// when a datagram queue pair is short of receives. The package has no locks.
package admit
