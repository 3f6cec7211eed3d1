package route

// Hop is what a frame needs to be sent to a destination without the host's IP stack: the destination is, or is behind,
// a neighbour on an Ethernet.
type Hop struct {
	Index    int     // of the interface that the frame leaves by
	MTU      int     // the longest IP packet in bytes that route and interface take
	Src, Dst [6]byte // Ethernet addresses of the interface and of the neighbour
}
