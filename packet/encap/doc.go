// Package encap puts Ethernet, IP and UDP headers around RoCEv2 packets, and takes them off. Links that send frames
// past the host's own IP stack use it. It does no I/O.
package encap
