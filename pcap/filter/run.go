package filter

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
)

// kernelData is where loads stop to mean bytes of the packet: SKF_AD_OFF and SKF_NET_OFF of linux/filter.h are above it.
const kernelData = 1 << 31

// run returns what a checked program returns for a packet, and whether it read beyond its end, which makes it return 0.
// wire is the length before the packet was cut.
func run(program []bpf.RawInstruction, packet []byte, wire int) (kept uint32, short bool) {
	var a, x uint32
	var memory [scratch]uint32
	for pc := 0; pc < len(program); pc++ {
		in := &program[pc]
		switch in.Op & 7 {
		case 0, 1: // load into the accumulator or the index
			v, ok := fetch(in, packet, uint32(wire), x, &memory)
			if !ok {
				return 0, true
			}
			if in.Op&7 == 0 {
				a = v
			} else {
				x = v
			}
		case 2:
			memory[in.K%scratch] = a
		case 3:
			memory[in.K%scratch] = x
		case 4:
			v := in.K
			if in.Op&8 != 0 {
				v = x
			}
			if in.Op == 0x3c || in.Op == 0x9c { // a division by the index
				if x == 0 {
					return 0, false
				}
			}
			a = calculate(in.Op&0xf0, a, v)
		case 5:
			pc += jump(in, a, x)
		case 6:
			if in.Op == opReturnA {
				return a, false
			}
			return in.K, false
		case 7:
			if in.Op == 0x07 {
				x = a
			} else {
				a = x
			}
		}
	}
	return 0, false
}

// fetch returns the operand of a load.
func fetch(in *bpf.RawInstruction, packet []byte, wire, x uint32, memory *[scratch]uint32) (uint32, bool) {
	at := uint64(in.K)
	switch in.Op & 0xe0 {
	case 0x00:
		return in.K, true
	case 0x60:
		return memory[in.K%scratch], true
	case 0x80:
		return wire, true
	case 0xa0: // length of an IPv4 header
		if at >= uint64(len(packet)) {
			return 0, false
		}
		return uint32(packet[at]&15) * 4, true
	case 0x40:
		at += uint64(x)
	}
	size := uint64(4) >> (in.Op >> 3 & 3) // BPF_W, BPF_H, BPF_B
	if at+size > uint64(len(packet)) {
		return 0, false
	}
	switch b := packet[at:]; size {
	case 4:
		return binary.BigEndian.Uint32(b), true
	case 2:
		return uint32(binary.BigEndian.Uint16(b)), true
	default:
		return uint32(b[0]), true
	}
}

// calculate applies an arithmetic operation; divisors are not zero.
func calculate(op uint16, a, v uint32) uint32 {
	switch op {
	case 0x00:
		return a + v
	case 0x10:
		return a - v
	case 0x20:
		return a * v
	case 0x30:
		return a / v
	case 0x40:
		return a | v
	case 0x50:
		return a & v
	case 0x60:
		return a << v
	case 0x70:
		return a >> v
	case 0x80:
		return -a
	case 0x90:
		return a % v
	}
	return a ^ v
}

// jump returns how many instructions to skip.
func jump(in *bpf.RawInstruction, a, x uint32) int {
	v := in.K
	if in.Op&8 != 0 {
		v = x
	}
	var yes bool
	switch in.Op & 0xf0 {
	case 0x00:
		return int(in.K)
	case 0x10:
		yes = a == v
	case 0x20:
		yes = a > v
	case 0x30:
		yes = a >= v
	case 0x40:
		yes = a&v != 0
	}
	if yes {
		return int(in.Jt)
	}
	return int(in.Jf)
}
