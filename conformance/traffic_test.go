package conformance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/bth"
)

// conversation makes a log; each packet is one millisecond later than the one before.
type conversation struct{ log []Entry }

const (
	deviceQPN = 0x11
	ownQPN    = 0x801
	tick      = 1000 // µs between packets
)

func (c *conversation) add(sent bool, p bth.Packet) {
	p.PKey, p.DestQP = 0xffff, ownQPN
	if sent {
		p.DestQP = deviceQPN
	}
	at := time.Unix(0, 0).Add(time.Duration(len(c.log)) * tick * time.Microsecond)
	c.log = append(c.log, Entry{At: at, Sent: sent, Bytes: append(p.Append(nil), 0, 0, 0, 0)})
}

func (c *conversation) request(op bth.Opcode, psns ...bth.PSN) {
	for _, psn := range psns {
		p := bth.Packet{Opcode: op, PSN: psn, AckReq: true}
		if op.Info().Headers&bth.HasRETH != 0 {
			p.RETH.DMALen = 8
		}
		if op.Info().Payload {
			p.Payload = make([]byte, 8)
		}
		c.add(true, p)
	}
}

func (c *conversation) reply(op bth.Opcode, psn bth.PSN, s bth.Syndrome, payload int) {
	c.add(false, bth.Packet{Opcode: op, PSN: psn, AETH: bth.AETH{Syndrome: s}, Payload: make([]byte, payload)})
}

func (c *conversation) ack(psn bth.PSN, s bth.Syndrome) { c.reply(bth.RCAck, psn, s, 0) }

func TestPacketsOfACaseAreMeasured(t *testing.T) {
	const ok = bth.AckUnlimited
	for name, c := range map[string]struct {
		log  func(c *conversation)
		want map[string][]float64
	}{
		"the time to an ACK": {
			func(c *conversation) {
				c.request(bth.RCWriteOnly, 5)
				c.ack(5, ok)
				c.request(bth.RCSendOnly, 6)
				c.ack(6, ok)
			},
			map[string][]float64{"request to ACK": {tick, tick}, "requests with AckReq per ACK": {1, 1}},
		},
		"an ACK of several requests, across PSN 0, has no latency": {
			func(c *conversation) {
				c.request(bth.RCWriteOnly, 0xfffffe, 0xffffff, 0, 1)
				c.ack(0, ok)
				c.ack(1, ok)
			},
			map[string][]float64{"requests with AckReq per ACK": {3, 1}},
		},
		"a repetition of what was not answered counts from its time": {
			func(c *conversation) { c.request(bth.RCWriteOnly, 5, 5); c.ack(5, ok) },
			map[string][]float64{"request to ACK": {tick}, "requests with AckReq per ACK": {1}},
		},
		"a duplicate": {
			func(c *conversation) {
				c.request(bth.RCWriteOnly, 5)
				c.ack(5, ok)
				c.request(bth.RCWriteOnly, 5)
				c.ack(5, ok)
			},
			map[string][]float64{
				"request to ACK": {tick}, "requests with AckReq per ACK": {1}, "duplicate to reply": {tick},
			},
		},
		// A responder may keep the early request and acknowledge it when the gap is closed.
		"a gap": {
			func(c *conversation) {
				c.request(bth.RCWriteOnly, 7, 8)
				c.ack(6, bth.NakPSNSequence)
				c.request(bth.RCWriteOnly, 6)
				c.ack(8, ok)
			},
			map[string][]float64{"gap to NAK": {2 * tick}, "requests with AckReq per ACK": {3}},
		},
		"NAKs": {
			func(c *conversation) {
				c.request(bth.RCSendOnly, 5)
				c.ack(5, bth.RNR(12))
				c.request(bth.RCWriteOnly, 5)
				c.ack(5, bth.NakRemoteAccess)
				c.ack(99, bth.NakRemoteAccess) // of no request
			},
			map[string][]float64{"request to RNR NAK": {tick}, "invalid request to NAK": {tick}},
		},
		"a READ": {
			func(c *conversation) {
				c.request(bth.RCReadRequest, 5)
				c.reply(bth.RCReadResponseFirst, 5, ok, 1024)
				c.reply(bth.RCReadResponseMiddle, 6, ok, 1000)
				c.reply(bth.RCReadResponseLast, 7, ok, 4)
				c.request(bth.RCReadRequest, 8)
				c.reply(bth.RCReadResponseOnly, 8, ok, 4)
			},
			map[string][]float64{
				"READ to response": {tick, tick}, "between READ response packets": {tick, tick},
				"payload of READ FIRST, MIDDLE": {1024, 1000},
			},
		},
		"an atomic and its duplicate": {
			func(c *conversation) {
				for range 2 {
					c.request(bth.RCFetchAdd, 5)
					c.reply(bth.RCAtomicAck, 5, ok, 0)
				}
			},
			map[string][]float64{"atomic to response": {tick}, "duplicate to reply": {tick}},
		},
		"the response to a FLUSH is none to a READ": {
			func(c *conversation) { c.request(bth.RCFlush, 5); c.reply(bth.RCReadResponseOnly, 5, ok, 0) },
			map[string][]float64{},
		},
		"CNPs": {
			func(c *conversation) {
				for range 3 {
					c.add(false, bth.Packet{Opcode: bth.CNP})
				}
			},
			map[string][]float64{"between CNPs": {tick, tick}},
		},
		"replies to nothing": {
			func(c *conversation) { c.ack(5, ok); c.ack(5, bth.NakPSNSequence); c.reply(bth.RCAtomicAck, 5, ok, 0) },
			map[string][]float64{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var x conversation
			c.log(&x)
			got := map[string][]float64{}
			for _, v := range traffic(x.log, []*Conn{{Target: Target{QPN: deviceQPN}, Local: Local{QPN: ownQPN}}}) {
				got[v.Name] = v.Samples
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if v := traffic(x.log, []*Conn{{Target: Target{QPN: 9}, Local: Local{QPN: 8}}}); len(v) != 0 {
				t.Errorf("packets of another queue pair: %v", v)
			}
		})
	}
}

// The packets are untrusted.
func FuzzTraffic(f *testing.F) {
	var x conversation
	x.request(bth.RCWriteOnly, 5, 6)
	x.ack(5, bth.AckUnlimited)
	var seed []byte
	for _, e := range x.log {
		seed = append(seed, byte(len(e.Bytes))|map[bool]byte{true: 0x80}[e.Sent])
		seed = append(seed, e.Bytes...)
	}
	f.Add(seed)
	conns := []*Conn{{Target: Target{QPN: deviceQPN}, Local: Local{QPN: ownQPN}}}
	f.Fuzz(func(t *testing.T, b []byte) {
		var log []Entry
		for i := 0; len(b) > 1; i++ {
			n := min(int(b[0]&0x7f), len(b)-1)
			log = append(log, Entry{At: time.Unix(int64(i), 0), Sent: b[0]&0x80 != 0, Bytes: b[1 : 1+n]})
			b = b[1+n:]
		}
		for _, v := range traffic(log, conns) {
			for _, s := range v.Samples {
				if s < 0 {
					t.Errorf("%s: %v", v.Name, s)
				}
			}
		}
	})
}
