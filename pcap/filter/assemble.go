package filter

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// Operation codes of classic BPF (linux/filter.h).
const (
	opLoadByte    = 0x30 // absolute; with opIndirect behind the index
	opLoadHalf    = 0x28
	opLoadWord    = 0x20
	opIndirect    = 0x20 // added to the above turns BPF_ABS into BPF_IND
	opLoadIP4     = 0xb1 // index = 4 * (byte & 15)
	opAnd         = 0x54
	opJump        = 0x05
	opJumpEqual   = 0x15
	opJumpAtLeast = 0x35
	opJumpAnyBit  = 0x45
	opReturn      = 0x06
)

// maxProgram is BPF_MAXINSNS, the longest program that Linux takes.
const maxProgram = 4096

// load takes a big-endian number from the packet.
type load struct {
	offset    uint32
	size      uint32 // 1, 2 or 4
	mask      uint32 // 0 stands for all bits
	behindIP4 bool   // offset counts from the end of the IPv4 header at ip4
	ip4       uint32
}

// node is a decision tree: a constant, a test, or two nodes joined.
type node struct {
	kind        kind
	left, right *node // of not: left
	load        load
	op          uint16 // a conditional jump
	value       uint32
}

type kind int

const (
	never kind = iota
	always
	leaf
	conjunction
	disjunction
	negation
)

func constant(v bool) *node {
	if v {
		return &node{kind: always}
	}
	return &node{kind: never}
}

func test(l load, op uint16, value uint32) *node {
	return &node{kind: leaf, load: l, op: op, value: value}
}

func equal(l load, value uint32) *node   { return test(l, opJumpEqual, value) }
func atLeast(l load, value uint32) *node { return test(l, opJumpAtLeast, value) }
func anyBit(l load, bits uint32) *node   { return test(l, opJumpAnyBit, bits) }

func and(a, b *node) *node {
	switch {
	case a.kind == never || b.kind == always:
		return a
	case b.kind == never || a.kind == always:
		return b
	}
	return &node{kind: conjunction, left: a, right: b}
}

func or(a, b *node) *node {
	switch {
	case a.kind == always || b.kind == never:
		return a
	case b.kind == always || a.kind == never:
		return b
	}
	return &node{kind: disjunction, left: a, right: b}
}

func not(a *node) *node {
	switch a.kind {
	case never, always:
		return constant(a.kind == never)
	case negation:
		return a.left
	}
	return &node{kind: negation, left: a}
}

// assembler lays tests out in the order of the tree, so that all jumps lead forward.
type assembler struct {
	blocks []block
}

// block is one test. Where it leads is known only once those blocks are laid out.
type block struct {
	*node
	yes, no *label
	skip    loaded // what need not be loaded, since all ways here have done so
	long    bool   // a target is too far away for a conditional jump
}

// label is a place to jump to: the index of a block.
type label struct{ block int }

// assemble returns the program of a tree, which returns snaplen for packets to keep and 0 for the others.
func assemble(root *node, snaplen uint32) ([]bpf.RawInstruction, error) {
	keep, drop := bpf.RawInstruction{Op: opReturn, K: snaplen}, bpf.RawInstruction{Op: opReturn}
	switch root.kind {
	case always:
		return []bpf.RawInstruction{keep}, nil
	case never:
		return []bpf.RawInstruction{drop}, nil
	}
	var a assembler
	yes, no := new(label), new(label)
	a.lay(root, yes, no)
	yes.block, no.block = len(a.blocks), len(a.blocks)+1
	a.saveLoads()
	return a.emit(keep, drop)
}

func (a *assembler) lay(n *node, yes, no *label) {
	switch n.kind {
	case negation:
		a.lay(n.left, no, yes)
	case conjunction:
		next := new(label)
		a.lay(n.left, next, no)
		next.block = len(a.blocks)
		a.lay(n.right, yes, no)
	case disjunction:
		next := new(label)
		a.lay(n.left, yes, next)
		next.block = len(a.blocks)
		a.lay(n.right, yes, no)
	default:
		a.blocks = append(a.blocks, block{node: n, yes: yes, no: no})
	}
}

// loaded is what the registers hold.
type loaded struct {
	value load // accumulator; size 0 stands for nothing known
	index bool
	ip4   uint32 // of the header whose length is the index
}

// saveLoads finds the blocks that can use what the blocks before them have loaded.
func (a *assembler) saveLoads() {
	type entry struct {
		reached bool
		present loaded
	}
	entries := make([]entry, len(a.blocks)+2)
	for i := range a.blocks {
		b := &a.blocks[i]
		b.skip = entries[i].present
		after := loaded{value: b.load, index: b.skip.index, ip4: b.skip.ip4}
		if b.load.behindIP4 {
			after.index, after.ip4 = true, b.load.ip4
		}
		for _, target := range []int{b.yes.block, b.no.block} {
			e := &entries[target]
			if !e.reached {
				*e = entry{true, after}
				continue
			}
			if e.present.value != after.value {
				e.present.value = load{}
			}
			if e.present.index != after.index || e.present.ip4 != after.ip4 {
				e.present.index = false
			}
		}
	}
}

// emit writes the blocks. Conditional jumps reach 255 instructions; a block that has to go farther gets two long jumps,
// which may push others apart, hence the repetition.
func (a *assembler) emit(keep, drop bpf.RawInstruction) ([]bpf.RawInstruction, error) {
	starts := make([]int, len(a.blocks)+2)
	for again := true; again; {
		again = false
		at := 0
		for i := range a.blocks {
			starts[i] = at
			at += a.blocks[i].length()
		}
		starts[len(a.blocks)], starts[len(a.blocks)+1] = at, at+1
		if at+2 > maxProgram {
			return nil, fmt.Errorf("filter: it needs more than the %d instructions that a program may have", maxProgram)
		}
		for i := range a.blocks {
			b := &a.blocks[i]
			if !b.long && max(starts[b.yes.block], starts[b.no.block])-starts[i]-b.length() > 255 {
				b.long, again = true, true
			}
		}
	}
	var program []bpf.RawInstruction
	for i := range a.blocks {
		b := &a.blocks[i]
		program = append(program, b.loads()...)
		next := len(program) + 1
		yes, no := starts[b.yes.block], starts[b.no.block]
		if b.long {
			program = append(program, bpf.RawInstruction{Op: b.op, Jf: 1, K: b.value},
				bpf.RawInstruction{Op: opJump, K: uint32(yes - next - 1)}, bpf.RawInstruction{Op: opJump, K: uint32(no - next - 2)})
			continue
		}
		program = append(program, bpf.RawInstruction{Op: b.op, Jt: uint8(yes - next), Jf: uint8(no - next), K: b.value})
	}
	return append(program, keep, drop), nil
}

func (b *block) length() int {
	if b.long {
		return len(b.loads()) + 3
	}
	return len(b.loads()) + 1
}

// loads returns the instructions that bring the value into the accumulator.
func (b *block) loads() []bpf.RawInstruction {
	l := b.load
	if l == b.skip.value {
		return nil
	}
	var program []bpf.RawInstruction
	if l.behindIP4 && !(b.skip.index && b.skip.ip4 == l.ip4) {
		program = append(program, bpf.RawInstruction{Op: opLoadIP4, K: l.ip4})
	}
	op := uint16(opLoadWord)
	switch l.size {
	case 1:
		op = opLoadByte
	case 2:
		op = opLoadHalf
	}
	if l.behindIP4 {
		op += opIndirect
	}
	program = append(program, bpf.RawInstruction{Op: op, K: l.offset})
	if l.mask != 0 && l.mask != ^uint32(0) {
		program = append(program, bpf.RawInstruction{Op: opAnd, K: l.mask})
	}
	return program
}
