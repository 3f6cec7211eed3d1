// Package live reads the RoCEv2 packets of a network interface as they pass. It needs Linux and the capability CAP_NET_RAW.
//
// The frames are IP datagrams: what stands before the IP header, VLAN tags as well, is left out. Those that the host sends with
// segmentation offload are whole trains; [trace.Decoder] finds the packets in them.
package live
