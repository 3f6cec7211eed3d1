// Package mr implements registered memory: protection domains, memory regions, their keys, and
// the checks that every access must pass.
//
// A [Table] allocates keys and resolves them. A [Region] checks accesses ([Region.Check] for
// local, [Region.CheckRemote] for remote ones) and performs them ([Region.View], [Region.Read],
// [Region.Write]). The bytes are those of a [Memory], of which there are two kinds: memory of
// this process, which is [Addressable] and needs no copy, and memory accessed by offset, such
// as memory of another process or memory that may be unmapped at any time.
//
// A [Window] provides a key for a part of a region. A [FastRegion] provides a key for memory that
// work requests register and invalidate. Both keys resolve to a Region too (that of a window to a
// part of the bytes of its parent), so checks, copies and atomics do not distinguish windows from
// regions. Each Bind, REG_MR and Reregister creates a new Region, which costs one small allocation.
// A WRITE in progress or a READ that may be repeated can still point to the previous Region, which
// rejects all accesses from then on, as does the Region of an invalidated key.
//
// Programs wait for data by polling the last byte of a buffer. [Region.WriteFinal] therefore
// makes the end of a message visible last, and [Region.LoadByte] polls it without a data race.
//
// The package creates no lock and starts no goroutine. The caller serializes the methods that
// change a Table or what a key resolves to. Lookups and accesses through Regions (checks,
// reads, writes and atomics) may run concurrently with each other and with Register,
// AllocWindow and AllocFast, but not with the other methods, such as Bind, Invalidate and
// Deregister. Overlapping reads and writes are unordered, as in any shared memory; LoadByte and
// LoadUint64 run concurrently with WriteFinal without a data race on its last bytes, and atomics
// are atomic with respect to each other once [Table.GuardAtomics] has set the lock. See [Memory]
// for the requirements on memory.
//
// The rules are those of IBA volume 1, 10.6 (memory management) and 9.7.4.1 (how a responder
// validates requests), as Linux verbs apply them.
package mr
