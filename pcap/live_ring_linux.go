package pcap

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// ringBlock is the unit in which the kernel hands over packets, and the bound of a packet: more than the largest that
	// Linux makes (BIG TCP, 512 KiB). A larger one would only cost latency at low rates.
	ringBlock = 1 << 20
	// ringTimeout hands over a block that is not full: the latency of a packet where there are few.
	ringTimeout = 10 * time.Millisecond
	// ringFrame is only checked by the kernel, not used for blocks of packets of any length.
	ringFrame = 1 << 11
	// tagLen is the room for a VLAN tag before each packet.
	tagLen = 4
)

// ring is the memory that the kernel fills with blocks of packets (TPACKET_V3, Documentation/networking/packet_mmap.rst).
type ring struct {
	memory  []byte
	block   int    // the one being read, or to be read next
	offset  uint32 // of the next packet in it
	left    uint32 // packets in it from there on; 0: it is the kernel's
	entered time.Time
}

// openRing gives a socket its ring, before it is bound.
func openRing(fd, size int) (*ring, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return nil, fmt.Errorf("this kernel has no TPACKET_V3: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_RESERVE, tagLen); err != nil {
		return nil, fmt.Errorf("packet ring: %w", err)
	}
	blocks := max(2, size/ringBlock)
	request := unix.TpacketReq3{
		Block_size: ringBlock, Block_nr: uint32(blocks), Frame_size: ringFrame, Frame_nr: uint32(blocks * (ringBlock / ringFrame)),
		Retire_blk_tov: uint32(ringTimeout.Milliseconds()),
	}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return nil, fmt.Errorf("packet ring of %d MiB: %w", blocks, err)
	}
	memory, err := unix.Mmap(fd, 0, blocks*ringBlock, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("packet ring of %d MiB: %w", blocks, err)
	}
	return &ring{memory: memory}, nil
}

func (r *ring) close() error { return unix.Munmap(r.memory) }

// header returns the header of the block being read, behind its version and an offset.
func (r *ring) header() *unix.TpacketHdrV1 {
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&r.memory[r.block*ringBlock+8]))
}

// ready reports whether there is a packet to be read. An empty block, which timeouts may make, goes back at once.
func (r *ring) ready() bool {
	for r.left == 0 {
		h := r.header()
		if atomic.LoadUint32(&h.Block_status)&unix.TP_STATUS_USER == 0 {
			return false
		}
		r.left, r.offset = h.Num_pkts, h.Offset_to_first_pkt
		r.entered = time.Now()
		if r.left == 0 {
			r.release()
		}
	}
	return true
}

// packet returns the next packet, which must be ready. The pointer is valid until advance.
func (r *ring) packet() *packet {
	at := r.block*ringBlock + int(r.offset)
	return (*packet)(unsafe.Pointer(&r.memory[at]))
}

// advance gives up the packet, and its block after the last one.
func (r *ring) advance() {
	r.offset += r.packet().Next_offset
	if r.left--; r.left == 0 {
		r.release()
	}
}

func (r *ring) release() {
	atomic.StoreUint32(&r.header().Block_status, unix.TP_STATUS_KERNEL)
	r.block = (r.block + 1) % (len(r.memory) / ringBlock)
}

// packet is what stands before the bytes of a packet in the ring.
type packet struct {
	unix.Tpacket3Hdr
	from unix.RawSockaddrLinklayer
}

func (p *packet) time() Timestamp { return Timestamp(int64(p.Sec)*1e9 + int64(p.Nsec)) }

// frame fills f with the link type, the bytes, which stay in the ring, and the length. It may be called once.
func (p *packet) frame(f *Frame) {
	start, length, wire := int(p.Mac), int(p.Snaplen), int(p.Len)
	ethernet := p.from.Hatype == unix.ARPHRD_ETHER || p.from.Hatype == unix.ARPHRD_LOOPBACK
	f.LinkType = LinkTypeEthernet
	if !ethernet {
		header := min(max(int(p.Net)-start, 0), length)
		start, length, wire = start+header, length-header, wire-header
		f.LinkType = LinkTypeRaw
	}
	if ethernet && p.Status&unix.TP_STATUS_VLAN_VALID != 0 && length >= addressesLen {
		start, length, wire = start-tagLen, length+tagLen, wire+tagLen
		p.insertTag(start)
	}
	f.Data = p.bytes(start, length)
	f.OriginalLength = max(wire, length)
}

func (p *packet) bytes(start, length int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(p), start)), length)
}

// addressesLen is the length of both addresses of an Ethernet frame, behind which the tag belongs.
const addressesLen = 12

// insertTag moves the addresses to the start, where there is room for the tag, and puts that behind them.
func (p *packet) insertTag(start int) {
	b := p.bytes(start, addressesLen+tagLen)
	copy(b, b[tagLen:])
	tpid := uint16(unix.ETH_P_8021Q)
	if p.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = p.Hv1.Vlan_tpid
	}
	binary.BigEndian.PutUint16(b[addressesLen:], tpid)
	binary.BigEndian.PutUint16(b[addressesLen+2:], uint16(p.Hv1.Vlan_tci))
}
