package filter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"
)

// isProgram reports whether a text has the form of tcpdump -ddd: the first of several lines is a number.
func isProgram(text string) bool {
	first, rest, found := strings.Cut(strings.TrimLeft(text, " \t\r\n"), "\n")
	_, err := strconv.ParseUint(strings.TrimSpace(first), 10, 32)
	return found && err == nil && strings.TrimSpace(rest) != ""
}

// parseProgram reads the number of instructions and, one a line, their code, jt, jf and k.
func parseProgram(text string) ([]bpf.RawInstruction, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	count, _ := strconv.ParseUint(strings.TrimSpace(lines[0]), 10, 32)
	lines = lines[1:]
	if uint64(len(lines)) != count {
		return nil, fmt.Errorf("filter: the program says %d instructions, but has %d", count, len(lines))
	}
	if count > maxProgram {
		return nil, fmt.Errorf("filter: the program has %d instructions, more than %d", count, maxProgram)
	}
	program := make([]bpf.RawInstruction, 0, len(lines))
	for _, line := range lines {
		i, err := parseInstruction(line)
		if err != nil {
			return nil, fmt.Errorf("filter: %q is no instruction of a program", strings.TrimSpace(line))
		}
		program = append(program, i)
	}
	return program, check(program)
}

func parseInstruction(line string) (bpf.RawInstruction, error) {
	var n [4]uint64
	fields := strings.Fields(line)
	if len(fields) != len(n) {
		return bpf.RawInstruction{}, strconv.ErrSyntax
	}
	for i, bits := range []int{16, 8, 8, 32} {
		var err error
		if n[i], err = strconv.ParseUint(fields[i], 10, bits); err != nil {
			return bpf.RawInstruction{}, err
		}
	}
	return bpf.RawInstruction{Op: uint16(n[0]), Jt: uint8(n[1]), Jf: uint8(n[2]), K: uint32(n[3])}, nil
}

// scratch is the number of memory words of classic BPF (BPF_MEMWORDS).
const scratch = 16

// check makes sure that a program ends: all jumps lead forward and inside, the last instruction returns. It refuses what
// the kernel would refuse, so that the reason can be told.
func check(program []bpf.RawInstruction) error {
	for i, in := range program {
		left := uint64(len(program) - i - 1)
		var wrong bool
		switch in.Op {
		case opJump:
			wrong = uint64(in.K) >= left
		case 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d: // conditional jumps
			wrong = uint64(max(in.Jt, in.Jf)) >= left
		case 0x60, 0x61, 0x02, 0x03: // scratch memory
			wrong = in.K >= scratch
		case 0x34, 0x94: // divisions by a constant
			wrong = in.K == 0
		case 0x64, 0x74: // shifts by a constant
			wrong = in.K >= 32
		default:
			wrong = !plain[in.Op]
		}
		if wrong {
			return fmt.Errorf("filter: instruction %d of the program (%d %d %d %d) is not valid", i, in.Op, in.Jt, in.Jf, in.K)
		}
	}
	if n := len(program); n == 0 || program[n-1].Op != opReturn && program[n-1].Op != opReturnA {
		return errors.New("filter: the program does not end with a return")
	}
	return nil
}

// opReturnA returns the accumulator.
const opReturnA = 0x16

// plain are the operations that are valid with any operands: loads, arithmetic, moves, returns.
var plain = func() map[uint16]bool {
	m := make(map[uint16]bool)
	for _, op := range []uint16{
		0x00, 0x01, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x80, 0x81, 0xb1,
		0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x6c, 0x7c, 0x84, 0x9c, 0xa4, 0xac,
		0x07, 0x87, opReturn, opReturnA,
	} {
		m[op] = true
	}
	return m
}()
