// Package encap adds and removes the Ethernet, IP and UDP headers of RoCEv2 packets, for links
// that bypass the IP stack of the host. It does no I/O.
package encap
