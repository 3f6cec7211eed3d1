// Package live captures the packets of a network interface that package trace decodes: RoCEv2,
// RoCEv1, Ultra Ethernet, iWARP, pause and PFC frames, with any tunnels of package tunnel. It
// requires Linux and CAP_NET_RAW.
//
// On Ethernet and on the loopback, frames begin with the Ethernet header; a VLAN tag that the
// kernel removed is put back. On other interfaces they begin with the IP header. With segmentation
// offload, an outgoing frame contains several packets, which trace.Decoder separates. An Ethernet
// interface is in promiscuous mode during the capture, so that it receives what a switch mirrors.
//
// # Filter
//
// The kernel discards the other frames. Its filter is a classic BPF program without state, which
// accepts more than trace.Decoder finds packets in:
//
//	EtherType, after up to 8 VLAN tags    RoCEv1, MAC control, MPLS
//	IP protocol                           IPv4 and IPv6 in IP, GRE, MPLS
//	IPv6 with extension headers           all
//	UDP over IPv4, fragment               all except first fragments
//	UDP destination port                  RoCEv2, Ultra Ethernet, and those of VXLAN, VXLAN-GPE,
//	                                      Geneve and MPLS
//	TCP                                   segments whose payload begins with an MPA start frame or
//	                                      the headers of an FPDU (iWARP)
//
// So everything in a tunnel is captured, and no other TCP, except about one of 2,000 segments with
// random contents. Of iWARP, segments without payload, and those that begin in the middle of an
// FPDU, are not captured; the FPDUs that begin in the latter are missing. RNICs begin an FPDU with
// each segment (RFC 5044, section 5).
package live
