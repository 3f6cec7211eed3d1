package linktest

import (
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

// announced compares the IP header on the wire with the values that Prepare set, because the ICRC
// covers them.
func (s *suite) announced(t *testing.T) {
	a, b := s.ends(t)
	s.checkAnnounced(t, a, b)
}

// checkAnnounced sends frames from a to a.to, which b receives, and compares their headers as
// announced does.
func (s *suite) checkAnnounced(t *testing.T, a, b *end) {
	var wire Wire
	if s.wire != nil {
		wire = s.wire(t)
	} else if !b.link.Caps().ReportsHeader {
		t.Fatal("the link does not see IP headers: name how to look at the wire (WithWire), or say that nobody can (Unwatched)")
	}
	seen := make(map[uint32]bool)
	total, datagrams := 0, 0
	for _, batch := range [][]struct{ size, frames int }{
		{{100, 1}},
		// A frame that is not part of a train ends the train before it, as does a frame longer than
		// those of the train.
		{{700, 20}, {64, 1}, {128, 2}, {16, 3}},
		{{1024, 40}},
	} {
		sent := 0
		for _, run := range batch {
			for range run.frames {
				a.put(&a.to, run.size, 1)
			}
			sent += run.frames
		}
		a.mustFlush()
		// If the link sees headers, expectAll checks them.
		b.expectAll(sent)
		for total += sent; wire != nil && len(seen) < total; {
			ip, err := wire()
			if err != nil {
				t.Fatalf("looking at the wire: %v; %d of %d frames seen", err, len(seen), total)
			}
			before := len(seen)
			if err := checkWire(ip, a, seen); err != nil {
				t.Fatal(err)
			}
			if len(seen) > before {
				datagrams++
			}
		}
	}
	if wire != nil {
		t.Logf("%d frames were %d datagrams on the wire", total, datagrams)
	}
}

// checkWire checks one captured datagram, if a sent it, and marks its frames as seen.
func checkWire(ip []byte, a *end, seen map[uint32]bool) error {
	var id, flags uint16
	var udp []byte
	switch {
	case len(ip) >= 28 && ip[0] == 0x45 && ip[9] == 17:
		id, flags = binary.BigEndian.Uint16(ip[4:]), binary.BigEndian.Uint16(ip[6:])
		udp = ip[20:]
	case len(ip) >= 48 && ip[0]>>4 == 6 && ip[6] == 17:
		udp = ip[40:]
	default:
		return nil
	}
	src := a.link.Local().AsSlice()
	if at := len(ip) - len(udp) - 2*len(src); string(ip[at:at+len(src)]) != string(src) ||
		binary.BigEndian.Uint16(udp[2:]) != packet.Port {
		return nil
	}
	// A datagram with several frames is an unsegmented train: its segments will have
	// consecutive IDs.
	for data := udp[8:]; len(data) >= overhead; id++ {
		n := binary.BigEndian.Uint32(data)
		size := int(binary.BigEndian.Uint32(data[4:])) + overhead
		if size > len(data) {
			return errors.New("a datagram on the wire is cut short")
		}
		f := packet.Received{
			Data: data[:size], SrcPort: binary.BigEndian.Uint16(udp), HeaderSeen: true, FlagsFragment: flags,
		}
		if flags != 0 {
			f.ID = id
		}
		if err := check(&f, n); err != nil {
			return err
		}
		seen[n] = true
		data = data[size:]
	}
	return nil
}

func (s *suite) closeWakes(t *testing.T) {
	a, b := s.ends(t)
	done := make(chan error)
	for range 2 {
		go func() {
			in := packet.NewRecvBatch(4)
			for {
				if err := b.link.Recv(in); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	// A received frame shows that the goroutine is waiting in Recv, or is about to.
	a.put(&a.to, 10, 1)
	a.mustFlush()
	closeLink(t, b.link)
	for range 2 {
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Recv: %v, want net.ErrClosed", err)
		}
	}
}

func (s *suite) closed(t *testing.T) {
	a, _ := s.ends(t)
	for range 2 {
		closeLink(t, a.link)
		a.put(&a.to, 10, 1)
		if err := a.flush(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Send: %v, want net.ErrClosed", err)
		}
		if _, err := a.recv(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Recv: %v, want net.ErrClosed", err)
		}
	}
}

func (s *suite) noGoroutine(t *testing.T) {
	a, b := s.open(t)
	watch(t, a, b)
	ends := []packet.Link{a, b}
	done := make(chan error)
	for _, l := range ends {
		go func() {
			in := packet.NewRecvBatch(1)
			done <- l.Recv(in)
		}()
	}
	for _, l := range ends {
		closeLink(t, l)
		<-done
	}
	// A goroutine that has finished its work may need a moment to exit.
	var left string
	for range 10000 {
		if left = ours(); left == "" {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("after Close there is still:\n%s", left)
}

// ours returns the stack of a goroutine of a link, other than the calling goroutine; "" if there is
// none.
func ours() string {
	buf := make([]byte, 1<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	for _, s := range stacks[1:] {
		started := strings.Contains(s, "created by github.com/gorxe/gorxe/packet/")
		if started && !strings.Contains(s, "created by github.com/gorxe/gorxe/packet/linktest") {
			return s
		}
	}
	return ""
}
