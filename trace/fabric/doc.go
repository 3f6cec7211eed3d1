// Package fabric decodes headers of the networks below and beside RoCEv2: the local and global route
// headers of InfiniBand and RoCEv1, pause and PFC frames, and Ultra Ethernet. It names protocols that
// are not decoded, and counts frames by these names.
package fabric
