package ulp_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/gorxe/gorxe/trace/ulp"
)

// check decodes a SEND and checks what holds for any bytes: no panic, bounded results, texts
// without control characters, and fields within the payload.
func check(t *testing.T, proto ulp.Protocol, c ulp.Context, b []byte, n int) {
	var p ulp.PDU
	err := p.Decode(proto, c, b, n)
	if p.Protocol != proto {
		t.Fatalf("protocol %v", p.Protocol)
	}
	text := p.String()
	if err == nil && text == "" || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Fatalf("text %q, error %v", text, err)
	}
	for _, u := range p.Buffers() {
		if u.Length == 0 || !u.Contains(u.Address, uint64(u.Length)) || u.Contains(u.Address, uint64(u.Length)+1) {
			t.Fatalf("buffer %+v", u)
		}
	}
	if p.Omitted < 0 || p.Omitted > 0 && len(p.Buffers()) != ulp.MaxBuffers {
		t.Fatalf("%d buffers, %d omitted", len(p.Buffers()), p.Omitted)
	}
	fields := ulp.AppendFields(nil, proto, c, b, n)
	if len(fields) > 16+2*len(b) {
		t.Fatalf("%d fields in %d bytes", len(fields), len(b))
	}
	for _, f := range fields {
		if f.Offset < 0 || f.Len <= 0 || f.Offset+f.Len > len(b) || f.Header == "" {
			t.Fatalf("field %+v in %d bytes", f, len(b))
		}
	}
	var again ulp.PDU
	if e := again.Decode(proto, c, b, n); e != err || again != p {
		t.Fatalf("decoding twice: %+v, %v and %+v, %v", p, err, again, e)
	}
	if got := ulp.Detect(b, n); got != ulp.None {
		ulp.FromClient(got, b, n)
	}
	again.Answers(&p)
	_ = again.String()
}

func fuzz(f *testing.F, proto ulp.Protocol) {
	sends, mads := payloads(f, proto)
	for _, s := range sends {
		f.Add(s.payload, s.length-len(s.payload), s.client, 1)
		f.Add(s.payload[:min(40, len(s.payload))], s.length-40, s.client, 0)
	}
	f.Add(mads[0], 0, true, -1)
	f.Fuzz(func(t *testing.T, b []byte, more int, client bool, queue int) {
		n := len(b) + min(max(0, more), ulp.UnknownLen-len(b))
		check(t, proto, ulp.Context{Client: client, Queue: queue, Continued: queue == 7}, b, n)
		var p ulp.PDU
		for x := ulp.Request; x <= ulp.Reject; x++ {
			_ = p.DecodePrivate(proto, x, b)
			_ = p.String()
			for _, x := range ulp.AppendPrivateFields(nil, proto, x, b) {
				if x.Offset+x.Len > len(b) {
					t.Fatalf("field %+v in %d bytes", x, len(b))
				}
			}
		}
	})
}

func FuzzNVMe(f *testing.F)      { fuzz(f, ulp.NVMe) }
func FuzzISER(f *testing.F)      { fuzz(f, ulp.ISER) }
func FuzzSMBDirect(f *testing.F) { fuzz(f, ulp.SMBDirect) }
func FuzzNFS(f *testing.F)       { fuzz(f, ulp.NFS) }

// FuzzSession passes SENDs, WRITEs and READs of both ends to a Session. The first bytes of a record
// tell its kind and its length.
func FuzzSession(f *testing.F) {
	for proto := range names {
		var b []byte
		sends, _ := payloads(f, proto)
		for _, s := range sends {
			kind := byte(0)
			if !s.client {
				kind = 1
			}
			b = append(b, kind, byte(min(len(s.payload), 255)))
			b = append(b, s.payload[:min(len(s.payload), 255)]...)
		}
		f.Add(uint8(proto), b)
	}
	f.Fuzz(func(t *testing.T, proto uint8, b []byte) {
		var budget ulp.Budget
		s := ulp.NewSession(ulp.Protocol(proto%5), 0, &budget)
		for n := 1; len(b) >= 2; n++ {
			kind, size := b[0], min(int(b[1]), len(b)-2)
			record := b[2 : 2+size]
			b = b[2+size:]
			from := int(kind & 1)
			if kind&6 == 2 && size >= 16 {
				u := s.Transfer(from, kind&8 != 0, uint64(record[0]), uint64(record[1]), uint32(record[2]))
				if u != nil && (u.Message == 0 || u.Message >= n) {
					t.Fatalf("%+v", u)
				}
				continue
			}
			if kind&6 == 4 {
				s.SwapEnds()
			}
			u := s.Send(&ulp.Sent{From: from, Payload: record, Length: len(record), Message: n, Frame: n})
			if u != nil && (u.Message >= n || u.String() == "") {
				t.Fatalf("%+v", u)
			}
			if budget.Commands() > ulp.MaxCommands || budget.Commands() > n {
				t.Fatalf("%d commands", budget.Commands())
			}
		}
		if s.Close(); budget.Commands() != 0 {
			t.Fatalf("%d commands after the end", budget.Commands())
		}
	})
}
