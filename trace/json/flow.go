package json

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
)

// flow is the JSON object of a [trace.Flow].
type flow struct {
	Type       string     `json:"type"`
	Flow       int        `json:"flow"`
	Service    string     `json:"service"`
	Ends       [2]end     `json:"ends"`
	FirstFrame int        `json:"first_frame"`
	Begin      *time.Time `json:"begin,omitempty"`
	Last       *time.Time `json:"last,omitempty"`
	Managed    *managed   `json:"managed,omitempty"`
	ULP        string     `json:"ulp,omitempty"`
	Running    bool       `json:"running,omitempty"`
	Cut        bool       `json:"cut,omitempty"`
	MTU        int        `json:"mtu,omitempty"`
	MTUExact   bool       `json:"mtu_exact,omitempty"`
	Packets    uint64     `json:"packets"`
	Bytes      uint64     `json:"bytes"`
	Payload    uint64     `json:"payload"`
	Messages   uint64     `json:"messages"`
	Again      uint64     `json:"again"`
	Duplicates uint64     `json:"duplicates"`
	LostBefore uint64     `json:"lost_before"`
	LostBehind uint64     `json:"lost_behind"`
	NAKs       uint64     `json:"naks"`
	RNRs       uint64     `json:"rnrs"`
	CNPs       uint64     `json:"cnps"`
	CE         uint64     `json:"ce"`
	Timeouts   uint64     `json:"timeouts"`
	Undecided  uint64     `json:"undecided"`
	Active     int64      `json:"active_ns"`
	Window     int        `json:"window"`
	RTT        *rtt       `json:"rtt,omitempty"`
	Error      string     `json:"error,omitempty"`
	VNI        *uint32    `json:"vni,omitempty"`
}

type end struct {
	Addr string  `json:"addr"`
	QPN  bth.QPN `json:"qpn,omitempty"`
}

type rtt struct {
	Count int   `json:"count"`
	Min   int64 `json:"min_ns"`
	Max   int64 `json:"max_ns"`
	Mean  int64 `json:"mean_ns"`
}

type managed struct {
	ServiceID hex64      `json:"service_id"`
	Port      uint16     `json:"port,omitempty"`
	Asked     *time.Time `json:"asked,omitempty"`
	Took      int64      `json:"took_ns,omitempty"`
	Retries   int        `json:"retries"`
	Rejected  string     `json:"rejected,omitempty"`
	Ended     bool       `json:"ended"`
}

// Flow returns the value whose JSON form [Writer.Flow] writes. Package csv takes its columns from
// it.
func Flow(f *trace.Flow) any { return flowOf(f) }

func flowOf(f *trace.Flow) *flow {
	o := &flow{
		Type: "flow", Flow: f.Number, Service: f.Service.String(), FirstFrame: f.First,
		Begin: instant(f.Begin), Last: instant(f.Last), Running: f.BeganBefore, ULP: f.ULP.Name(),
		Cut: f.Evicted, MTU: f.MTU, MTUExact: f.MTUExact,
		Packets: f.Packets, Bytes: f.Bytes, Payload: f.Payload, Messages: f.Messages,
		Again: f.Again, Duplicates: f.Duplicates, LostBefore: f.LostBefore, LostBehind: f.LostBehind,
		NAKs: f.NAKs, RNRs: f.RNRs, CNPs: f.CNPs, CE: f.CE, Timeouts: f.Timeouts, Undecided: f.Undecided,
		Active: f.Active.Nanoseconds(),
		Window: f.Window, Error: f.Err,
	}
	for i, e := range f.Ends {
		o.Ends[i] = end{fabric.AddrText(e.Addr), e.QPN}
	}
	if f.HasVNI {
		o.VNI = &f.VNI
	}
	o.RTT = rttOf(f.RTT)
	if m := f.CM; m != nil {
		o.Managed = &managed{hex64(m.ServiceID), m.Port, instant(m.Requested), m.SetupTime.Nanoseconds(), m.Retries,
			m.Rejected, m.Ended}
	}
	return o
}
