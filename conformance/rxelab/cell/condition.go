package cell

import (
	"slices"
	"strings"
)

// Direction is the direction of the packets that a condition disturbs.
type Direction uint8

// The directions.
const (
	Neither Direction = iota
	ToRxe
	ToGorxe
	BothWays // not used in any cell
)

func (d Direction) String() string { return [...]string{"", "to rxe", "to gorxe", "both ways"}[d] }

// Has reports whether d includes the direction way.
func (d Direction) Has(way Direction) bool { return d == way || d == BothWays }

// Condition is a disturbance of the network. Netem holds the arguments of tc's netem; nil: no
// disturbance. Fault is the equivalent value of gorxe's --fault, for runs without netem.
type Condition struct {
	Name      string
	Direction Direction
	Netem     []string
	Fault     string
}

// String returns the full name of the condition.
func (c Condition) String() string {
	if c.Direction == Neither {
		return c.Name
	}
	return c.Name + " " + c.Direction.String()
}

const (
	fewLost    = "loss 1 %"
	reordering = "reorder 5 %"
)

// Disturbances are applied in each direction. In reordering, one packet in twenty is delayed, and
// most of the others overtake it.
var Disturbances = []Condition{
	{Name: fewLost, Netem: []string{"loss", "1%"}, Fault: "drop=1%"},
	{Name: "loss 5 %", Netem: []string{"loss", "5%"}, Fault: "drop=5%"},
	{Name: reordering, Netem: []string{"delay", "2ms", "reorder", "95%"}, Fault: "reorder=5%"},
	{Name: "duplicate 5 %", Netem: []string{"duplicate", "5%"}, Fault: "duplicate=5%"},
}

// Clean is the undisturbed network.
var Clean = Condition{Name: "clean"}

// Conditions returns all conditions of the matrix, Clean first.
func Conditions() []Condition {
	all := []Condition{Clean}
	for _, c := range Disturbances {
		for _, d := range []Direction{ToRxe, ToGorxe} {
			c.Direction = d
			all = append(all, c)
		}
	}
	return all
}

// Impaired reports whether packets are lost, duplicated or delayed, so that runs take much
// longer.
func (c Condition) Impaired() bool { return c.Direction != Neither }

// loses reports whether packets are lost.
func (c Condition) loses() bool { return slices.Contains(c.Netem, "loss") }

// queueLimit is the length of netem's queue in packets, large enough that the queue itself drops
// nothing.
const queueLimit = "20000"

// QueueDiscipline returns the arguments of tc qdisc for the condition.
func (c Condition) QueueDiscipline() []string {
	return append([]string{"netem", "limit", queueLimit}, c.Netem...)
}

// Slug makes a name usable as a file name.
func Slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			return r
		}
		return '-'
	}, strings.ReplaceAll(s, " %", "pc")), "-")
}
