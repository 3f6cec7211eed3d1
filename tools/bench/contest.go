package bench

import (
	"cmp"
	"fmt"
	"slices"
)

// Metric is what a contest measures, named by its unit.
type Metric string

// The metrics.
const (
	Bandwidth   Metric = "Gbit/s"
	Latency     Metric = "µs"           // half a round trip
	MessageRate Metric = "M messages/s" // millions of messages per second
	StartUp     Metric = "ms"           // from the start of a program to its end
)

// Contest compares several contenders in one task on one path.
type Contest struct {
	Name   string `json:"name"` // short, for -run and file names
	Title  string `json:"title"`
	About  string `json:"about"` // description of the measurement, a sentence or two
	Metric Metric `json:"metric"`
	// Loss is the fraction of packets that the path loses in each direction, 0 to 1.
	Loss float64 `json:"loss,omitempty"`
	// OneHost puts both ends on the server's host, each on the core of its end.
	OneHost bool `json:"one_host,omitempty"`
	// Messages is the number of messages of a latency test per second; 0: Options.Messages.
	Messages   int         `json:"messages,omitempty"`
	Contenders []Contender `json:"contenders"`
	Ratios     []Ratio     `json:"ratios,omitempty"`
}

// Contender is a program with its arguments.
type Contender struct {
	Name string `json:"name"`
	Tool string `json:"tool"` // a key of tools
	// Server is the tool of the server if it differs from Tool.
	Server string   `json:"server,omitempty"`
	Args   []string `json:"args,omitempty"`
	// Gorxe has additional arguments of gorxe.
	Gorxe []string `json:"gorxe,omitempty"`
	// Busy adds a process that computes without a pause on the cores of the server's end.
	Busy bool `json:"busy,omitempty"`
	// Build is the file of another build of gorxe; empty: the one under test.
	Build string `json:"build,omitempty"`
}

// tool returns the tool of an end, nil if there is no tool of that name.
func (d *Contender) tool(end int) *tool {
	if end == Server && d.Server != "" {
		return tools[d.Server]
	}
	return tools[d.Tool]
}

// Ratio asks for the value of Of divided by that of To; without To, for the value of Of.
type Ratio struct {
	Of string `json:"of"` // names of contenders
	To string `json:"to,omitempty"`
	// Difference subtracts the value of To instead of dividing by it.
	Difference bool `json:"difference,omitempty"`
	// Tail asks for the 99th percentile of the message times of Of divided by their median. To
	// is empty.
	Tail      bool    `json:"tail,omitempty"`
	MinTarget float64 `json:"at_least,omitempty"` // target, 0: none
	MaxTarget float64 `json:"at_most,omitempty"`
}

// Goal returns the target as text, "" if there is none.
func (r Ratio) Goal() string {
	switch {
	case r.MinTarget > 0:
		return fmt.Sprintf("≥ %g", r.MinTarget)
	case r.MaxTarget > 0:
		return fmt.Sprintf("≤ %g", r.MaxTarget)
	}
	return ""
}

// Met reports whether v meets the target.
func (r Ratio) Met(v float64) bool {
	return v >= r.MinTarget && (r.MaxTarget == 0 || v <= r.MaxTarget)
}

// contender returns the contender with the given name, nil if there is none.
func (c *Contest) contender(name string) *Contender {
	i := slices.IndexFunc(c.Contenders, func(d Contender) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Contenders[i]
}

// Only keeps the contenders for which keep returns true, and the ratios between them.
func (c *Contest) Only(keep func(contest, contender string) bool) {
	out := func(name string) bool { return !keep(c.Name, name) }
	c.Contenders = slices.DeleteFunc(c.Contenders, func(d Contender) bool { return out(d.Name) })
	c.Ratios = slices.DeleteFunc(c.Ratios, func(r Ratio) bool { return out(r.Of) || r.To != "" && out(r.To) })
}

// Valid returns an error if the contest's data is inconsistent.
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
			case d.Busy && t.noServer:
				return fmt.Errorf("contest %s: %s has a busy neighbour of its server, and no server", c.Name, d.Name)
			case t.prefix && len(d.Args) == 0:
				return fmt.Errorf("contest %s: %s does not say which of the programs of %s it runs", c.Name,
					d.Name, name)
			}
		}
		if slices.ContainsFunc(c.Contenders[:i], func(o Contender) bool { return o.Name == d.Name }) {
			return fmt.Errorf("contest %s: %s takes part twice", c.Name, d.Name)
		}
	}
	for _, r := range c.Ratios {
		if r.Tail && (r.To != "" || c.Metric != Latency) {
			return fmt.Errorf("contest %s: p99 to median of %s is asked for beside %q of %s", c.Name, r.Of,
				r.To, c.Metric)
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
