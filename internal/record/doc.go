// Package record writes the packets that a device sends and receives to a pcapng file while it
// runs. The frames are IP datagrams as on the wire, with the direction as seen by the device and
// the address of its link as the interface name.
//
// A [Recorder] wraps links with a tap that copies each packet into a buffer; a goroutine writes
// the file. A device never waits for a file: frames that do not fit in the buffer are dropped and
// counted, and a comment on the next frame gives their number. A [Hub] adds and removes recorders
// while links are in use. A [Recent] keeps the latest packets in memory. An [Observer] annotates
// frames with work requests, completions and state changes.
//
// Recorder.mu guards the buffer and the notes; only the writing goroutine uses the file.
package record
