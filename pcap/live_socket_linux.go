package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// liveSocket captures from one interface, or from all.
type liveSocket struct {
	fd          int
	ring        *ring
	name        string // AnyInterface for all
	index       int    // of the interface it is bound to; 0 while there is none of this name
	promiscuous bool
	own         *liveInterface // nil for all
	dropped     uint64
	freezes     uint64
}

// liveInterface counts what came from an interface. Packets are counted by Next and read by Stats.
type liveInterface struct {
	name           string
	packets, bytes atomic.Uint64
	present        atomic.Bool
	dropped        uint64
}

// openSocket makes a socket with ring and filter that sees no packet yet: a packet socket of protocol 0 receives nothing
// until it is bound, and is bound with the filter in place.
func openSocket(name string, o LiveOptions, program []bpf.RawInstruction) (*liveSocket, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil, ErrNoPermission
	}
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	s := &liveSocket{fd: fd, name: name, promiscuous: o.Promiscuous}
	if err := s.setFilter(program); err != nil {
		_ = s.close()
		return nil, err
	}
	if s.ring, err = openRing(fd, o.RingBytes); err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

func (s *liveSocket) close() error {
	var err error
	if s.ring != nil {
		err = s.ring.close()
	}
	return errors.Join(err, unix.Close(s.fd))
}

func (s *liveSocket) setFilter(program []bpf.RawInstruction) error {
	filters := make([]unix.SockFilter, len(program))
	for i, in := range program {
		filters[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filters)), Filter: unsafe.SliceData(filters)}
	if err := unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog); err != nil {
		return fmt.Errorf("the kernel refuses the filter of %d instructions: %w", len(filters), err)
	}
	return nil
}

// bind makes the socket see all packets of an interface; 0 stands for all interfaces. The interface may be down.
func (s *liveSocket) bind(index int) error {
	var network [2]byte // the protocol is wanted in network byte order
	binary.BigEndian.PutUint16(network[:], unix.ETH_P_ALL)
	protocol := binary.NativeEndian.Uint16(network[:])
	if err := unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: index}); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if s.promiscuous && index != 0 {
		request := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(s.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &request); err != nil {
			return fmt.Errorf("%s: promiscuous mode: %w", s.name, err)
		}
	}
	s.index = index
	return nil
}

// follow binds the socket to the interface that has the name now, if that is another one than before.
func (s *liveSocket) follow() error {
	index, err := interfaceIndex(s.fd, s.name)
	if err != nil {
		s.index = 0
		s.own.present.Store(false)
		return err
	}
	if index != s.index {
		if err := s.bind(index); err != nil {
			return err
		}
	}
	s.own.present.Store(true)
	return nil
}

// count adds what the kernel has counted since the last call.
func (s *liveSocket) count() {
	stats, err := unix.GetsockoptTpacketStatsV3(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return // of a socket with a ring it does not fail
	}
	s.dropped += uint64(stats.Drops)
	s.freezes += uint64(stats.Freeze_q_cnt)
	if s.own != nil {
		s.own.dropped = s.dropped
	}
}

// takeError clears the error of the socket: its interface is down or gone.
func (s *liveSocket) takeError() { _, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR) }

// interfaceIndex asks in the network namespace of the socket.
func interfaceIndex(fd int, name string) (int, error) {
	request, err := unix.NewIfreq(name)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request)
	}
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) {
		return 0, fmt.Errorf("there is no interface %q", name)
	}
	if err != nil {
		return 0, fmt.Errorf("interface %q: %w", name, err)
	}
	return int(request.Uint32()), nil
}

// interfaceName returns the name of an interface, or its number if it is gone already.
func interfaceName(fd, index int) string {
	request, err := unix.NewIfreq("")
	if err == nil {
		request.SetUint32(uint32(index))
		err = unix.IoctlIfreq(fd, unix.SIOCGIFNAME, request)
	}
	if err != nil {
		return fmt.Sprintf("interface %d", index)
	}
	return request.Name()
}

// watchLinks opens a socket that becomes readable when an interface changes, or returns -1: the changes are then noticed
// later.
func watchLinks() int {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return -1
	}
	if unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}) != nil {
		unix.Close(fd)
		return -1
	}
	return fd
}

// drain reads away the messages of watchLinks. What they say is not needed: the interfaces are asked.
func drain(fd int) {
	var message [1 << 12]byte
	for {
		if _, _, err := unix.Recvfrom(fd, message[:], 0); err != nil && err != unix.EINTR && err != unix.ENOBUFS {
			return
		}
	}
}
