// Package mr holds registered memory: protection domains, memory regions, the keys
// that name them, and the checks every access must pass.
//
// A [Table] hands out keys and resolves them. A [Region] answers two questions: may
// this access happen ([Region.Check]), and where are the bytes ([Region.View],
// [Region.Read], [Region.Write]). The bytes lie behind [Memory], because there are two
// kinds: memory of this process, which is [Addressable] and needs no copy, and memory
// reached by offset: that of another process, or such as may be gone when it is used.
//
// A [Window] has a key to a part of a region and a [FastRegion] one to memory that work
// requests give and take; what such a key leads to is again a Region, and it is dead for
// good once the key is taken back. Peers' accesses pass [Region.CheckRemote].
//
// Programs wait for data by polling the last byte of a buffer. [Region.WriteFinal]
// therefore makes the end of a message visible last, and [Region.LoadByte] is how a Go
// program polls without a data race.
//
// The package is pure: it makes no lock and starts nothing. The methods that change a Table or
// what a key leads to run one at a time. While Register, AllocWindow or AllocFast runs, and between
// calls, several goroutines may look keys up and use Regions at once: checks, reads, writes and
// atomics. The others (Bind, Invalidate, Deregister and so on) run alone. Writes
// and reads that overlap are as in any shared memory, in no order; LoadByte and LoadUint64 run
// beside a writer without a data race, and atomics are atomic towards one another once the table
// has the lock that [Table.GuardAtomics] takes. See [Memory] for what memory must allow.
//
// Rules are those of IBA volume 1, chapter 10.6 (memory management) and 9.7.4.1 (how a
// responder validates requests), as Linux verbs apply them.
package mr
