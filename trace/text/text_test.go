package text_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/text"
)

var (
	near = netip.MustParseAddr("198.18.0.2")
	far  = netip.MustParseAddr("198.18.0.3")
	six  = netip.MustParseAddr("fd00:18::3")
)

// frameOf returns a raw IPv4 frame with packets that have ICRCs.
func frameOf(number int, at time.Duration, packets ...bth.Packet) *capture.Frame {
	var payload []byte
	for i, p := range packets {
		b := p.Append(nil)
		h := bth.Header4{Src: near.As4(), Dst: far.As4(), ID: uint16(7 + i), FlagsFragment: 0x4000, SrcPort: 50000,
			DstPort: trace.Port, UDPLen: bth.UDPHeaderLen + len(b) + bth.ICRCLen}
		payload = append(payload, bth.AppendICRC(b, bth.ICRC(h.Seed(), b))...)
	}
	n := 28 + len(payload)
	b := []byte{0x45, 3, byte(n >> 8), byte(n), 0, 7, 0x40, 0, 64, 17, 0, 0}
	b = append(append(append(b, near.AsSlice()...), far.AsSlice()...), 0xc3, 0x50, 0x12, 0xb7, byte((n-20)>>8),
		byte(n-20), 0, 0)
	b = append(b, payload...)
	return &capture.Frame{Number: number, Time: time.Unix(1700000000, 0).Add(at), Link: capture.LinkRaw, Data: b,
		Length: len(b)}
}

// conversation shows packets of all kinds.
func conversation(t testing.TB, show func(*trace.Packet)) {
	var b [mad.Len]byte
	m := mad.Message{Attribute: mad.AttrREJ, TransactionID: 9,
		REJ: mad.REJ{LocalCommID: 1, Reason: 8, PrivateData: []byte("secret")}}
	if err := m.Encode(&b); err != nil {
		t.Fatal(err)
	}
	var d trace.Decoder
	secret := []byte("a secret of 19 byte")
	rc := func(op bth.Opcode, psn bth.PSN) bth.Packet {
		return bth.Packet{Opcode: op, PKey: 0xffff, DestQP: 0x11, PSN: psn}
	}
	w := rc(bth.RCWriteOnlyImm, 5)
	w.RETH, w.Imm, w.Payload, w.AckReq, w.Solicited = bth.RETH{VA: 0x1000, RKey: 0x22,
		DMALen: 19}, 0xabcd, secret, true, true
	d.Decode(frameOf(1, 0, w), show)
	cas := rc(bth.RCCmpSwap, 6)
	cas.AtomicETH = bth.AtomicETH{VA: 0x2000, RKey: 1, SwapAdd: 3, Compare: 4}
	d.Decode(frameOf(2, 1500*time.Microsecond, cas), show)
	nak := rc(bth.RCAck, 5)
	nak.AETH = bth.AETH{Syndrome: bth.NakRemoteAccess, MSN: 2}
	answer := rc(bth.RCAtomicAck, 6)
	answer.AETH, answer.AtomicAck = bth.AETH{Syndrome: bth.AckUnlimited, MSN: 3}, 4
	d.Decode(frameOf(3, 2*time.Millisecond, nak), show)
	d.Decode(frameOf(4, 3*time.Millisecond, answer), show)
	inv := rc(bth.RCSendOnlyInv, 7)
	inv.InvalidateRKey = 0x33
	d.Decode(frameOf(5, 4*time.Millisecond, inv), show)
	flush := rc(bth.RCFlush, 8)
	flush.FETH, flush.RETH = bth.FETH{Type: 2, Level: 1}, bth.RETH{VA: 1, RKey: 2, DMALen: 3}
	d.Decode(frameOf(6, 5*time.Millisecond, flush), show)
	d.Decode(frameOf(7, 6*time.Millisecond, bth.Packet{Opcode: bth.CNP, DestQP: 0x11, BECN: true}), show)
	d.Decode(frameOf(8, 7*time.Millisecond, bth.Packet{Opcode: bth.UDSendOnly, DestQP: 1,
		DETH: bth.DETH{QKey: 0x80010000, SrcQP: 1}, Payload: b[:]}), show)
	middle := rc(bth.RCWriteMiddle, 9)
	middle.Payload = make([]byte, 256)
	last := rc(bth.RCWriteLast, 10)
	last.Payload = secret
	d.Decode(frameOf(9, 8*time.Millisecond, middle, last), show)
	wrong := frameOf(10, 9*time.Millisecond, last)
	wrong.Data[40] ^= 1
	d.Decode(wrong, show)
	cut := frameOf(11, 10*time.Millisecond, w)
	cut.Data = cut.Data[:70]
	cut.Comments = []string{"cut \x1b[31mhere\nand there"}
	d.Decode(cut, show)
	other := frameOf(12, -time.Second, last)
	copy(other.Data[28:], "some other program")
	d.Decode(other, show)
	said := frameOf(13, time.Hour, nak)
	d.Decode(said, func(p *trace.Packet) {
		p.Src, p.Dst = netip.AddrPortFrom(six, 1), netip.AddrPortFrom(six, 2)
		p.Meaning = "the responder refuses WRITE #1"
		p.Findings = []trace.Finding{
			{Kind: trace.AckCoalesced, Level: trace.Info, Text: "acknowledges three"},
			{Kind: trace.AfterTimeout, Level: trace.Warning, Text: "after 3 ms"},
			{Kind: trace.ErrorNAK, Level: trace.Error, Text: "no such key"},
		}
		show(p)
	})
}

func TestWhatIsWritten(t *testing.T) {
	for name, o := range map[string]text.Options{
		"lines": {}, "fields": {Fields: true}, "hex": {Hex: true}, "payload": {Payload: true},
		"colour": {Colour: true, Hex: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := text.NewWriter(&out, o)
			conversation(t, func(p *trace.Packet) {
				if err := w.Packet(p); err != nil {
					t.Fatal(err)
				}
			})
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+".golden", out.String())
			// Payload must not appear, neither as text nor in hexadecimal.
			digits := strings.ReplaceAll(out.String(), " ", "")
			for _, secret := range []string{"secret", "736563726574"} {
				if shown := strings.Contains(digits, secret); shown != o.Payload {
					t.Errorf("payload is shown: %v", shown)
				}
			}
			if !o.Colour && strings.Contains(out.String(), "\x1b") {
				t.Error("escape sequences")
			}
		})
	}
}

// Text from a capture or a peer cannot control the terminal.
func TestTextOfOthersHasNoControlCharacters(t *testing.T) {
	var out bytes.Buffer
	w := text.NewWriter(&out, text.Options{})
	p := &trace.Packet{Number: 1, Part: 1, Parts: 1, Src: netip.AddrPortFrom(near, 1), Dst: netip.AddrPortFrom(far, 2)}
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"}, {"", ""}, {"µs → \u00a0 \U0001f600", "µs → \u00a0 \U0001f600"}, {"a\tb\r\nc", "a b  c"},
		{"\x1b[31mred\x1b[0m", "\ufffd[31mred\ufffd[0m"},
		{"\x00\x07\x7f", "\ufffd\ufffd\ufffd"}, {"c1 \u009b31m", "c1 \ufffd31m"},
		{"\xff\xc3", "\ufffd\ufffd"}, {"\x9b", "\ufffd"}, {"was \ufffd before", "was \ufffd before"},
		{"to the \u202eleft", "to the \ufffdleft"}, {"zero\u200bwidth\u2028", "zero\ufffdwidth\ufffd"},
	} {
		out.Reset()
		p.Meaning = tt.in
		if err := errors.Join(w.Packet(p), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(out.String(), "198.18.0.3  "); got != tt.want+"\n" {
			t.Errorf("%q is written as %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestAnErrorIsSaidOnce(t *testing.T) {
	for _, tt := range []struct {
		meaning string
		doubt   bool
	}{{"cannot be decoded: no such thing", false}, {"", false}, {"something else", false},
		{"cannot be decoded: no such thing", true}} {
		var out bytes.Buffer
		w := text.NewWriter(&out, text.Options{})
		p := &trace.Packet{Number: 1, Part: 1, Parts: 1, Src: netip.AddrPortFrom(near, 1),
			Dst: netip.AddrPortFrom(far, 2), Meaning: tt.meaning, Doubtful: tt.doubt}
		p.Err = errors.New("bth: packet refused: no such thing")
		if err := errors.Join(w.Packet(p), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "no such thing"); n != 1 {
			t.Errorf("%+v: it is there %d times: %s", tt, n, out.String())
		}
	}
}

type broken struct{ after int }

var errFull = errors.New("the disk is full")

func (b *broken) Write(p []byte) (int, error) {
	if b.after--; b.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAnErrorOfTheFileIsKept(t *testing.T) {
	w := text.NewWriter(&broken{after: 1}, text.Options{})
	for range 10000 {
		conversation(t, func(p *trace.Packet) {
			_ = w.Packet(p)
		})
		if w.Flush() != nil {
			break
		}
	}
	if err := w.Flush(); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}

func TestLinesAllocateNothing(t *testing.T) {
	var packets []*trace.Packet
	conversation(t, func(p *trace.Packet) {
		if p.MAD == nil && p.Err == nil && p.BTH.Opcode != bth.RCAck { // syndrome names contain numbers
			c := *p
			packets = append(packets, &c)
		}
	})
	w := text.NewWriter(&broken{after: 1 << 30}, text.Options{})
	if n := testing.AllocsPerRun(1000, func() {
		for _, p := range packets {
			if err := w.Packet(p); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
