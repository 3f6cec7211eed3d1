package trace

// Skip says why a frame has no packet.
type Skip uint8

const (
	SkipLinkType  Skip = iota // of a link type that is not known: see [LinkType.Known]
	SkipNotIP                 // ARP, LLDP and others
	SkipOther                 // TCP, ICMP, UDP to other ports
	SkipFragment              // a fragment of an IP datagram, not the first: it does not say what it belongs to
	SkipCut                   // too little of it was captured to tell
	SkipMalformed             // it ends inside its headers, or they contradict each other

	// NumSkips is the number of reasons.
	NumSkips = int(iota)

	taken = Skip(NumSkips)
)

var skipNames = [NumSkips]string{
	SkipLinkType:  "of a link type that gorxe does not know",
	SkipNotIP:     "not IP",
	SkipOther:     "not UDP to port 4791",
	SkipFragment:  "fragments of IP datagrams",
	SkipCut:       "captured too short to tell",
	SkipMalformed: "with broken headers",
}

// String says it of several frames, such as "not IP".
func (s Skip) String() string {
	if int(s) < NumSkips {
		return skipNames[s]
	}
	return "unknown"
}

// Counts is what a [Decoder] found.
type Counts struct {
	Frames  uint64
	Packets uint64 // RoCEv2 packets in them
	Merged  uint64 // frames that held several packets
	Cut     uint64 // packets that were not captured whole
	Wrong   uint64 // packets with a wrong ICRC
	Doubt   uint64 // packets that may be something else: see Packet.Doubt
	Failed  uint64 // packets that could not be decoded, with those in doubt

	Skipped [NumSkips]uint64 // frames without a packet
}
