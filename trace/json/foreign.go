package json

import (
	"time"

	"github.com/gorxe/gorxe/trace"
)

// foreign is the JSON object of a [trace.Foreign].
type foreign struct {
	Type      string         `json:"type"`
	Frame     int            `json:"frame"`
	Time      *time.Time     `json:"time,omitempty"`
	Direction string         `json:"direction,omitempty"`
	Protocol  string         `json:"protocol"`
	Src       string         `json:"src"`
	Dst       string         `json:"dst"`
	Tunnels   []layer        `json:"tunnels,omitempty"`
	Meaning   string         `json:"meaning"`
	Pause     *pause         `json:"pause,omitempty"`
	Fields    []foreignField `json:"fields"`
}

// pause is the JSON object of a [trace.Pause].
type pause struct {
	Classes []pauseClass `json:"classes"`
}

type pauseClass struct {
	Class  int    `json:"class"`
	Quanta uint16 `json:"quanta"`
}

type foreignField struct {
	Header string `json:"header"`
	Name   string `json:"name"`
	Value  string `json:"value"`
}

// Foreign writes a packet of another fabric protocol, or a pause frame.
func (w *Writer) Foreign(f *trace.Foreign) error { return w.enc.Encode(foreignOf(f)) }

func foreignOf(f *trace.Foreign) *foreign {
	o := &foreign{Type: "foreign", Frame: f.Number, Time: instant(f.Time), Direction: f.Direction.String(),
		Protocol: f.Protocol.String(), Tunnels: layersOf(f.Outer), Meaning: f.Meaning, Fields: []foreignField{}}
	o.Src, o.Dst = f.Ends()
	if p := f.Pause; p != nil {
		o.Pause = &pause{Classes: []pauseClass{}}
		for c, q := range p.Quanta {
			if p.Classes>>c&1 != 0 {
				o.Pause.Classes = append(o.Pause.Classes, pauseClass{c, q})
			}
		}
	}
	for _, v := range f.Fields() {
		o.Fields = append(o.Fields, foreignField(v))
	}
	return o
}
