package route

// Hop holds what is needed to send a frame to a destination without the host's IP stack. The
// destination is a neighbour on an Ethernet, or is behind such a neighbour.
type Hop struct {
	Index    int     // index of the outgoing interface
	MTU      int     // maximum size of an IP packet in bytes, for both the route and the interface
	Src, Dst [6]byte // Ethernet addresses of the interface and of the neighbour
}
