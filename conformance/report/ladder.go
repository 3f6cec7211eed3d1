package report

import (
	"fmt"
	"strings"
)

// Ladder returns the packets of c as text, one per line, with the notes of the script before and
// the findings of package trace after it. It is empty if c has no packets.
func (c *Case) Ladder() string { return strings.Join(c.ladder(len(c.Packets)), "\n") }

// ladder returns the lines of the last n packets.
func (c *Case) ladder(n int) []string {
	var lines []string
	if left := len(c.Packets) - n; left > 0 {
		lines = append(lines, fmt.Sprintf("%13s%s", "", earlier(left)))
	}
	previous := 0
	for _, p := range c.Packets[max(0, len(c.Packets)-n):] {
		if gap := p.Frame - previous - 1; previous > 0 && gap > 0 {
			lines = append(lines, fmt.Sprintf("%13s… %d packets are not shown", "", gap))
		}
		previous = p.Frame
		for _, note := range p.Notes {
			lines = append(lines, fmt.Sprintf("%13s# %s", "", note))
		}
		lines = append(lines, p.line())
		for _, f := range p.Findings {
			lines = append(lines, fmt.Sprintf("%13s! %s", "", f))
		}
	}
	if n := c.dropped(); n > 0 {
		lines = append(lines, fmt.Sprintf("%13s… %d more packets were not kept", "", n))
	}
	return lines
}

func earlier(n int) string {
	if n == 1 {
		return "… 1 earlier packet"
	}
	return fmt.Sprintf("… %d earlier packets", n)
}

// dropped returns the number of packets behind the last one of c.Packets.
func (c *Case) dropped() int {
	if len(c.Packets) == 0 {
		return c.Omitted
	}
	between := c.Packets[len(c.Packets)-1].Frame - len(c.Packets)
	return max(0, c.Omitted-between)
}

func (p *Packet) line() string {
	arrow := "tester ◀── device"
	if p.Sent {
		arrow = "tester ──▶ device"
	}
	return fmt.Sprintf("%11.6f  %s  %s%s", p.Seconds, arrow, p.numbers(), p.What())
}

// numbers returns the queue pair and the PSN, if there is a BTH.
func (p *Packet) numbers() string {
	if p.Opcode == "" {
		return ""
	}
	return fmt.Sprintf("QP 0x%06x  PSN %8d  ", p.QPN, p.PSN)
}

// What returns the meaning of p, or its opcode if it has none.
func (p *Packet) What() string {
	switch {
	case p.Meaning != "":
		return p.Meaning
	case p.Opcode != "":
		return p.Opcode
	}
	return fmt.Sprintf("%d bytes without a BTH", p.Length)
}
