package live

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// program is a classic BPF program whose jumps go to labels. Conditional jumps of classic BPF reach
// 255 instructions; a program jumps over an unconditional one instead.
type program struct {
	code   []bpf.Instruction
	labels map[string]int // index of the instruction after the label
	jumps  map[int]string // index of a Jump: its label
}

// add appends instructions.
func (p *program) add(in ...bpf.Instruction) { p.code = append(p.code, in...) }

// label names the next instruction. Jumps may only go forward.
func (p *program) label(name string) {
	if p.labels == nil {
		p.labels = map[string]int{}
	}
	p.labels[name] = len(p.code)
}

// jump continues at the label.
func (p *program) jump(label string) {
	if p.jumps == nil {
		p.jumps = map[int]string{}
	}
	p.jumps[len(p.code)] = label
	p.add(bpf.Jump{})
}

// when continues at the label if A compares to val.
func (p *program) when(c bpf.JumpTest, val uint32, label string) {
	p.add(bpf.JumpIf{Cond: c, Val: val, SkipFalse: 1})
	p.jump(label)
}

// whenOneOf continues at the label if A is one of vals.
func whenOneOf[T uint8 | uint16](p *program, vals []T, label string) {
	for _, v := range vals {
		p.when(bpf.JumpEqual, uint32(v), label)
	}
}

// assemble resolves the labels.
func (p *program) assemble() ([]bpf.RawInstruction, error) {
	code := append([]bpf.Instruction(nil), p.code...)
	for at, name := range p.jumps {
		to, ok := p.labels[name]
		if !ok || to <= at {
			return nil, fmt.Errorf("filter: no label %q after instruction %d", name, at)
		}
		code[at] = bpf.Jump{Skip: uint32(to - at - 1)}
	}
	return bpf.Assemble(code)
}
