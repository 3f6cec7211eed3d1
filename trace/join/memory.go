package join

// memorySlots is the number of packets that a memory holds. Each takes the slot of its hash, so
// that a later packet with the same slot replaces it.
const memorySlots = 1 << 16

// memory remembers the frames of packets by direction and PSN, for a limited time.
type memory struct{ slots []remembered } // nil until the first put

type remembered struct {
	eventKey
	frames [2]int
}

func (m *memory) slot(k eventKey) *remembered {
	h := hash(2).add(uint64(k.psn)<<40 | uint64(k.class)<<32 | uint64(k.dir.QPN)).addr(k.dir.Src)
	return &m.slots[h%memorySlots]
}

// put remembers the frames of k.
func (m *memory) put(k eventKey, frames [2]int) {
	if m.slots == nil {
		m.slots = make([]remembered, memorySlots)
	}
	*m.slot(k) = remembered{k, frames}
}

// find returns the frames of k, or zeros.
func (m *memory) find(k eventKey) [2]int {
	if m.slots != nil {
		if s := m.slot(k); s.eventKey == k {
			return s.frames
		}
	}
	return [2]int{}
}

// resent remembers the two latest retransmissions of a PSN: the frames of both captures.
type resent struct{ latest, previous memory }

func (r *resent) put(k eventKey, frames [2]int) {
	if r.latest.find(k) != frames {
		r.previous.put(k, r.latest.find(k))
		r.latest.put(k, frames)
	}
}

// find returns the first known retransmission of k after the packet with these frames, or zeros.
func (r *resent) find(k eventKey, after [2]int) [2]int {
	for _, m := range []*memory{&r.previous, &r.latest} {
		f := m.find(k)
		for s := range f {
			if f[s] > after[s] && (after[s] > 0 || after[1-s] == 0 || f[1-s] == 0) {
				return f
			}
		}
	}
	return [2]int{}
}
