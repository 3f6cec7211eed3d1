// Package capture reads capture files of tcpdump and Wireshark, frame by frame. It does not
// interpret the frames: package trace finds the RoCEv2 packets in them.
//
//	Open       detects the format: pcap or pcapng, optionally compressed with gzip
//	Reader     reads the frames in order, with Next or the iterator Frames
//	Frame      is one frame: number, time, link type, direction, interface, bytes and comments
//	LinkType   identifies the header that the bytes begin with
//	ReadError  reports where and why a file is damaged or truncated
//
// A Reader buffers 1 MiB, twice that for compressed files, and reads no further than the frames
// require. It can read files of any length, and pipes that are still being written. In steady
// state it allocates only for comments.
//
// The types are not safe for concurrent use.
package capture
