package pcap

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Operations of classic BPF (linux/filter.h).
const (
	bpfLoadWord    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	bpfLoadHalf    = unix.BPF_LD | unix.BPF_H | unix.BPF_ABS
	bpfJump        = unix.BPF_JMP | unix.BPF_JA
	bpfJumpIfEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfReturn      = unix.BPF_RET | unix.BPF_K
)

// Offsets at which a program finds what the kernel knows of a packet (SKF_AD_OFF, -4096), and the packet from its IP header
// on (SKF_NET_OFF, -1048576).
const (
	kernelProtocol = 0xfffff000
	kernelType     = kernelProtocol + 4
	kernelHardware = kernelProtocol + 28
	kernelTag      = kernelProtocol + 44
	kernelTagged   = kernelProtocol + 48
	kernelTPID     = kernelProtocol + 60
	kernelNetwork  = 0xfff00000
)

// liveProgram makes one program of those for the link types, for whatever packet a socket may see:
//
//	hardware Ethernet: with a tag beside the packet → the program, reading the tag from there; else → the program
//	hardware loopback: outgoing → drop; else as Ethernet
//	other hardware:    IP → the program for raw IP, reading from the IP header on; else → drop
//
// It keeps snaplen bytes at most.
func liveProgram(filter LiveFilter, snaplen uint32) ([]bpf.RawInstruction, error) {
	pass := []bpf.RawInstruction{{Op: bpfReturn, K: snaplen}}
	ethernet, raw := pass, pass
	if filter != nil {
		var err error
		if ethernet, err = filter(LinkTypeEthernet); err != nil {
			return nil, err
		}
		if raw, err = filter(LinkTypeRaw); err != nil {
			return nil, err
		}
	}
	tagged := besideTag(ethernet)
	drop := bpf.RawInstruction{Op: bpfReturn}
	program := []bpf.RawInstruction{
		{Op: bpfLoadWord, K: kernelHardware},
		{Op: bpfJumpIfEqual, K: unix.ARPHRD_ETHER, Jt: 9},
		{Op: bpfJumpIfEqual, K: unix.ARPHRD_LOOPBACK, Jt: 5},
		{Op: bpfLoadWord, K: kernelProtocol},
		{Op: bpfJumpIfEqual, K: unix.ETH_P_IP, Jt: 2},
		{Op: bpfJumpIfEqual, K: unix.ETH_P_IPV6, Jt: 1},
		drop,
		{Op: bpfJump, K: uint32(6 + len(ethernet) + len(tagged))}, // to raw
		{Op: bpfLoadWord, K: kernelType},                          // loopback
		{Op: bpfJumpIfEqual, K: unix.PACKET_OUTGOING, Jf: 1},
		drop,
		{Op: bpfLoadWord, K: kernelTagged}, // Ethernet
		{Op: bpfJumpIfEqual, K: 0, Jt: 1},
		{Op: bpfJump, K: uint32(len(ethernet))}, // to tagged
	}
	program = append(program, ethernet...)
	program = append(program, tagged...)
	program = append(program, fromNetwork(raw)...)
	for i := range program {
		if program[i].Op == bpfReturn {
			program[i].K = min(program[i].K, snaplen)
		}
	}
	if len(program) > unix.BPF_MAXINSNS {
		return nil, fmt.Errorf("the filter needs %d instructions, more than the %d that Linux takes", len(program), unix.BPF_MAXINSNS)
	}
	return program, nil
}

// moved returns a copy of a program in which move has changed each load from the packet, given its size.
func moved(program []bpf.RawInstruction, move func(in *bpf.RawInstruction, size uint32)) []bpf.RawInstruction {
	program = slices.Clone(program)
	for i := range program {
		in := &program[i]
		mode := in.Op & 0xe0
		fromPacket := mode == unix.BPF_ABS || mode == unix.BPF_IND || mode == unix.BPF_MSH
		if in.Op&7 > unix.BPF_LDX || !fromPacket || in.K >= kernelNetwork {
			continue
		}
		size := uint32(4)
		switch in.Op & 0x18 {
		case unix.BPF_H:
			size = 2
		case unix.BPF_B:
			size = 1
		}
		move(in, size)
	}
	return program
}

// besideTag turns a program for Ethernet frames with a VLAN tag into one for those whose tag is beside them. A part of the
// tag cannot be had from the kernel, and is asked for only where a program has found that there is no tag; anything else
// refuses the packet.
func besideTag(program []bpf.RawInstruction) []bpf.RawInstruction {
	const tag, behind = 12, 16 // where the tag begins and ends
	return moved(program, func(in *bpf.RawInstruction, size uint32) {
		switch {
		case in.K >= behind:
			in.K -= behind - tag
		case in.K+size <= tag || in.Op&0xe0 == unix.BPF_IND:
		case in.Op == bpfLoadHalf && in.K == tag:
			*in = bpf.RawInstruction{Op: bpfLoadWord, K: kernelTPID}
		case in.Op == bpfLoadHalf && in.K == tag+2:
			*in = bpf.RawInstruction{Op: bpfLoadWord, K: kernelTag}
		default:
			*in = bpf.RawInstruction{Op: bpfReturn}
		}
	})
}

// fromNetwork turns a program for raw IP into one that finds the IP header behind any link header.
func fromNetwork(program []bpf.RawInstruction) []bpf.RawInstruction {
	return moved(program, func(in *bpf.RawInstruction, _ uint32) { in.K += kernelNetwork })
}
