package fabric

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/gorxe/gorxe/trace/tunnel"
)

// Opcodes of Ethernet MAC control frames (IEEE 802.3, annex 31A).
const (
	opPause = 0x0001
	opPFC   = 0x0101
)

const (
	pauseLen = 4         // opcode and time
	pfcLen   = 4 + 2*8   // opcode, class-enable vector and eight times
	classes  = 8         // priorities of IEEE 802.1Q
	quantum  = 512       // bits (IEEE 802.3, annex 31B.2)
	example  = 100 * 1e9 // bits per second, for times in texts
	exampleS = "100 Gbit/s"
)

// Pause holds the fields of a PFC frame (IEEE 802.1Qbb), or of a pause frame (IEEE 802.3, annex
// 31B), which applies to all classes.
type Pause struct {
	PFC bool
	// Classes are the priorities that the frame pauses or resumes: bit n is class n. 0xff for a pause
	// frame.
	Classes uint8
	// Quanta are the pause times of the classes, in units of 512 bit times; 0 resumes the class. Those
	// of classes that are not in Classes have no meaning.
	Quanta [classes]uint16
}

// Time returns the pause time of a class on a link of the given speed in bits per second. It
// returns 0 if the class is not in Classes, is resumed, or speed is not positive.
func (p *Pause) Time(class int, speed float64) time.Duration {
	if class < 0 || class >= classes || p.Classes>>class&1 == 0 || speed <= 0 {
		return 0
	}
	return time.Duration(float64(p.Quanta[class]) * quantum / speed * float64(time.Second))
}

// String describes the frame, such as
// "PFC: pause class 3 for 65535 quanta (335.5µs at 100 Gbit/s), resume class 4".
func (p *Pause) String() string {
	if !p.PFC {
		return "pause: " + action(p, 0, "all classes")
	}
	var parts []string
	for c := range classes {
		if p.Classes>>c&1 != 0 {
			parts = append(parts, action(p, c, fmt.Sprintf("class %d", c)))
		}
	}
	if len(parts) == 0 {
		return "PFC: no class"
	}
	return "PFC: " + strings.Join(parts, ", ")
}

func action(p *Pause, class int, what string) string {
	if p.Quanta[class] == 0 {
		return "resume " + what
	}
	return fmt.Sprintf("pause %s for %d quanta (%v at %s)", what, p.Quanta[class],
		p.Time(class, example).Round(10*time.Nanosecond), exampleS)
}

// Fields returns the header fields.
func (p *Pause) Fields() []Field {
	const header = "MAC control"
	if !p.PFC {
		return []Field{{header, "Opcode", "0x0001 PAUSE"},
			{header, "Pause Time", fmt.Sprintf("%d quanta", p.Quanta[0])}}
	}
	out := []Field{{header, "Opcode", "0x0101 PFC"},
		{header, "Class-Enable Vector", fmt.Sprintf("0x%04x", p.Classes)}}
	for c, q := range p.Quanta {
		out = append(out, Field{header, fmt.Sprintf("Time (class %d)", c), fmt.Sprintf("%d quanta", q)})
	}
	return out
}

// Parse parses a MAC control frame from its opcode on. The verdict is Inside if it is a pause or PFC
// frame, Plain for other opcodes, Cut or Broken.
func (p *Pause) Parse(at tunnel.Place) tunnel.Verdict {
	be := binary.BigEndian
	b := at.Data
	*p = Pause{}
	if len(b) < 2 {
		return at.Lacking()
	}
	switch be.Uint16(b) {
	case opPause:
		if len(b) < pauseLen {
			return at.Lacking()
		}
		p.Classes = 0xff
		for c := range p.Quanta {
			p.Quanta[c] = be.Uint16(b[2:])
		}
		return tunnel.Inside
	case opPFC:
		if len(b) < pfcLen {
			return at.Lacking()
		}
		p.PFC, p.Classes = true, b[3]
		for c := range p.Quanta {
			p.Quanta[c] = be.Uint16(b[4+2*c:])
		}
		return tunnel.Inside
	}
	return tunnel.Plain
}
