package join

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/gorxe/gorxe/trace/text"
)

// MaxPoints is the maximum number of captures of a [Chain].
const MaxPoints = 8

// Chain is the result of joining captures at several points of one path, such as those of a host,
// of a switch and of the other host: a [Report] for each two neighbours.
type Chain struct {
	Names    []string  // of the captures, in path order
	Segments []*Report // Segments[i] joins captures i and i+1
}

// JoinChain joins each capture of in with the next one. relations are those of the neighbours; see
// [Detect]. The captures must be in the order in which packets of one direction pass them, else the
// error tells. o applies to each join, except Names and Offset. An error of a capture names it; the
// Chain then has the segments that were read.
func JoinChain(ctx context.Context, in []Input, relations []Relation, o Options) (*Chain, error) {
	if len(in) < 2 || len(in) > MaxPoints || len(relations) != len(in)-1 {
		return nil, fmt.Errorf("%d captures with %d relations: 2 to %d captures of one path can be joined", len(in),
			len(relations), MaxPoints)
	}
	c := &Chain{Names: []string{in[0].Name}}
	for i := range relations {
		o.Names, o.Offset = [2]string{in[i].Name, in[i+1].Name}, relations[i].Offset
		r, err := joinFiles(ctx, in[i:i+2], o)
		if r != nil {
			c.Names, c.Segments = append(c.Names, in[i+1].Name), append(c.Segments, r)
		}
		if err != nil {
			return c, err
		}
	}
	if err := c.checkOrder(); err != nil {
		return nil, err
	}
	return c, nil
}

// joinFiles joins two captures.
func joinFiles(ctx context.Context, in []Input, o Options) (r *Report, err error) {
	var src [2]*Files
	for i := range src {
		if src[i], err = NewFiles(in[i : i+1]); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, src[i].Close()) }()
	}
	return Join(ctx, src[0], src[1], o)
}

// checkOrder returns an error if the segments disagree about the order in which packets pass the
// captures.
func (c *Chain) checkOrder() error {
	type ends struct{ src, dst netip.Addr }
	first := map[ends]string{} // Direction.First in an earlier segment
	for i, r := range c.Segments {
		for _, d := range r.Directions {
			k := ends{d.Src, d.Dst}
			switch was := first[k]; {
			case d.First == "" || d.Counts.Both == 0:
			case was == "":
				first[k] = d.First
			case was != d.First:
				x, y := c.Names[i], c.Names[i+1]
				if d.First == "B" {
					x, y = y, x
				}
				return fmt.Errorf("the captures are not in the order of the path: packets from %s to %s pass %s "+
					"before %s, but the captures before them in the opposite order. Give them in the order in which "+
					"packets pass them, such as host, switch, other host", d.Src, d.Dst, text.Plain(x), text.Plain(y))
			}
		}
	}
	return nil
}

// Way has the losses of the packets that pass the captures of a [Chain] in one order.
type Way struct {
	// Lost has one more number than the Chain has captures: the packets lost before the first
	// capture that they pass, between that and the second, and so on, and behind the last one.
	Lost []uint64
	// Unknown is the number of packets that were lost at an unknown place. A packet that several
	// segments do not place is counted in each.
	Unknown uint64
}

// Ways returns the losses of packets that pass the captures in the order of Names, and of those
// that pass them in the opposite order.
func (c *Chain) Ways() (forth, back Way) {
	n := len(c.Segments)
	forth.Lost, back.Lost = make([]uint64, n+2), make([]uint64, n+2)
	for i, r := range c.Segments {
		for _, d := range r.Directions {
			w, at := &forth, i
			switch d.First {
			case "B":
				w, at = &back, n-1-i
			case "":
				forth.Unknown += d.Counts.Lost[Somewhere]
				continue
			}
			w.Lost[at+1] += d.Counts.Lost[Between]
			w.Unknown += d.Counts.Lost[Somewhere]
			if at == 0 {
				w.Lost[0] += d.Counts.Lost[Before]
			}
			if at == n-1 {
				w.Lost[n+1] += d.Counts.Lost[Behind]
			}
		}
	}
	return forth, back
}

// WriteText writes c for people: the losses at each place of the path, and the report of each
// segment.
func (c *Chain) WriteText(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	forth, back := c.Ways()
	for i, way := range []Way{forth, back} {
		names := make([]string, len(c.Names))
		for k, n := range c.Names {
			if i == 1 {
				k = len(names) - 1 - k
			}
			names[k] = text.Plain(n)
		}
		fmt.Fprintf(b, "path       ")
		for k, n := range names {
			if k > 0 {
				fmt.Fprint(b, " → ")
			}
			fmt.Fprint(b, n)
		}
		fmt.Fprintln(b)
		for k, n := range way.Lost {
			place := ""
			switch k {
			case 0:
				place = "before " + names[0]
			case len(names):
				place = "behind " + names[k-1]
			default:
				place = "between " + names[k-1] + " and " + names[k]
			}
			fmt.Fprintf(b, "  %7d  lost %s\n", n, place)
		}
		if way.Unknown > 0 {
			fmt.Fprintf(b, "  %7d  lost at an unknown place\n", way.Unknown)
		}
	}
	for i, r := range c.Segments {
		fmt.Fprintf(b, "\nsegment %d: A is %s, B is %s\n", i+1, text.Plain(c.Names[i]), text.Plain(c.Names[i+1]))
		if err := b.Flush(); err != nil {
			return err
		}
		if err := r.WriteText(w); err != nil {
			return err
		}
	}
	return b.Flush()
}

// WriteJSON writes c as one JSON object per line. The member "type" is path (two objects, one for
// each order of the captures) or segment; the lines after a segment are those of
// [Report.WriteJSON].
func (c *Chain) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	forth, back := c.Ways()
	names := make([]string, len(c.Names))
	reversed := make([]string, len(c.Names))
	for i, n := range c.Names {
		names[i], reversed[len(names)-1-i] = text.Plain(n), text.Plain(n)
	}
	for _, p := range []jsonPath{
		{"path", names, forth.Lost, forth.Unknown}, {"path", reversed, back.Lost, back.Unknown},
	} {
		if err := e.Encode(p); err != nil {
			return err
		}
	}
	for i, r := range c.Segments {
		if err := e.Encode(jsonSegment{"segment", i + 1, names[i], names[i+1]}); err != nil {
			return err
		}
		if err := r.WriteJSON(w); err != nil {
			return err
		}
	}
	return nil
}

type jsonPath struct {
	Type     string   `json:"type"`
	Captures []string `json:"captures"`
	// Lost is Way.Lost.
	Lost    []uint64 `json:"lost"`
	Unknown uint64   `json:"lost_unknown"`
}

type jsonSegment struct {
	Type    string `json:"type"`
	Segment int    `json:"segment"`
	A       string `json:"a"`
	B       string `json:"b"`
}
