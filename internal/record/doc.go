// Package record writes what a device sends and receives as pcapng, while it does. The frames are IP datagrams as they are on
// the wire, with the direction that the device sees and the address of its link as the name of the interface.
//
// A tap copies each packet into a buffer and a goroutine writes the file. A device never waits for a file: what finds the buffer
// full is left out and counted, and the next frame says so in a comment.
package record
