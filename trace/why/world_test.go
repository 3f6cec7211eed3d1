package why

import (
	"io"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// talk is a conversation between 198.18.0.1, queue pair 0x11, and 198.18.0.2, queue pair 0x22.
// Beside it, the queue pairs 0x33 and 0x44 of the same hosts exchange SENDs without errors.
type talk struct {
	frames []capture.Frame
	now    time.Duration
}

// send adds a packet from the first host (0) or the second one (1).
func (w *talk) send(from int, p bth.Packet) {
	hosts := [2][4]byte{{198, 18, 0, 1}, {198, 18, 0, 2}}
	src, dst := hosts[from], hosts[1-from]
	id := len(w.frames) + 1000
	h := bth.Header4{Src: src, Dst: dst, ID: uint16(id), FlagsFragment: 0x4000, SrcPort: uint16(50000 + from),
		DstPort: 4791}
	p.PKey, p.MigReq = 0xffff, true
	if p.DestQP == 0 {
		p.DestQP = [2]bth.QPN{0x22, 0x11}[from]
	}
	b := p.Append(nil)
	h.UDPLen = bth.UDPHeaderLen + len(b) + bth.ICRCLen
	b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
	n := bth.IPv4HeaderLen + h.UDPLen
	ip := []byte{0x45, 0, byte(n >> 8), byte(n), byte(id >> 8), byte(id), 0x40, 0, 64, 17, 0, 0}
	ip = append(append(ip, src[:]...), dst[:]...)
	ip = append(ip, 0xc3, 0x50+byte(from), 0x12, 0xb7, byte(h.UDPLen>>8), byte(h.UDPLen), 0, 0)
	ip = append(ip, b...)
	w.now += 10 * time.Microsecond
	w.frames = append(w.frames, capture.Frame{Number: len(w.frames) + 1, Time: time.Unix(1000, 0).Add(w.now),
		Link: capture.LinkRaw, Length: len(ip), Data: ip})
}

func (w *talk) request(s bth.PSN) {
	w.send(0, bth.Packet{Opcode: bth.RCWriteOnly, PSN: s, AckReq: true,
		RETH: bth.RETH{VA: 0x555e73f, RKey: 0x204c00, DMALen: 4}, Payload: []byte("data")})
}

func (w *talk) message(s bth.PSN) {
	w.send(0, bth.Packet{Opcode: bth.RCSendOnly, PSN: s, AckReq: true, Payload: []byte("data")})
}

func (w *talk) answer(s bth.PSN, syn bth.Syndrome) {
	w.send(1, bth.Packet{Opcode: bth.RCAck, PSN: s, AETH: bth.AETH{Syndrome: syn, MSN: uint32(s)}})
}

// other adds an exchange of the queue pairs without errors.
func (w *talk) other(s bth.PSN) {
	w.send(0, bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x44, PSN: s, AckReq: true, Payload: []byte("fine")})
	w.send(1, bth.Packet{Opcode: bth.RCAck, DestQP: 0x33, PSN: s, AETH: bth.AETH{Syndrome: bth.AckUnlimited,
		MSN: uint32(s)}})
}

// talks has the conversations, by what goes wrong in them.
var talks = map[string]func(*talk){
	"nothing": func(w *talk) {},
	"silent": func(w *talk) {
		for range 8 {
			w.request(105)
			w.now += 4 * time.Millisecond
		}
	},
	"responses lost": func(w *talk) {
		for range 8 {
			w.request(105)
			w.answer(105, bth.AckUnlimited)
			w.now += 4 * time.Millisecond
		}
	},
	"requests lost": func(w *talk) {
		for range 8 {
			w.request(105)
			w.request(106)
			w.answer(105, bth.NakPSNSequence)
			w.now += 4 * time.Millisecond
		}
	},
	"one direction": func(w *talk) {
		for i := range 8 {
			w.request(105)
			w.send(1, bth.Packet{Opcode: bth.RCSendOnly, PSN: bth.PSN(900 + i), AckReq: true, Payload: []byte("data")})
			w.send(0, bth.Packet{Opcode: bth.RCAck, PSN: bth.PSN(900 + i), AETH: bth.AETH{Syndrome: bth.AckUnlimited}})
			w.now += 4 * time.Millisecond
		}
	},
	"no receive": func(w *talk) {
		for range 8 {
			w.message(105)
			w.answer(105, bth.RNR(12))
			w.now += 700 * time.Microsecond
		}
	},
	"bad key": func(w *talk) {
		w.request(105)
		w.answer(105, bth.NakRemoteAccess)
	},
	"invalid": func(w *talk) {
		w.request(105)
		w.answer(105, bth.NakInvalidRequest)
	},
	"responder failed": func(w *talk) {
		w.message(105)
		w.answer(105, bth.NakRemoteOperational)
	},
}

// framesOf returns the capture of a talk. It begins with requests that are answered.
func framesOf(name string) []capture.Frame {
	w := &talk{}
	for s := range bth.PSN(5) {
		w.request(100 + s)
		w.answer(100+s, bth.AckUnlimited)
		w.other(500 + s)
	}
	talks[name](w)
	for s := range bth.PSN(5) {
		w.other(505 + s)
	}
	return w.frames
}

// source is a Source.
type source struct{ frames []capture.Frame }

func (s *source) Next(f *capture.Frame) error {
	if len(s.frames) == 0 {
		return io.EOF
	}
	*f, s.frames = s.frames[0], s.frames[1:]
	return nil
}

// ask returns the answer for c of a capture.
func ask(t testing.TB, c Complaint, frames []capture.Frame) *Answer {
	t.Helper()
	collector := NewCollector(c)
	p := trace.Pipeline{Outputs: []trace.Output{collector}}
	if err := p.Run(t.Context(), &source{frames}); err != nil {
		t.Fatal(err)
	}
	return collector.Answer()
}
