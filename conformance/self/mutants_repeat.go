package self

import "github.com/gorxe/gorxe/bth"

// repeatMutants break rules of an RC requester for what it repeats.
var repeatMutants = []Mutant{
	{
		Name: "late-ack-renumbers", Breaks: "After an ACK during a repetition, the next one numbers all packets one PSN too high.",
		Cases: []string{"requester/40"},
		hooks: func(w *world) hooks {
			repeating, late := false, false
			return requester(func(_ *world, h *history, f *frame, again bool) {
				repeating = again
				if before := h.sent[f.PSN.Sub(1)]; again && late && before != nil {
					f.Opcode, f.Payload = before.Opcode, before.Payload
				}
			}, func(_ *world, _ *history, f *frame) { late = late || repeating && f.ack() })(w)
		},
	},
	withoutAddress("atomic-write-without-address", "An ATOMIC WRITE", bth.OpAtomicWrite, "requester/41"),
	withoutAddress("flush-without-address", "A FLUSH", bth.OpFlush, "requester/42"),
}

// withoutAddress returns a requester that repeats an operation with address 0.
func withoutAddress(name, what string, op bth.Operation, id string) Mutant {
	return Mutant{
		Name: name, Breaks: what + " that is sent again has the address 0.", Cases: []string{id},
		hooks: requester(func(_ *world, _ *history, f *frame, again bool) {
			if again && f.is(op) {
				f.RETH.VA = 0
			}
		}, nil),
	}
}
