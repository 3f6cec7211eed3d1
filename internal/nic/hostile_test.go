package nic

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

var addrC = netip.MustParseAddr("192.0.2.66")

// victim is a device with one connected queue pair, whose peer the test controls, and a stranger.
type victim struct {
	*end
	peer, stranger *rawPeer
	kept           []byte
}

const peerQPN, peerPSN = bth.QPN(0x55), bth.PSN(700)

func newVictim(t *testing.T, n *pipe.Net) *victim {
	v := &victim{end: newEnd(t, 1, openLink(t, n, addrA), 4096)}
	v.peer, v.stranger = newRawPeer(t, n, addrB), newRawPeer(t, n, addrC)
	v.connect(v.qp, addrB, peerQPN, peerPSN, usualRetry)
	fill(v.buf, 3)
	v.kept = bytes.Clone(v.buf)
	return v
}

func (v *victim) close() {
	closeAll(v.t, v.end)
	v.peer.link.Close()
	v.stranger.link.Close()
}

// valid returns a WRITE that the victim would execute.
func (v *victim) valid() *bth.Packet {
	return &bth.Packet{
		Opcode: bth.RCWriteOnly, PKey: 0xffff, DestQP: v.qp.Num(), AckReq: true, PSN: peerPSN,
		RETH:    bth.RETH{VA: v.mem.IOVA(), RKey: v.mem.RKey(), DMALen: 8},
		Payload: []byte("attacked"),
	}
}

// untouched fails the test if the victim answered, wrote, or counted anything except drops.
func (v *victim) untouched(drops map[string]uint64) {
	v.t.Helper()
	synctest.Wait()
	if d := cmp.Diff(drops, v.drops()); d != "" {
		v.t.Errorf("drop counters (-want +got):\n%s", d)
	}
	if a := append(v.peer.answers(), v.stranger.answers()...); len(a) > 0 {
		v.t.Errorf("answered with %v: a dropped packet has no answer", a)
	}
	if !bytes.Equal(v.buf, v.kept) {
		v.t.Error("memory was written to")
	}
}

// alive fails the test unless the connection still works.
func (v *victim) alive() {
	v.t.Helper()
	v.peer.sendSealed(addrA, v.valid().Append(nil))
	synctest.Wait()
	a := v.peer.answers()
	if len(a) != 1 || a[0].Opcode != bth.RCAck || !a[0].AETH.Syndrome.IsAck() {
		v.t.Fatalf("a good packet was answered with %v, want one ACK", a)
	}
	if string(v.buf[:8]) != "attacked" {
		v.t.Error("a good WRITE was not executed")
	}
}

func TestHostilePackets(t *testing.T) {
	with := func(change func(*bth.Packet)) func(*victim) []byte {
		return func(v *victim) []byte {
			p := v.valid()
			change(p)
			return p.Append(nil)
		}
	}
	edit := func(change func([]byte) []byte) func(*victim) []byte {
		return func(v *victim) []byte { return change(v.valid().Append(nil)) }
	}
	for _, c := range []struct {
		name   string
		bytes  func(*victim) []byte // without ICRC, which will be correct
		reason string
	}{
		{"the 48 bytes with an unknown opcode that stop a kernel", func(v *victim) []byte {
			b := v.valid().Append(nil)
			b[0] = 0x1f
			return append(b, make([]byte, 44-len(b))...)
		}, "unknown_opcode"},
		{"opcode of a reserved service", edit(func(b []byte) []byte { b[0] = 0xff; return b }), "unknown_opcode"},
		{"nothing but an ICRC", func(*victim) []byte { return nil }, "short_bth"},
		{"cut inside the BTH", edit(func(b []byte) []byte { return b[:4] }), "short_bth"},
		{"cut inside the RETH", edit(func(b []byte) []byte { return b[:12+8] }), "short_header"},
		{"a RETH where the ICRC should be", edit(func(b []byte) []byte { return b[:12+12] }), "short_icrc"},
		{"pad larger than the payload", edit(func(b []byte) []byte { b[1] |= 3 << 4; return b[:12+16] }), "bad_pad"},
		{"length that is not a multiple of 4", edit(func(b []byte) []byte { return append(b, 0) }), "unaligned_length"},
		{"payload longer than any path MTU", with(func(p *bth.Packet) { p.Payload = make([]byte, 4100) }), "oversize"},
		{"payload on an acknowledgement", with(func(p *bth.Packet) { p.Opcode = bth.RCAck }), "unexpected_payload"},
		{"version 1", edit(func(b []byte) []byte { b[1] |= 1; return b }), "bad_version"},
		{"another partition", with(func(p *bth.Packet) { p.PKey = 0x8001 }), "bad_pkey"},
		{"QPN that nobody has", with(func(p *bth.Packet) { p.DestQP ^= 0x800000 }), "unknown_qpn"},
		{"QPN 0", with(func(p *bth.Packet) { p.DestQP = 0 }), "unknown_qpn"},
		{"the GSI, which is not there", with(func(p *bth.Packet) { p.DestQP = bth.GSI }), "unknown_qpn"},
		{"multicast QPN", with(func(p *bth.Packet) { p.DestQP = bth.MulticastQPN }), "unknown_qpn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVictim(t, pipe.NewNet())
				defer v.close()
				v.peer.sendSealed(addrA, c.bytes(v))
				v.untouched(map[string]uint64{c.reason: 1})
				v.alive()
			})
		})
	}
}

func TestICRCDecides(t *testing.T) {
	t.Run("one bit wrong anywhere is a drop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := newVictim(t, pipe.NewNet())
			defer v.close()
			sealed := 0
			good := v.valid().Append(nil)
			for bit := range 8 * len(good) {
				switch at := bit / 8; {
				case at < 4: // opcode, version and P_Key have checks of their own
					continue
				case at == 4: // FECN, BECN and the reserved bits may change on the path
					continue
				}
				f := v.peer.frame(addrA, nil)
				f.Header = append(f.Header, good...)
				v.peer.out.seal(f)
				f.Header[bit/8] ^= 1 << (bit % 8)
				if err := v.peer.link.Send(v.peer.batch); err != nil {
					t.Fatal(err)
				}
				sealed++
			}
			v.untouched(map[string]uint64{"bad_icrc": uint64(sealed)})
			v.alive()
		})
	})
	t.Run("the identification is found where the link cannot see it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := pipe.NewNet()
			n.HideHeader = true
			v := newVictim(t, n)
			defer v.close()
			for i, id := range []uint16{0, 1, 0x8000, 0xffff} {
				p := v.valid()
				p.PSN = p.PSN.Add(uint32(i))
				v.peer.sendWithID(addrA, p.Append(nil), id)
			}
			synctest.Wait()
			if d := v.drops(); len(d) > 0 {
				t.Errorf("drops %v", d)
			}
			if n := v.counter("verdict_accepted"); n != 4 {
				t.Errorf("%d packets accepted, want 4", n)
			}
		})
	})
	t.Run("a header that was seen leaves nothing to find", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := newVictim(t, pipe.NewNet())
			defer v.close()
			b := v.valid().Append(nil)
			f := v.peer.frame(addrA, nil)
			f.Header = append(f.Header, b...)
			was := f.ID
			f.ID ^= 0x4321
			v.peer.out.seal(f)
			f.ID = was
			if err := v.peer.link.Send(v.peer.batch); err != nil {
				t.Fatal(err)
			}
			v.untouched(map[string]uint64{"bad_icrc": 1})
			v.alive()
		})
	})
	t.Run("four bytes of random ICRC", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := newVictim(t, pipe.NewNet())
			defer v.close()
			v.peer.send(addrA, append(v.valid().Append(nil), 1, 2, 3, 4))
			v.untouched(map[string]uint64{"bad_icrc": 1})
		})
	})
}

// Over IPv6 the ICRC covers nothing that is unknown to a socket: it is checked in full, whether
// the link saw the header or not.
func TestICRCOverIPv6(t *testing.T) {
	src, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	p := bth.Packet{Opcode: bth.RCSendOnly, PKey: 0xffff, Payload: []byte("12345678")}
	b := p.Append(nil)
	h := bth.Header6{
		Src: src.As16(), Dst: dst.As16(), SrcPort: 0xc123, DstPort: packet.Port,
		UDPLen: bth.UDPHeaderLen + len(b) + bth.ICRCLen,
	}
	b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
	for _, seen := range []bool{false, true} {
		f := packet.Received{Data: b, Src: src, Dst: dst, SrcPort: 0xc123, HeaderSeen: seen}
		if !new(inbox).icrcRight(&f) {
			t.Errorf("header seen %v: a right ICRC is refused", seen)
		}
		for name, change := range map[string]func(*packet.Received){
			"the payload":     func(f *packet.Received) { f.Data = bytes.Clone(f.Data); f.Data[15] ^= 1 },
			"the source":      func(f *packet.Received) { f.Src = f.Src.Next() },
			"the destination": func(f *packet.Received) { f.Dst = f.Dst.Next() },
			"the source port": func(f *packet.Received) { f.SrcPort++ },
		} {
			bad := f
			change(&bad)
			if new(inbox).icrcRight(&bad) {
				t.Errorf("header seen %v: accepted with %s changed", seen, name)
			}
		}
	}
}

// rxe 2.1: source and destination must be the two ends of the connection.
func TestStrangersAreDropped(t *testing.T) {
	t.Run("another source", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := newVictim(t, pipe.NewNet())
			defer v.close()
			v.stranger.sendSealed(addrA, v.valid().Append(nil))
			v.untouched(map[string]uint64{"stranger": 1})
			v.alive()
		})
	})
	t.Run("the right source to another of our addresses", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := pipe.NewNet()
			other := netip.MustParseAddr("192.0.2.77")
			d := openDevice(t, 1, openLink(t, n, addrA), openLink(t, n, other))
			v := &victim{end: &end{t: t, dev: d, pd: &mr.PD{}}}
			cq, err := d.CreateCQ(16)
			if err != nil {
				t.Fatal(err)
			}
			v.cq = cq
			v.qp = v.newQP()
			v.peer = newRawPeer(t, n, addrB)
			defer v.peer.link.Close()
			defer closeAll(t, v.end)
			v.connect(v.qp, addrB, peerQPN, peerPSN, usualRetry)
			p := &bth.Packet{Opcode: bth.RCSendOnly, PKey: 0xffff, DestQP: v.qp.Num(), PSN: peerPSN}
			v.peer.sendSealed(other, p.Append(nil))
			synctest.Wait()
			if d := cmp.Diff(map[string]uint64{"stranger": 1}, v.drops()); d != "" {
				t.Errorf("drop counters (-want +got):\n%s", d)
			}
		})
	})
	t.Run("a queue pair that has no peer yet", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := newVictim(t, pipe.NewNet())
			defer v.close()
			p := v.valid()
			p.DestQP = v.newQP().Num()
			v.peer.sendSealed(addrA, p.Append(nil))
			v.untouched(map[string]uint64{"stranger": 1})
		})
	})
}

// The peer itself may be told its error (IBA 9.7.5.2.8), once, and nothing else is sent.
func TestRefusedRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*victim, *bth.Packet)
		want   bth.Syndrome
	}{
		{"RETH address and length overflow", func(v *victim, p *bth.Packet) { p.RETH.VA = 1<<64 - 4 },
			bth.NakRemoteAccess},
		{"a byte before the region", func(v *victim, p *bth.Packet) { p.RETH.VA-- }, bth.NakRemoteAccess},
		{"a byte beyond the region", func(v *victim, p *bth.Packet) { p.RETH.VA += uint64(len(v.buf)) - 7 },
			bth.NakRemoteAccess},
		{"a key that nobody has", func(v *victim, p *bth.Packet) { p.RETH.RKey ^= 0x100 }, bth.NakRemoteAccess},
		{"a length that lies", func(v *victim, p *bth.Packet) { p.RETH.DMALen = 9 }, bth.NakInvalidRequest},
		{"a length of 4 GiB", func(v *victim, p *bth.Packet) { p.RETH.DMALen = 1<<32 - 1 }, bth.NakInvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVictim(t, pipe.NewNet())
				defer v.close()
				p := v.valid()
				c.change(v, p)
				v.peer.sendSealed(addrA, p.Append(nil))
				synctest.Wait()
				a := v.peer.answers()
				if len(a) != 1 || a[0].Opcode != bth.RCAck || a[0].AETH.Syndrome != c.want || a[0].PSN != peerPSN {
					t.Errorf("answered with %+v, want one NAK %v", a, c.want)
				}
				if !bytes.Equal(v.buf, v.kept) {
					t.Error("memory was written to")
				}
				if s := v.qp.State(); s != qp.ERR {
					t.Errorf("the queue pair is in %v, want ERR", s)
				}
				v.peer.sendSealed(addrA, v.valid().Append(nil))
				synctest.Wait()
				if a := v.peer.answers(); len(a) > 0 {
					t.Errorf("a queue pair in ERR answered with %v", a)
				}
			})
		})
	}
}
