// Package ulptraffic generates captures of upper-layer protocols over RoCEv2 for tests: NVMe over
// Fabrics, iSER, SMB Direct and NFS over RDMA. The bytes follow the specifications that package
// ulp names; no implementation of the protocols was used.
package ulptraffic

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
)

// Captures returns the captures as pcap files, by name.
func Captures() map[string][]byte {
	all := map[string][]byte{}
	for name, talk := range map[string]func(*wire){"nvme": nvme, "iser": iser, "smbdirect": smbDirect, "nfs": nfs} {
		w := newWire()
		talk(w)
		all[name] = w.pcap
	}
	return all
}

var (
	client = netip.MustParseAddr("198.18.0.2")
	server = netip.MustParseAddr("198.18.0.3")
)

const (
	mtu     = 1024
	step    = 3_000 // nanoseconds between packets
	udpPort = 4791
)

// wire is a capture in the making.
type wire struct {
	pcap  []byte
	now   int64 // nanoseconds since the beginning
	ids   [2]uint16
	gsi   [2]bth.PSN
	comms mad.CommID
}

func newWire() *wire {
	w := &wire{pcap: binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d)} // nanoseconds
	w.pcap = append(w.pcap, 2, 0, 4, 0)
	w.pcap = append(w.pcap, 0, 0, 0, 0, 0, 0, 0, 0)
	w.pcap = binary.LittleEndian.AppendUint32(w.pcap, 1<<16)
	w.pcap = binary.LittleEndian.AppendUint32(w.pcap, 1) // Ethernet
	return w
}

// put adds a packet from the client (0) or the server (1), from a UDP source port.
func (w *wire) put(from int, port uint16, p bth.Packet) {
	src, dst := client, server
	if from == 1 {
		src, dst = dst, src
	}
	p.PKey, p.MigReq = 0xffff, true
	w.ids[from]++
	b := p.Append(nil)
	h := bth.Header4{Src: src.As4(), Dst: dst.As4(), ID: w.ids[from], FlagsFragment: 0x4000, SrcPort: port,
		DstPort: udpPort, UDPLen: bth.UDPHeaderLen + len(b) + bth.ICRCLen}
	b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))

	be := binary.BigEndian
	f := []byte{2, 0, 0, 0, 0, byte(2 - from), 2, 0, 0, 0, 0, byte(1 + from), 8, 0}
	ip := make([]byte, 20)
	ip[0], ip[1], ip[6], ip[8], ip[9] = 0x45, 2, 0x40, 64, 17
	be.PutUint16(ip[2:], uint16(20+h.UDPLen))
	be.PutUint16(ip[4:], h.ID)
	copy(ip[12:], src.AsSlice())
	copy(ip[16:], dst.AsSlice())
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(be.Uint16(ip[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	be.PutUint16(ip[10:], ^uint16(sum))
	f = append(f, ip...)
	f = be.AppendUint16(f, port)
	f = be.AppendUint16(f, udpPort)
	f = be.AppendUint16(f, uint16(h.UDPLen))
	f = append(append(f, 0, 0), b...)

	w.now += step
	le := binary.LittleEndian
	w.pcap = le.AppendUint32(w.pcap, uint32(1_750_000_000+w.now/1e9))
	w.pcap = le.AppendUint32(w.pcap, uint32(w.now%1e9))
	w.pcap = le.AppendUint32(w.pcap, uint32(len(f)))
	w.pcap = le.AppendUint32(w.pcap, uint32(len(f)))
	w.pcap = append(w.pcap, f...)
}

// after lets ns nanoseconds pass.
func (w *wire) after(ns int64) { w.now += ns }

// conn is a connection between the client (0) and the server (1).
type conn struct {
	*wire
	qpn  [2]bth.QPN
	psn  [2]bth.PSN // next PSN that the end sends
	msn  [2]uint32
	comm [2]mad.CommID
}

// message sends a CM message.
func (w *wire) message(from int, m *mad.Message) {
	var b [mad.Len]byte
	if err := m.Encode(&b); err != nil {
		panic(fmt.Sprint("ulptraffic: ", err)) // only tests run this
	}
	w.put(from, 52000, bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.GSI, PSN: w.gsi[from],
		DETH: bth.DETH{QKey: 0x80010000, SrcQP: bth.GSI}, Payload: b[:]})
	w.gsi[from]++
}

// connect establishes a connection to a port with the private data of the REQ and the REP.
func (w *wire) connect(port uint16, request, reply []byte) *conn {
	w.comms++
	n := bth.QPN(w.comms)
	c := &conn{wire: w, qpn: [2]bth.QPN{0x110 + n, 0x220 + n}, psn: [2]bth.PSN{1000 * bth.PSN(n), 500000 + bth.PSN(n)},
		comm: [2]mad.CommID{0x1000 + w.comms, 0x2000 + w.comms}}
	private, err := (&mad.IPHeader{SourcePort: 40000 + uint16(n), Source: client, Destination: server}).Append(nil)
	if err != nil {
		panic(fmt.Sprint("ulptraffic: ", err)) // only tests run this
	}
	path := mad.Path{LocalLID: 0xffff, RemoteLID: 0xffff, HopLimit: 64, PacketRate: 3, LocalACKTimeout: 15}
	path.LocalGID, path.RemoteGID = client.As16(), server.As16()
	tid := uint64(n) << 32
	w.message(0, &mad.Message{TransactionID: tid, Attribute: mad.AttrREQ, REQ: mad.REQ{
		LocalCommID: c.comm[0], ServiceID: mad.IPServiceID(mad.PortSpaceTCP, port), LocalCAGUID: 2, LocalQPN: c.qpn[0],
		ResponderResources: 16, InitiatorDepth: 16, RemoteCMResponseTimeout: 20, LocalCMResponseTimeout: 20,
		StartingPSN: c.psn[1], RetryCount: 7, RNRRetryCount: 7, MaxCMRetries: 15, PKey: 0xffff, PathMTU: 3,
		Primary: path, PrivateData: append(private, request...),
	}})
	w.after(200_000)
	w.message(1, &mad.Message{TransactionID: tid, Attribute: mad.AttrREP, REP: mad.REP{
		LocalCommID: c.comm[1], RemoteCommID: c.comm[0], LocalQPN: c.qpn[1], StartingPSN: c.psn[0],
		ResponderResources: 16, InitiatorDepth: 16, RNRRetryCount: 7, LocalCAGUID: 3, PrivateData: reply,
	}})
	w.message(0, &mad.Message{TransactionID: tid, Attribute: mad.AttrRTU,
		RTU: mad.RTU{LocalCommID: c.comm[0], RemoteCommID: c.comm[1]}})
	return c
}

func (c *conn) disconnect() {
	tid := uint64(c.comm[0]) << 40
	c.message(0, &mad.Message{TransactionID: tid, Attribute: mad.AttrDREQ,
		DREQ: mad.DREQ{LocalCommID: c.comm[0], RemoteCommID: c.comm[1], RemoteQPN: c.qpn[1]}})
	c.message(1, &mad.Message{TransactionID: tid, Attribute: mad.AttrDREP,
		DREP: mad.DREP{LocalCommID: c.comm[1], RemoteCommID: c.comm[0]}})
}

// request sends one packet of a request.
func (c *conn) request(from int, p bth.Packet) {
	p.DestQP, p.PSN = c.qpn[1-from], c.psn[from]
	c.psn[from]++
	c.put(from, 49152+uint16(c.qpn[0]), p)
}

// ack acknowledges what end from sent.
func (c *conn) ack(from int) {
	c.msn[from]++
	c.put(1-from, 49152+uint16(c.qpn[0]), bth.Packet{Opcode: bth.RCAck, DestQP: c.qpn[from], PSN: c.psn[from].Sub(1),
		AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: c.msn[from]}})
}

// pieces sends a message in packets of mtu bytes, and acknowledges it. The opcodes are for the
// first, a middle, the last and the only packet.
func (c *conn) pieces(from int, opcodes [4]bth.Opcode, p bth.Packet, b []byte) {
	for i := 0; i == 0 || i < len(b); i += mtu {
		last := i+mtu >= len(b)
		k := 1
		switch {
		case i == 0 && last:
			k = 3
		case i == 0:
			k = 0
		case last:
			k = 2
		}
		p.Opcode, p.AckReq, p.Payload = opcodes[k], last, b[i:min(i+mtu, len(b))]
		c.request(from, p)
	}
	c.ack(from)
}

// send sends a SEND.
func (c *conn) send(from int, b []byte) {
	c.pieces(from, [4]bth.Opcode{bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLast, bth.RCSendOnly}, bth.Packet{}, b)
}

// sendInvalidating sends a SEND with invalidate.
func (c *conn) sendInvalidating(from int, key uint32, b []byte) {
	c.pieces(from, [4]bth.Opcode{bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLastInv, bth.RCSendOnlyInv},
		bth.Packet{InvalidateRKey: key}, b)
}

// write sends a WRITE of n bytes.
func (c *conn) write(from int, address uint64, key uint32, n int) {
	c.pieces(from, [4]bth.Opcode{bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLast, bth.RCWriteOnly},
		bth.Packet{RETH: bth.RETH{VA: address, RKey: key, DMALen: uint32(n)}}, pattern(n))
}

// read sends a READ of n bytes and its responses.
func (c *conn) read(from int, address uint64, key uint32, n int) {
	first := c.psn[from]
	c.request(from, bth.Packet{Opcode: bth.RCReadRequest, RETH: bth.RETH{VA: address, RKey: key, DMALen: uint32(n)}})
	c.msn[from]++
	aeth := bth.AETH{Syndrome: bth.AckUnlimited, MSN: c.msn[from]}
	b := pattern(n)
	for i := 0; i < n; i += mtu {
		op := bth.RCReadResponseMiddle
		switch last := i+mtu >= n; {
		case i == 0 && last:
			op = bth.RCReadResponseOnly
		case i == 0:
			op = bth.RCReadResponseFirst
		case last:
			op = bth.RCReadResponseLast
		}
		c.put(1-from, 49152+uint16(c.qpn[0]), bth.Packet{Opcode: op, DestQP: c.qpn[from],
			PSN: first.Add(uint32(i / mtu)), AETH: aeth, Payload: b[i:min(i+mtu, n)]})
	}
	c.psn[from] = first.Add(uint32((n + mtu - 1) / mtu))
}

// pattern returns n bytes of user data.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + 3)
	}
	return b
}
