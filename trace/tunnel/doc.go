// Package tunnel removes encapsulations from captured frames: VXLAN, VXLAN-GPE, Geneve, GRE,
// NVGRE, ERSPAN, MPLS and IP in IP. Switches and virtual networks carry, and mirror, the frames of
// hosts in them.
//
// A [Place] is a header in a frame, located by its EtherType. [Peel] removes the encapsulation that
// begins there and describes it as a [Layer]. Callers repeat it, up to [MaxDepth] times. The
// package knows nothing about the packets inside, and allocates nothing.
package tunnel
