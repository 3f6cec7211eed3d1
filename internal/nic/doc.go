// Package nic runs the machines of package transport over links. It is the only package of the
// data path that has goroutines, locks and a clock.
//
// A [Device] consists of links ([packet.Link]), shards and a key table ([mr.Table]). An entry of
// the GID table (type gid) is an IP address and the link that sends from it. A shard owns queue
// pairs ([QP]), each with its machine, and everything needed to transmit for them: an outbox per
// GID collects the frames of the queue pairs that are ready (type turns decides their order),
// seals them with the ICRC and sends them as one batch. An inbox receives from one link, one
// receive queue of a link, or one multicast group, checks the packets and passes them to the
// machines. Machines complete into [CQ]s, which can notify a [CompChannel], and raise asynchronous
// events ([Device.Event]).
//
// Subpackages: gsi is queue pair 1 with the connection manager; hostlinks adds and removes links as
// the addresses of a network interface change; admit decides which peers may send; crossing is the
// loopback queue between shards; signal wakes waiting goroutines.
//
// # Threads
//
//   - One receiving goroutine for each link, or for each receive queue of a link that is split,
//     and one for each joined multicast group. It waits in Recv, decodes packets and checks their
//     ICRC without the lock of a shard, takes the shard's lock once for the batch, passes every
//     packet to its machine, and lets the machines that have something to send transmit before it
//     unlocks: all acknowledgements of a batch are sent together. If several goroutines can
//     receive from the link ([packet.Shared]), a caller that polls an empty CQ does the same in
//     its place (Device.drive).
//   - One pump for each shard. It serves timeouts, except those of a link whose receiver is
//     behind, because the expected answer may have arrived. It receives frames that other shards
//     send by loopback, sends overdue acknowledgements, continues to transmit where a flush used
//     up its budget, and sends for queue pairs with many outstanding requests, where sending for
//     many posts at once matters more than latency.
//   - The goroutines of the program. Posting on a queue pair with few outstanding requests runs the
//     requester and sends in the caller: there is no handover to another goroutine between a work
//     request and the wire.
//
// # Locks
//
// In locking order: a goroutine that holds a lock takes only locks further down. Locks listed
// together are never held together.
//
//   - Device.linking serializes AddLink, RemoveLink, UpdateLink and AttachMulticast, and guards
//     Device.departures. It is held while a removed link closes and its receivers end. The data
//     path never takes it. Device.adding serializes reading the counters and guards shard.sums.
//   - inbox.mu serializes receiving from a link that is [packet.Shared]: it is held from before a
//     batch is taken from the link until the batch is processed, so batches stay in order.
//     RemoveLink waits, with linking held, for receivers that take it.
//   - shard.mu guards the shard's machines, queue pairs, SRQs, ready lists, window shares, held
//     acknowledgements, outboxes, timers and counters. Several are taken in the order of the
//     shards' indexes. Batches are sent with it held, so the packets of a queue pair leave in the
//     order in which they were made, and payload that is borrowed from a memory region is
//     borrowed only while it is held.
//   - shard.keying protects the key table, if there are several shards: look-ups need the keying
//     of the caller's shard, a work request that changes keys needs the keying of all shards.
//     Taken with shard.mu held (shard.lock takes both); shard.withKeysExclusive takes the keying
//     of other shards without their mu.
//   - deferredQueue.mu (one per shard) guards the queue of datagrams that wait for a busy shard. A
//     receiver of another shard takes it without a shard.mu; the goroutine that delivers the
//     datagrams takes it with shard.mu held, to empty the queue.
//   - Device.changing serializes changes of the key table. Calls that only add a key take it
//     without a shard's lock.
//   - groups.mu guards the multicast groups and their members. Taken with the shard.mu of a member,
//     or alone by readers.
//   - Device.table guards the GID table for readers that hold no shard.mu. Writers take it with
//     linking and every shard.mu held.
//   - Device.atomics serializes atomics of several shards on memory that is accessed in two calls,
//     a read and a write ([mr.Table.GuardAtomics]). Taken by machines, before locks of the memory
//     itself.
//   - CompChannel.mu guards the list of CQs with events. Taken with shard.mu held by machines,
//     alone by readers.
//   - Device.mu guards the lists of CQs, SRQs and links.
//   - CQ.mu guards the completions. Taken with shard.mu held by machines, alone by pollers.
//   - portState.mu guards the inputs of the port's state.
//   - Locks under which no other lock is taken: senders.mu (permitted sender of each queue pair),
//     lostCQs.mu (one per shard: the CQs that overflowed), crossing.Queue.mu (one per shard: frames
//     from other shards by loopback; the sender holds its own shard.mu, the receiver the shard.mu
//     of the queue's shard) and draw.mu (random shard numbers). The exception is events.mu
//     (asynchronous events that were not read yet), under which the events.mu of each EventReader
//     is taken.
//
// A link is called with shard.mu held for Prepare, Send, Pending, Caps and the methods of
// [packet.Holder] and [packet.Loopback] only; a membership in a group also for Close. CreateAH
// calls packet.ResolveSoon with Device.table held.
//
// The GID table, including the link and the MTU of each entry, is changed with linking, every
// shard.mu and Device.table held, and read with any of them. RemoveLink takes a link out of the
// table with every shard.mu held and closes it after unlocking, so nothing is sent by a closed
// link; it waits for a goroutine that is blocked in Send with shard.mu held. Device.Close is the
// exception: it closes the links first, without shard.mu, which wakes such a goroutine. A queue
// pair refers to the entry, not to the link: what is sent by an entry without a link is lost.
//
// # Shards
//
// A device has one or several shards. A queue pair belongs to one shard for its whole life: shard
// index = QPN mod number of shards. The shard is drawn at random, with two exceptions: the datagram
// queue pairs of a [User], and its SRQs with their queue pairs, share one shard, and queue pair 1
// and the datagram queue pairs and SRQs without a user are in shard 0. A multicast group has one
// receiving goroutine, which passes each packet to every shard with members of the group. A link
// that supports it ([packet.Split]) has one receive queue per shard, into which the kernel steers
// packets; the goroutine of a queue takes the lock of its own shard. Packets for other shards,
// which arrive in trains (see outbox.transmit) or by a link with a single queue, are passed on: the
// goroutine takes the lock of one shard after the other.
//
// Between a packet and its queue pair no lock is taken that another shard takes, except when keys
// change and for atomics on memory that is not in this process or not aligned. The key table
// belongs to the device. Machines look keys up with the keying of their shard held, or, if there
// is only one shard, with its mu. Each change holds Device.changing, taken after all other locks
// of the change:
//
//   - A new key (Register, AllocWindow, AllocFast) needs no other lock: machines may look keys up
//     meanwhile.
//   - A work request that binds, registers or invalidates holds the keying of every shard, and no
//     payload is borrowed (shard.withKeysExclusive).
//   - Deregister and other calls that remove a key hold the mu of every shard. When they return, no
//     machine, packet or system call can access the memory any more.
//
// # Memory that stalls
//
// A machine accesses memory with shard.mu and shard.keying held, and an access to a program's
// memory can block for as long as that program likes (a page of a FUSE file, for example).
// Meanwhile these wait: the queue pairs of the shard, calls on them, and calls that remove a key.
// The following do not wait (see type mutex):
//
//   - Calls that concern no queue pair: they take no lock of a shard. To read the GID table they
//     take Device.table.
//   - Queries of the device. Each waits for queryLockTimeout; then ListQPs leaves the shard out,
//     and Counters returns the shard's previous values.
//   - Other shards, when a call needs the locks of all shards: after dataLockTimeout, the call
//     releases their locks and waits without them. A work request that changes keys is retried
//     later, and a packet that removes a key is dropped.
//   - Receivers of other shards: they drop packets for the shard.
//
// There is one exception: while a machine processes a packet that removes a key, or executes a work
// request that changes keys, it holds the keying of every shard (shard.withKeysExclusive), so if
// its memory stalls then, all shards wait.
package nic
