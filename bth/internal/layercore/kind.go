// Package layercore contains the logic that the gopacket decoders bth/layers and
// bth/gopacket/layers share: which layers a RoCEv2 packet has, the bytes of each, and the check of
// the ICRC. The two packages add the types of github.com/google/gopacket and of
// github.com/gopacket/gopacket.
package layercore

import "github.com/gorxe/gorxe/bth"

// Port is the UDP port of RoCEv2.
const Port = 4791

// Kind is a layer of a RoCEv2 packet.
type Kind int

// Kinds in wire order; the payload is between CNP and ICRC.
const (
	BTH Kind = iota
	DETH
	FETH
	RETH
	AtomicETH
	AETH
	AtomicAckETH
	ImmDt
	IETH
	CNP
	ICRC
)

// firstNumber is the number of the layer type BTH. gopacket reserves 1000 to 1999 for libraries.
const firstNumber = 1791

// Number returns the number of the layer type in gopacket.
func (k Kind) Number() int { return firstNumber + int(k) }

var names = [...]string{"BTH", "DETH", "FETH", "RETH", "AtomicETH", "AETH", "AtomicAckETH", "ImmDt", "IETH", "CNP",
	"ICRC"}

// String returns the name of the header.
func (k Kind) String() string { return names[k] }

// extensions are the extension headers in wire order. opcode is one whose headers include the
// extension header, and before the length of the extension headers that precede it there, in
// bytes.
var extensions = [...]struct {
	kind   Kind
	header bth.Headers
	opcode bth.Opcode
	before int
}{
	{DETH, bth.HasDETH, bth.UDSendOnly, 0},
	{FETH, bth.HasFETH, bth.RCFlush, 0},
	{RETH, bth.HasRETH, bth.RCReadRequest, 0},
	{AtomicETH, bth.HasAtomicETH, bth.RCCmpSwap, 0},
	{AETH, bth.HasAETH, bth.RCAck, 0},
	{AtomicAckETH, bth.HasAtomicAckETH, bth.RCAtomicAck, bth.AETHLen},
	{ImmDt, bth.HasImmDt, bth.RCSendOnlyImm, 0},
	{IETH, bth.HasIETH, bth.RCSendOnlyInv, 0},
	{CNP, bth.HasCNP, bth.CNP, 0},
}
