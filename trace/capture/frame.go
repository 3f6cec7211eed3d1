package capture

import "time"

// Frame is one record of a capture.
type Frame struct {
	Number    int // from 1
	Time      time.Time
	Link      LinkType
	Direction Direction
	Interface string // its name; empty where the capture does not tell
	Length    int    // bytes on the wire; more than len(Data) where the capture was told to keep less
	Data      []byte // borrowed until the next frame is read

	// Comments are those that the capture has of the frame. A trace of gorxe says in them what its own end knows.
	Comments []string
}

// Direction is which way a frame went, as seen by the end that captured it.
type Direction uint8

const (
	Unknown Direction = iota
	Inbound
	Outbound
)

func (d Direction) String() string { return [...]string{"", "in", "out"}[min(d, Outbound)] }
