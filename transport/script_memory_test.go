package transport

import (
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Steps for keys, FLUSH and ATOMIC WRITE. Windows "w1" of type 1 and "w2" of type 2 and the fast
// region "fast" of up to 4 KiB exist and are not bound or registered; "bindable" is 4 KiB at
// 0x300000 to which windows may be bound, and which may be flushed.
//
//	post sendinv id=1 len=4 key=w2
//	post inv id=1 key=w2
//	post bind id=1 key=w2 to=bindable va=0x300000 n=64 [access=write|read] [zero]
//	post reg id=1 key=fast va=0x400000 n=64
//	post flush id=1 va=0x40000 n=8 type=1 [level=1]
//	post atomwrite id=1 len=8
//	key w2 open|shut     whether the key gives access to memory now
//	qpn 0x12 bind w2     binds a window on another queue pair

func init() {
	for name, op := range map[string]qp.WROpcode{
		"sendinv": qp.WRSendInv, "inv": qp.WRLocalInv, "bind": qp.WRBindMW, "reg": qp.WRRegMR,
		"flush": qp.WRFlush, "atomwrite": qp.WRAtomicWrite,
	} {
		postOps[name] = op
	}
}

// keyed has the objects of a script whose keys change.
type keyed struct {
	windows map[string]*mr.Window
	fast    *mr.FastRegion

	invalidated uint32 // key of the last SEND with invalidate that arrived
}

func (s *script) makeKeyed() {
	s.t.Helper()
	s.windows = map[string]*mr.Window{}
	for name, typ := range map[string]mr.WindowType{"w1": mr.WindowType1, "w2": mr.WindowType2} {
		w, err := s.keys.AllocWindow(s.qp.PD, typ)
		if err != nil {
			s.t.Fatal(err)
		}
		s.windows[name] = w
	}
	var err error
	if s.fast, err = s.keys.AllocFast(s.qp.PD, 4096); err != nil {
		s.t.Fatal(err)
	}
	const all = mr.LocalWrite | mr.MWBind | mr.RemoteWrite | mr.FlushGlobal | mr.FlushPersistent
	if s.regions["bindable"], err = s.keys.Register(
		s.qp.PD, mr.Bytes(make([]byte, 4096)), 0x300000, 4096, all); err != nil {
		s.t.Fatal(err)
	}
}

// key returns the current key of a region, a window or the fast region.
func (s *script) key(name string) (key uint32, ok bool) {
	if w := s.windows[name]; w != nil {
		return w.RKey(), true
	}
	if r := s.regions[name]; r != nil {
		return r.RKey(), true
	}
	return s.fast.Key(), name == "fast"
}

// opened returns how many windows and fast regions give access to memory.
func (s *script) opened() (n int) {
	for _, w := range s.windows {
		if w.Bound() {
			n++
		}
	}
	if s.keys.Lookup(s.fast.Key()) != nil {
		n++
	}
	return n
}

// postMemory sets the fields particular to the requests above.
func (s *script) postMemory(wr *qp.SendWR, f args) {
	s.t.Helper()
	key, _ := s.key(f["key"])
	if f.has("key") && wr.Opcode != qp.WRBindMW && wr.Opcode != qp.WRRegMR {
		wr.Imm = key
	}
	access := mr.RemoteWrite
	if f["access"] == "read" {
		access = mr.RemoteRead
	}
	if f.has("zero") {
		access |= mr.ZeroBased
	}
	lkey, _ := s.key(f["to"])
	wr.Bind = &mr.Bind{Key: key, NewKey: mr.IncRKey(key), LKey: lkey, Addr: f.num("va"), Length: f.num("n"),
		Access: access}
	wr.Reg = &mr.FastReg{
		Key: key, NewKey: mr.IncRKey(key), Memory: mr.Bytes(make([]byte, f.num("n"))), IOVA: f.num("va"),
		Length: f.num("n"),
		Access: mr.LocalWrite | mr.RemoteWrite,
	}
	if wr.Opcode == qp.WRFlush {
		wr.RemoteAddr = f.num("va")
		wr.Flush = qp.Flush{Length: uint32(f.num("n")), Type: qp.FlushType(f.num("type")),
			Level: qp.FlushLevel(f.num("level"))}
	}
}

func (s *script) memoryStep(verb, rest string) bool {
	s.t.Helper()
	words := strings.Fields(rest)
	switch verb {
	case "key":
		key, _ := s.key(words[0])
		if open := s.keys.Lookup(key) != nil; open != (words[1] == "open") {
			s.fatalf("open: %v", open)
		}
	case "qpn":
		w := s.windows[words[2]]
		b := &mr.Bind{Key: w.RKey(), NewKey: mr.IncRKey(w.RKey()), LKey: s.regions["bindable"].LKey(), Addr: 0x300000,
			Length: 64, Access: mr.RemoteWrite}
		if err := s.keys.Bind(s.qp.PD, uint32(fields([]string{"n=" + words[0]}).num("n")), b); err != nil {
			s.fatalf("%v", err)
		}
	default:
		return false
	}
	return true
}

// parseMemory sets the headers particular to these operations.
func (s *script) parseMemory(p *bth.Packet, f args) {
	if key, ok := s.key(f["rkey"]); ok {
		p.RETH.RKey = key
	}
	p.FETH = bth.FETH{Type: uint8(f.num("type")), Level: uint8(f.num("level"))}
	p.InvalidateRKey = uint32(f.num("inv"))
	if key, ok := s.key(f["inv"]); ok {
		p.InvalidateRKey = key
	}
	if f.has("inv") {
		s.invalidated = p.InvalidateRKey
	}
}

// formatMemory formats the headers particular to these operations.
func (s *script) formatMemory(p *bth.Packet, info *bth.OpcodeInfo) (l string) {
	if info.Headers&bth.HasFETH != 0 {
		l += fmt.Sprintf(" type=%d level=%d", p.FETH.Type, p.FETH.Level)
	}
	if info.Headers&bth.HasIETH != 0 {
		name := fmt.Sprintf("%#x", p.InvalidateRKey)
		for n, w := range s.windows {
			if w.RKey() == p.InvalidateRKey {
				name = n
			}
		}
		l += " inv=" + name
	}
	return l
}
