// Package live captures the RoCEv2 packets of a network interface. It requires Linux and
// CAP_NET_RAW.
//
// Frames start at the IP header; link headers and VLAN tags are removed. With segmentation
// offload, an outgoing frame contains several packets, which trace.Decoder separates.
package live
