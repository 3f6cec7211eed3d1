package control

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/verbs"
)

func parseQuery(raw string) (url.Values, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the query: %v", err)
	}
	return q, nil
}

// list streams {"name": [...]}, so that only few items are in memory at a time.
func list[T any](w http.ResponseWriter, name string, items iter.Seq[T]) error {
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 1<<15)
	fmt.Fprintf(b, "{%q: [", name)
	between := "\n"
	for item := range items {
		text, err := json.Marshal(item)
		if err != nil {
			return err
		}
		b.WriteString(between)
		if _, err := b.Write(text); err != nil {
			return nil // the client has gone
		}
		between = ",\n"
	}
	b.WriteString("\n]}\n")
	_ = b.Flush()
	return nil
}

// each sends the list name: what tell returns for each item that of returns for a selected device.
// tell gets the name of the device and returns false to omit the item.
func each[I, T any](s *Server, w http.ResponseWriter, r *http.Request, name string, of func(*verbs.Device) iter.Seq[I],
	tell func(string, *I) (T, bool)) error {
	return eachOf(s, w, r, name, of, func(d *verbs.Device, i *I) (T, bool) { return tell(d.Name(), i) })
}

// eachOf is each for items whose form depends on more than the name of their device.
func eachOf[I, T any](s *Server, w http.ResponseWriter, r *http.Request, name string,
	of func(*verbs.Device) iter.Seq[I], tell func(*verbs.Device, *I) (T, bool)) error {
	devices, err := s.chosen(r)
	if err != nil {
		return err
	}
	return list(w, name, func(yield func(T) bool) {
		for _, d := range devices {
			for i := range of(d) {
				if t, ok := tell(d, &i); ok && !yield(t) {
					return
				}
			}
		}
	})
}

func (s *Server) qps(w http.ResponseWriter, r *http.Request) error {
	typ, state := r.URL.Query().Get("type"), r.URL.Query().Get("state")
	for _, c := range []struct {
		key, value string
		of         []string
	}{{"type", typ, qpTypes}, {"state", state, qpStates}} {
		if c.value != "" && !slices.Contains(c.of, c.value) {
			return refuse(http.StatusBadRequest, "%s: %q is none: there are %s", c.key, c.value,
				strings.Join(c.of, ", "))
		}
	}
	return eachOf(s, w, r, "qps", (*verbs.Device).QPs, func(d *verbs.Device, i *verbs.QPInfo) (QP, bool) {
		if typ != "" && i.Type.String() != typ || state != "" && i.State.String() != state {
			return QP{}, false
		}
		q := qpOf(d.Name(), i)
		q.Program = d.Owner(i.PD)
		return q, true
	})
}

var (
	qpTypes  = []string{"GSI", "RC", "UC", "UD"}
	qpStates = []string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}
)

func qpOf(device string, i *verbs.QPInfo) QP {
	q := QP{
		Device: device, Number: i.Number, QPN: uint32(i.QPN), Type: i.Type.String(), State: i.State.String(), PD: i.PD,
		Age: i.Age.Seconds(), GIDIndex: i.GIDIndex, Local: i.Local,
		Remote: i.Remote, RemoteQPN: uint32(i.RemoteQPN), MTU: int(i.PathMTU),
		SendPSN: uint32(i.SendPSN), AckPSN: uint32(i.AckPSN),
		RecvPSN: uint32(i.RecvPSN), Unacked: i.Unacked(), Window: i.Window,
		Reads: i.Reads, Retries: i.RetriesLeft, RNRLeft: i.RNRLeft, RNRWait: i.RNRWait, Early: i.Early,
		SendQueue: i.SendQueue, SendDepth: i.SendDepth, RecvQueue: i.RecvQueue, RecvDepth: i.RecvDepth,
		SRQ: i.SRQ, SendCQ: i.SendCQ, RecvCQ: i.RecvCQ, Counters: map[string]uint64{},
	}
	i.Counters.Each(func(name string, value uint64) {
		if value > 0 {
			q.Counters[name] = value
		}
	})
	return q
}

func (s *Server) mrs(w http.ResponseWriter, r *http.Request) error {
	return eachOf(s, w, r, "mrs", (*verbs.Device).MRs, func(d *verbs.Device, i *verbs.MRInfo) (MR, bool) {
		m := MR{
			Device: d.Name(), Program: d.Owner(i.PD), Number: i.Number,
			Kind: i.Kind.String(), Key: hexKey(i.Key), PD: i.PD, OpensMemory: i.Valid,
			Address: fmt.Sprintf("%#x", i.IOVA), Length: i.Length, Access: accessText(i.Access),
			Windows: i.Windows, QPN: i.QPN,
		}
		if i.Parent != 0 {
			m.Parent = hexKey(i.Parent)
		}
		return m, true
	})
}

func hexKey(key uint32) string { return fmt.Sprintf("0x%08x", key) }

// accessText returns the verbs names of rights, "" for no rights.
func accessText(a mr.Access) string {
	if a == 0 {
		return ""
	}
	return a.String()
}

func (s *Server) cqs(w http.ResponseWriter, r *http.Request) error {
	return each(s, w, r, "cqs", (*verbs.Device).CQs, func(device string, i *verbs.CQInfo) (CQ, bool) {
		return CQ{device, i.Number, i.Len, i.Depth, i.Users, i.Waiting, i.Channel, i.Overflowed}, true
	})
}

func (s *Server) srqs(w http.ResponseWriter, r *http.Request) error {
	return each(s, w, r, "srqs", (*verbs.Device).SRQs, func(device string, i *verbs.SRQInfo) (SRQ, bool) {
		return SRQ{device, i.Number, i.PD, i.Len, i.Depth, i.Limit, i.Users}, true
	})
}

func (s *Server) cms(w http.ResponseWriter, r *http.Request) error {
	return each(s, w, r, "cms", (*verbs.Device).CMs, func(device string, i *verbs.CMInfo) (CM, bool) {
		return CM{
			Device: device, LocalID: i.LocalID, RemoteID: i.RemoteID, State: i.State, PortSpace: i.PortSpace.String(),
			Local: i.Local, Remote: i.Remote, QPN: uint32(i.QPN), RemoteQPN: uint32(i.RemoteQPN), Age: i.Age.Seconds(),
		}, true
	})
}

func (s *Server) groups(w http.ResponseWriter, r *http.Request) error {
	of := func(d *verbs.Device) iter.Seq[verbs.GroupInfo] { return slices.Values(d.Groups()) }
	return each(s, w, r, "groups", of, func(device string, i *verbs.GroupInfo) (Group, bool) {
		g := Group{Device: device, Addr: i.Addr}
		for _, n := range i.Members {
			g.Members = append(g.Members, uint32(n))
		}
		return g, true
	})
}
