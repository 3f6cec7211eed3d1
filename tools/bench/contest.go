package bench

import (
	"cmp"
	"fmt"
	"slices"
)

// Metric is what a contest measures, named by its unit.
type Metric string

// The metrics there are.
const (
	Bandwidth   Metric = "Gbit/s"
	Latency     Metric = "µs"           // half a round trip
	MessageRate Metric = "M messages/s" // millions of messages a second
	StartUp     Metric = "ms"           // from the start of a program to its end
)

// Contest is one question: who of several is better at the same thing on the same path.
type Contest struct {
	Name   string `json:"name"` // short, for -run and file names
	Title  string `json:"title"`
	About  string `json:"about"` // what is measured, a sentence or two
	Metric Metric `json:"metric"`
	// Loss is the part of the packets that the path loses on either way, 0 to 1.
	Loss float64 `json:"loss,omitempty"`
	// OneHost puts both ends on the server's host, each on the core of its end.
	OneHost bool `json:"one_host,omitempty"`
	// Messages is how many messages a latency test exchanges for each second, 0: as many as in the other contests.
	Messages   int         `json:"messages,omitempty"`
	Contenders []Contender `json:"contenders"`
	Ratios     []Ratio     `json:"ratios,omitempty"`
}

// Contender is a program with what it is told to do.
type Contender struct {
	Name string `json:"name"`
	Tool string `json:"tool"` // a key of tools
	// Server is the tool of the server where that is another one.
	Server string   `json:"server,omitempty"`
	Args   []string `json:"args,omitempty"`
	// Gorxe is what gorxe is told besides.
	Gorxe []string `json:"gorxe,omitempty"`
	// Busy adds a process that computes without a pause on the cores of the server's end.
	Busy bool `json:"busy,omitempty"`
	// Build is the file of another gorxe; empty for the one that measures.
	Build string `json:"build,omitempty"`
}

// tool is that of an end.
func (d *Contender) tool(end int) *tool {
	if end == Server && d.Server != "" {
		return tools[d.Server]
	}
	return tools[d.Tool]
}

// Ratio is a question of a contest that has a number for an answer: how often has Of what To has? Without To it is what Of has.
type Ratio struct {
	Of string `json:"of"` // names of contenders
	To string `json:"to,omitempty"`
	// Difference subtracts what To has instead of dividing by it.
	Difference bool `json:"difference,omitempty"`
	// Tail asks for the 99th percentile of the single messages of Of divided by their median. There
	// is no To.
	Tail    bool    `json:"tail,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"` // what is aimed at, 0: nothing
	AtMost  float64 `json:"at_most,omitempty"`
}

// Goal says what is aimed at, "" for nothing.
func (r Ratio) Goal() string {
	switch {
	case r.AtLeast > 0:
		return fmt.Sprintf("≥ %g", r.AtLeast)
	case r.AtMost > 0:
		return fmt.Sprintf("≤ %g", r.AtMost)
	}
	return ""
}

// Reached reports whether a ratio is what is aimed at.
func (r Ratio) Reached(v float64) bool {
	return v >= r.AtLeast && (r.AtMost == 0 || v <= r.AtMost)
}

// contender returns the one of a name, nil if there is none.
func (c *Contest) contender(name string) *Contender {
	i := slices.IndexFunc(c.Contenders, func(d Contender) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Contenders[i]
}

// Only keeps the contenders for which keep is true, and the ratios among them.
func (c *Contest) Only(keep func(contest, contender string) bool) {
	out := func(name string) bool { return !keep(c.Name, name) }
	c.Contenders = slices.DeleteFunc(c.Contenders, func(d Contender) bool { return out(d.Name) })
	c.Ratios = slices.DeleteFunc(c.Ratios, func(r Ratio) bool { return out(r.Of) || r.To != "" && out(r.To) })
}

// Valid says what is wrong with a contest's data.
func (c *Contest) Valid() error {
	if c.Loss < 0 || c.Loss >= 1 {
		return fmt.Errorf("contest %s: its path loses %v of the packets, want 0 to less than 1", c.Name, c.Loss)
	}
	for i, d := range c.Contenders {
		for end, name := range [...]string{cmp.Or(d.Server, d.Tool), d.Tool} {
			t := d.tool(end)
			switch {
			case t == nil:
				return fmt.Errorf("contest %s: %s runs %q, which is no tool", c.Name, d.Name, name)
			case d.Busy && t.alone:
				return fmt.Errorf("contest %s: %s has a busy neighbour of its server, and no server", c.Name, d.Name)
			case t.many && len(d.Args) == 0:
				return fmt.Errorf("contest %s: %s does not say which of the programs of %s it runs", c.Name, d.Name, name)
			}
		}
		if slices.ContainsFunc(c.Contenders[:i], func(o Contender) bool { return o.Name == d.Name }) {
			return fmt.Errorf("contest %s: %s takes part twice", c.Name, d.Name)
		}
	}
	for _, r := range c.Ratios {
		if r.Tail && (r.To != "" || c.Metric != Latency) {
			return fmt.Errorf("contest %s: p99 to median of %s is asked for beside %q of %s", c.Name, r.Of, r.To, c.Metric)
		}
		names := []string{r.Of}
		if r.To != "" {
			names = append(names, r.To)
		}
		for _, name := range names {
			if c.contender(name) == nil {
				return fmt.Errorf("contest %s: a ratio is of %s, who does not take part", c.Name, name)
			}
		}
	}
	return nil
}
