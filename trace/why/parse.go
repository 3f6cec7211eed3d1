package why

import (
	"errors"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/bth"
)

// maxLine is the maximum length of a line in bytes. The rest is ignored.
const maxLine = 16 << 10

// Complaint is what a line of a log says about a failed work request. Unknown numbers are 0.
type Complaint struct {
	Format string // what wrote the line, such as "NCCL"
	Status Status
	// Responder reports whether the line is about the responder, which refused a request: Status is
	// then that of the requester.
	Responder     bool
	QPN, PeerQPN  bth.QPN
	Local, Remote netip.Addr
	// Socket is the address of the peer's TCP socket, which may be in another network than the
	// queue pair.
	Socket  netip.Addr
	Op      string // operation, as the line names it
	RKey    uint32
	Address uint64 // remote virtual address
}

var errNoFacts = errors.New("the line names neither a queue pair, an address nor a status of a work completion")

// Parse returns what line says. It tries the formats in order; the last one looks for names and
// numbers in any text. It returns an error if the line says nothing about a work request.
func Parse(line string) (Complaint, error) {
	line = line[:min(len(line), maxLine)]
	for i := range formats {
		f := &formats[i]
		if f.trigger != nil && !f.trigger.MatchString(line) {
			continue
		}
		c := Complaint{Format: f.Name, Status: NoStatus}
		for _, r := range f.fields {
			c.take(r, line)
		}
		if c.Status == NoStatus && !f.noText {
			c.Status = statusIn(line)
		}
		if f.trigger == nil && c == (Complaint{Format: f.Name, Status: NoStatus}) {
			return c, errNoFacts
		}
		return c, nil
	}
	return Complaint{Status: NoStatus}, errNoFacts
}

// take sets the fields of c that the named groups of r find in line, unless they are set.
func (c *Complaint) take(r *regexp.Regexp, line string) {
	m := r.FindStringSubmatch(line)
	for i, name := range r.SubexpNames() {
		if i >= len(m) || m[i] == "" {
			continue
		}
		c.set(name, m[i])
	}
}

// set sets the field of c that the group with the given name is for.
func (c *Complaint) set(name, v string) {
	switch name {
	case "status":
		if n, err := strconv.ParseUint(v, 0, 8); err == nil && c.Status == NoStatus {
			c.Status = Status(n)
		}
	case "name":
		if c.Status == NoStatus {
			c.Status = statusIn(v)
		}
	case "synd":
		if n, err := strconv.ParseUint(v, 16, 8); err == nil && c.Status == NoStatus {
			if s, ok := syndromes[n]; ok {
				c.Status = s
			}
		}
	case "event":
		if s, ok := events[strings.ToLower(v)]; ok {
			c.Status, c.Responder = s, true
		}
	case "qpn":
		setQPN(&c.QPN, v, 0)
	case "qpx":
		setQPN(&c.QPN, strings.ReplaceAll(v, " ", ""), 16)
	case "rqpn":
		setQPN(&c.PeerQPN, v, 0)
	case "local":
		setAddr(&c.Local, v)
	case "remote":
		setAddr(&c.Remote, v)
	case "socket":
		setAddr(&c.Socket, v)
	case "op":
		c.Op = v
	case "rkey":
		if n, err := strconv.ParseUint(v, 0, 32); err == nil {
			c.RKey = uint32(n)
		}
	case "va":
		if n, err := strconv.ParseUint(v, 0, 64); err == nil {
			c.Address = n
		}
	}
}

// setQPN sets q to the number v in the given base, unless it is set. QPNs have 24 bits.
func setQPN(q *bth.QPN, v string, base int) {
	if base == 0 && !strings.HasPrefix(v, "0x") {
		base = 10 // no octal numbers
	}
	if n, err := strconv.ParseUint(v, base, 24); err == nil && *q == 0 {
		*q = bth.QPN(n)
	}
}

// setAddr sets a to the address or GID v, unless it is set. A GID may also be 16 decimal or
// hexadecimal bytes, or the eight groups of sysfs. IPv4 addresses in GIDs are unmapped.
func setAddr(a *netip.Addr, v string) {
	if a.IsValid() {
		return
	}
	p, err := netip.ParseAddr(strings.Trim(v, "[]"))
	if err != nil {
		parts := strings.Split(v, ":")
		if len(parts) != 16 {
			return
		}
		var b [16]byte
		base := 10 // perftest
		for _, s := range parts {
			if len(s) == 2 && strings.ContainsAny(s, "abcdefABCDEF") {
				base = 16
			}
		}
		for i, s := range parts {
			n, err := strconv.ParseUint(s, base, 8)
			if err != nil {
				return
			}
			b[i] = byte(n)
		}
		p = netip.AddrFrom16(b)
	}
	if p = p.Unmap().WithZone(""); !p.IsUnspecified() {
		*a = p
	}
}
