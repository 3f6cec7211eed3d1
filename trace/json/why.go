package json

import (
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/why"
)

// whyAnswer is the JSON object of a [why.Answer].
type whyAnswer struct {
	Type      string     `json:"type"`
	Line      complaint  `json:"line"`
	Explained int        `json:"explained"`
	Matching  int        `json:"matching"`
	Matches   []whyMatch `json:"matches"`
	Flows     int        `json:"flows"`
	Others    []string   `json:"others,omitempty"`
	Skipped   int        `json:"not_examined,omitempty"`
}

// complaint is the JSON object of a [why.Complaint].
type complaint struct {
	Format    string      `json:"format"`
	Status    *why.Status `json:"status,omitempty"`
	Text      string      `json:"text,omitempty"`
	Meaning   string      `json:"meaning,omitempty"`
	Responder bool        `json:"responder,omitempty"`
	QPN       bth.QPN     `json:"qpn,omitempty"`
	PeerQPN   bth.QPN     `json:"peer_qpn,omitempty"`
	Local     string      `json:"local,omitempty"`
	Remote    string      `json:"remote,omitempty"`
	Socket    string      `json:"socket,omitempty"`
	Op        string      `json:"operation,omitempty"`
	RKey      hex32       `json:"rkey,omitempty"`
	Address   hex64       `json:"address,omitempty"`
}

// whyMatch is the JSON object of a [why.Match].
type whyMatch struct {
	Flow       int      `json:"flow"`
	Service    string   `json:"service"`
	Ends       [2]end   `json:"ends"`
	FirstFrame int      `json:"first_frame"`
	Packets    uint64   `json:"packets"`
	Explained  bool     `json:"explained"`
	Cause      string   `json:"cause"`
	Evidence   []string `json:"evidence"`
	Frames     []int    `json:"frames"`
}

// Why returns the object of a, for [Writer.Object]. It has up to [why.MaxMatches] matches.
func Why(a *why.Answer) any {
	c := &a.Complaint
	o := &whyAnswer{
		Type: "why", Explained: a.Explained(), Matching: len(a.Matches), Matches: []whyMatch{}, Flows: a.Flows,
		Skipped: a.Omitted,
		Line: complaint{
			Format: c.Format, Meaning: c.Status.Meaning(), Responder: c.Responder, QPN: c.QPN, PeerQPN: c.PeerQPN,
			Local: addrText(c.Local), Remote: addrText(c.Remote), Socket: addrText(c.Socket), Op: c.Op,
			RKey: hex32(c.RKey), Address: hex64(c.Address),
		},
	}
	if c.Status != why.NoStatus {
		o.Line.Status, o.Line.Text = &c.Status, c.Status.String()
	}
	if len(a.Matches) == 0 {
		o.Others = a.Others
	}
	for i := range a.Matches[:min(len(a.Matches), why.MaxMatches)] {
		m := &a.Matches[i]
		f := flowOf(m.Flow)
		o.Matches = append(o.Matches, whyMatch{
			Flow: f.Flow, Service: f.Service, Ends: f.Ends, FirstFrame: f.FirstFrame, Packets: f.Packets,
			Explained: m.Explained, Cause: m.Cause, Evidence: orEmpty(m.Evidence), Frames: orEmpty(m.Frames),
		})
	}
	return o
}

// addrText returns a as text, "" if it is not valid.
func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// orEmpty returns list, which is not null in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
