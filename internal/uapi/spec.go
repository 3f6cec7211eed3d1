package uapi

import "slices"

// Kind is the kind of an attribute.
type Kind uint8

const (
	PtrIn      Kind = iota // input: up to 8 bytes in Data, or their address
	PtrOut                 // output: address of a buffer
	ConstIn                // input of 8 bytes in Data: a number
	FlagsIn                // input of 4 or 8 bytes in Data: a set of bits
	IDR                    // handle of an object, in Data
	NewIDR                 // handle of a new object, stored in Data
	DestroyIDR             // handle of an object that the method destroys, in Data
	FD                     // file descriptor, in Data
	NewFD                  // new file descriptor, stored in Data
)

var kindNames = [...]string{
	"ptr in", "ptr out", "const in", "flags in", "idr", "new idr", "destroy idr", "fd", "new fd",
}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// pointer reports whether the attribute has a length: all kinds except handles and descriptors.
func (k Kind) pointer() bool { return k <= FlagsIn }

// MaxLen is the maximum length of an attribute in bytes, and AttrSpec.Max of an attribute without
// a limit.
const MaxLen = 65535

// An AttrSpec is the rule for an attribute of a method.
type AttrSpec struct {
	ID        AttrID
	Name      string // name in the kernel
	Kind      Kind
	Object    Object // type of the handle or descriptor
	Min, Max  int    // in bytes; 0 for handles and descriptors
	Mandatory bool
	// ZeroTail permits an input longer than Max whose rest is zero, and a longer output, whose
	// rest the server fills with zeros (UVERBS_ATTR_STRUCT).
	ZeroTail bool
}

// A MethodSpec is a method with the rules for its attributes.
type MethodSpec struct {
	ID    Method
	Name  string // name in the kernel
	Attrs []AttrSpec
}

// index returns the index in Attrs of an attr_id, -1 if there is none.
func (m *MethodSpec) index(id uint16) int {
	return slices.IndexFunc(m.Attrs, func(s AttrSpec) bool { return uint16(s.ID) == id })
}

var methods = slices.Concat(deviceMethods, objectMethods, queueMethods)

// MethodSpecs returns all methods that gorxe supports. The caller must not modify the slice.
func MethodSpecs() []MethodSpec { return methods }

// methodsByID maps each method to its index in methods.
var methodsByID = func() map[Method]int {
	out := make(map[Method]int, len(methods))
	for i := range methods {
		out[methods[i].ID] = i
	}
	return out
}()

// FindMethod returns the rules of a method, or nil if gorxe does not support it.
func FindMethod(m Method) *MethodSpec {
	if i, ok := methodsByID[m]; ok {
		return &methods[i]
	}
	return nil
}

// methodConstants returns the numbers of methods and attributes.
func methodConstants() []Constant {
	out := []Constant{
		{"UVERBS_ATTR_UHW_IN", headerIoctlCmds, uhwInID},
		{"UVERBS_ATTR_UHW_OUT", headerIoctlCmds, uhwOutID},
	}
	for _, m := range methods {
		out = append(out, Constant{m.Name, headerIoctlCmds, uint64(uint16(m.ID))})
		for _, a := range m.Attrs {
			if uint16(a.ID) < uhwInID {
				out = append(out, Constant{a.Name, headerIoctlCmds, uint64(uint16(a.ID))})
			}
		}
	}
	return out
}

const (
	// Values of the parameter mandatory of the functions below, which return rules for attributes.
	must     = true
	optional = false

	attrPrefix = "UVERBS_ATTR_" // prefix of the attribute names
)

// sized returns the rule for an input or output of least to most bytes.
func sized(kind Kind, id AttrID, name string, least, most int, mandatory bool) AttrSpec {
	return AttrSpec{
		ID: id, Name: attrPrefix + name, Kind: kind, Min: least, Max: most, Mandatory: mandatory,
	}
}

// in returns the rule for an input of size bytes (UVERBS_ATTR_PTR_IN with UVERBS_ATTR_TYPE).
func in(id AttrID, name string, size int, mandatory bool) AttrSpec {
	return sized(PtrIn, id, name, size, size, mandatory)
}

// inAtLeast returns the rule for an input of at least least bytes (UVERBS_ATTR_MIN_SIZE).
func inAtLeast(id AttrID, name string, least int, mandatory bool) AttrSpec {
	return sized(PtrIn, id, name, least, MaxLen, mandatory)
}

// out returns the rule for an output of size bytes.
func out(id AttrID, name string, size int, mandatory bool) AttrSpec {
	return sized(PtrOut, id, name, size, size, mandatory)
}

// outAtLeast returns the rule for an output of at least least bytes.
func outAtLeast(id AttrID, name string, least int, mandatory bool) AttrSpec {
	return sized(PtrOut, id, name, least, MaxLen, mandatory)
}

// extensible returns the rule s for a struct that may get more fields later (UVERBS_ATTR_STRUCT).
func extensible(s AttrSpec) AttrSpec {
	s.ZeroTail = true
	return s
}

// constIn returns the rule for a number (UVERBS_ATTR_CONST_IN).
func constIn(id AttrID, name string, mandatory bool) AttrSpec {
	return sized(ConstIn, id, name, 8, 8, mandatory)
}

// flagsIn returns the rule for a set of bits (UVERBS_ATTR_FLAGS_IN).
func flagsIn(id AttrID, name string, mandatory bool) AttrSpec {
	return sized(FlagsIn, id, name, 4, 8, mandatory)
}

// object returns the rule for a handle or descriptor of an object.
func object(id AttrID, name string, kind Kind, o Object, mandatory bool) AttrSpec {
	return AttrSpec{ID: id, Name: attrPrefix + name, Kind: kind, Object: o, Mandatory: mandatory}
}

// uhw appends the rules for the input and output of the driver to attrs (UVERBS_ATTR_UHW).
func uhw(m Method, attrs ...AttrSpec) []AttrSpec {
	return append(attrs,
		inAtLeast(m.UHWIn(), "UHW_IN", 0, optional),
		outAtLeast(m.UHWOut(), "UHW_OUT", 0, optional))
}
