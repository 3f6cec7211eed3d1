// Package nic drives the machines of package transport over links. It is the only place of the
// data path with goroutines, locks and a clock.
//
// # Threads
//
//   - One receiving goroutine for each link, until it is removed, and for each multicast
//     group joined. It waits in Recv, decodes and checks the ICRC of what came without any
//     lock, then takes the shard's lock once for the whole batch, gives every packet to its
//     machine, and lets the machines that have something to say transmit before it lets go of
//     the lock: all acknowledgements of a batch leave together. Where the link can be received
//     from by several, a caller that polls an empty CQ does the same in its place: see drive.
//   - One pump for each shard. It receives what other shards send by loopback. It serves
//     timeouts, but puts off those of a link whose receiver is behind: what would stop them may
//     have come. It goes on transmitting where a flush stopped because its budget was used up,
//     and sends for queue pairs that are kept so busy that sending for many posts at once is
//     worth more than sending now.
//   - The application's own. Posting on a queue pair with little outstanding runs the
//     requester and sends in the caller: there is no hand-over to another goroutine
//     between a work request and the wire.
//
// # Locks
//
//	Device.linking  taken while a link is added, removed or looked at again, and while a
//	                multicast group is joined, before shard.mu. It is held while a removed
//	                link ends; nothing of the data path takes it.
//	Device.adding   taken while counters are added up, before shard.mu.
//	inbox.mu        what receiving from a link takes, where several can: from before a batch is
//	                taken from the link until it has been dealt with, so that batches stay in order.
//	shard.mu        the machines, queue pairs, SRQs, ready lists, window shares, held acknowledgements,
//	                transmit batches and timers of a shard. Sending happens under it, so that the packets of a queue pair leave
//	                in the order in which they were made, and payload borrowed from a memory
//	                region is borrowed only under it.
//	shard.keying    the key table, where there are several shards, each of which has a part of the right to it: one to
//	                read, all to write. Taken under shard.mu.
//	Device.table    the GID table, for readers that hold no shard.mu. Taken under shard.mu by writers.
//	Device.atomics  what makes atomics of several shards one after the other, where the memory needs two calls for one.
//	                Taken under shard.keying, and before locks of the memory itself.
//	CompChannel.mu  the CQs with events. Taken under shard.mu by machines, alone by readers.
//	Device.mu       the lists of CQs and of links.
//	CQ.mu           the completions. Taken under shard.mu by machines, alone by pollers.
//	lostCQs.mu      of a shard: the CQs whose users are to fail.
//	crossing        that of the queue of what other shards send by loopback. Taken under shard.mu of those.
//	portState.mu    what the state of the port comes from.
//	events.mu       the asynchronous events that wait to be read.
//
// The order is linking, adding or inbox, shard, keying (both in the order of their indexes),
// table, atomics, CompChannel, Device, CQ, port, lost, crossing, events: whoever holds one takes only what stands
// behind it. A link is called under shard.mu for Prepare, Send, Pending and Caps only, and a
// membership in a group for Close.
//
// The GID table, with the link and the MTU of each entry, is changed with linking, every
// shard.mu and Device.table held, and read with any of them. A link is taken out of the table under shard.mu and
// closed after it was let go of: so nothing is sent by a link that is closed, but by Close, which
// closes the links first, without shard.mu, to wake a goroutine that waits in Send and holds it.
// Removing a link waits for such a goroutine. What a queue pair leads to is the entry, not the link: an entry without a
// link loses what is sent.
//
// # Shards
//
// A device has one shard or several. A queue pair belongs to one of them for all its life: its
// number leaves, divided by how many there are, the shard's index. The shard is drawn at random,
// except that the datagrams of a Client, and all that shares one of its receive queues, have one shard;
// queue pair 1 and what is of no client are in shard 0, home. A multicast is received by one
// goroutine, which hands it to each shard with members of its group. A link that can (see packet.Split) has a queue for each
// shard, into which the kernel sorts what comes; the goroutine of a queue takes its own shard's
// lock. What comes to another one's queue all the same, or by a link with one, it hands on: it
// takes the lock of one shard after the other.
//
// Between a packet and its queue pair no lock is taken that another shard takes, but where keys
// change and for atomics on memory that is not in this process or not aligned. The key table
// belongs to the device. Machines look keys up with the keying of their shard, which comes with its
// lock (shard.lock); with one shard its lock is enough. Each change takes changing, after all other
// locks:
//
//   - A new key (Register, AllocWindow, AllocFast) takes nothing else: machines look keys up meanwhile.
//   - A work request that binds, registers or invalidates takes the keying of every shard, with
//     nothing borrowed (shard.alone).
//   - Deregister and other calls that take a key away take the lock of every shard, in order. So when
//     they return, no machine, no packet and no system call can reach the memory any more.
//
// # Memory that stalls
//
// A machine reads and writes memory under shard.mu and shard.keying, and memory of a program may be
// there as late as the program likes. What then waits for the shard: its queue pairs and the calls on
// them, and the calls that take a key away. What does not (see mutex):
//
//   - Calls that concern no queue pair take no lock of a shard: the GID table has Device.table.
//   - A look tells of the other shards only, and Counters what it told before of this one.
//   - What waits for the locks of all shards holds none of them meanwhile. A work request that
//     changes keys is tried again later, and a packet that takes a key away is dropped.
//   - A receiver drops packets for another shard than its own.
package nic
