package capture

import "time"

// Frame is one frame of a capture.
type Frame struct {
	Number    int       // from 1
	Time      time.Time // zero if the file has none
	Link      LinkType
	Direction Direction
	Interface string // name; empty if unknown
	// InterfaceID is the number of the interface in a pcapng, from 1 in each section; 0 if unknown.
	InterfaceID int
	Length      int    // bytes on the wire; more than len(Data) if truncated by the capture
	Data        []byte // valid until the next frame is read

	// Comments are the comments on the frame. gorxe's own traces describe work requests and
	// completions in them.
	Comments []string
}

// Direction is the direction of a frame, as seen by the capturing host.
type Direction uint8

const (
	Unknown Direction = iota
	Inbound
	Outbound
)

func (d Direction) String() string { return [...]string{"", "in", "out"}[min(d, Outbound)] }
