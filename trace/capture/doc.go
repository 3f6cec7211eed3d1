// Package capture reads capture files of tcpdump and Wireshark, frame by frame. It knows nothing of what is in the frames:
// package trace finds the RoCEv2 packets in them.
//
//	Open       recognizes the file: pcap or pcapng, each also compressed with gzip
//	Reader     reads its frames in order, with Next or as an iterator with Frames
//	Frame      is one frame: number, time, link type, direction, interface, bytes and comments
//	LinkType   is the header that the bytes begin with
//	ReadError  says where and why a damaged or truncated file cannot be read on
//
// A Reader holds a buffer of 1 MiB, two where the file is compressed, and reads no further than the frames need, so files of any length and pipes that are
// still written to stream through. In steady state it allocates only for comments.
//
// A value of these types is for one goroutine at a time.
package capture
