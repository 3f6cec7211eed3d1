package json

import "github.com/gorxe/gorxe/trace/ulp"

// role is the JSON object of a [ulp.Role].
type role struct {
	Protocol    string   `json:"protocol"`
	Kind        string   `json:"kind"`
	Dialect     string   `json:"dialect,omitempty"`
	Command     string   `json:"command,omitempty"`
	Code        uint32   `json:"code"`
	ID          *hex64   `json:"id,omitempty"`
	Length      *uint64  `json:"length,omitempty"`
	Status      *status  `json:"status,omitempty"`
	Args        []arg    `json:"args,omitempty"`
	Buffers     []buffer `json:"buffers,omitempty"`
	Omitted     int      `json:"buffers_omitted,omitempty"`
	Message     int      `json:"command_message,omitempty"`
	Frame       int      `json:"command_frame,omitempty"`
	Latency     *int64   `json:"command_latency_ns,omitempty"`
	Invalidates bool     `json:"invalidates,omitempty"`
	Text        string   `json:"text"`
}

type status struct {
	Code   uint32 `json:"code"`
	Text   string `json:"text"`
	Failed bool   `json:"failed"`
}

type arg struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

type buffer struct {
	Address hex64  `json:"va"`
	Key     hex32  `json:"rkey"`
	Length  uint32 `json:"length"`
	Use     string `json:"use,omitempty"`
}

// uses are the verbs of peers, by [ulp.Use].
var uses = [...]string{ulp.AnyUse: "", ulp.ForWrite: "write", ulp.ForRead: "read"}

func roleOf(u *ulp.Role) *role {
	p := &u.PDU
	o := &role{
		Protocol: p.Protocol.Name(), Kind: p.Kind.String(), Dialect: p.Dialect, Command: p.Command, Code: p.Code,
		Omitted: p.Omitted, Message: u.Message, Frame: u.Frame, Invalidates: u.Invalidates, Text: u.String(),
	}
	if u.Transfer {
		o.Kind = "transfer"
	}
	if p.HasID {
		o.ID = new(hex64(p.ID))
	}
	if p.HasLength {
		o.Length = &p.Length
	}
	if p.Status.Known {
		o.Status = &status{p.Status.Code, string(p.Status.Append(nil)), p.Status.Failed}
	}
	for _, a := range p.Args() {
		o.Args = append(o.Args, arg{a.Name, a.Value})
	}
	for _, b := range p.Buffers() {
		o.Buffers = append(o.Buffers, buffer{hex64(b.Address), hex32(b.Key), b.Length, uses[min(b.Use, ulp.ForRead)]})
	}
	if u.HasLatency {
		o.Latency = new(u.Latency.Nanoseconds())
	}
	return o
}
