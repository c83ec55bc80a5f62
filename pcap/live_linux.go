package pcap

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	defaultRing    = 64 << 20 // a quarter of a second at 2 Gbit/s
	defaultSnaplen = usualPacket
	defaultTimeout = 100 * time.Millisecond
	// lookEvery is how often counters are read and interfaces looked up, where no event told of a change.
	lookEvery = time.Second
	// mergeWait is how long a packet waits for earlier ones of other interfaces: those are handed over within ringTimeout,
	// give or take the kernel's timers and the scheduler.
	mergeWait = 3 * ringTimeout
	// maxLiveInterfaces bounds those seen with AnyInterface: hosts that start containers all day make new ones all day. All
	// others are counted together.
	maxLiveInterfaces = 1 << 12
)

// live implements Live.
type live struct {
	options LiveOptions
	sockets []*liveSocket
	watch   int         // of watchLinks, or -1
	handed  *ring       // whose packet the caller has
	horizon Timestamp   // no earlier packet can come any more, of any interface
	looked  time.Time   // when counters and interfaces were last looked at
	byIndex map[int]int // with AnyInterface: interface index → index into interfaces
	capture Capture

	mu         sync.Mutex // guards what follows, and the sockets against being closed under Stats and SetFilter
	interfaces []*liveInterface
	closed     bool
}

// OpenLive begins to capture; see Live. All interfaces must exist. Errors are ErrNoPermission and those of the system.
func OpenLive(o LiveOptions) (Live, error) {
	o.RingBytes = cmp.Or(o.RingBytes, defaultRing)
	o.Snaplen = min(cmp.Or(o.Snaplen, defaultSnaplen), defaultSnaplen)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	names := slices.Clone(o.Interfaces)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, errors.New("capture from which interface?")
	}
	if len(names) > 1 && slices.Contains(names, AnyInterface) {
		return nil, errors.New(`"any" stands for all interfaces and cannot be joined with others`)
	}
	program, err := liveProgram(o.Filter, uint32(o.Snaplen))
	if err != nil {
		return nil, err
	}
	l := &live{options: o, watch: -1, byIndex: make(map[int]int), looked: time.Now()}
	l.capture = Capture{Name: strings.Join(names, ","), Format: "live"}
	for _, name := range names {
		s, err := openSocket(name, o, program)
		if err != nil {
			l.Close()
			return nil, err
		}
		l.sockets = append(l.sockets, s)
	}
	if err := l.start(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// start binds the sockets.
func (l *live) start() error {
	if l.any() {
		return l.sockets[0].bind(0)
	}
	l.watch = watchLinks()
	for _, s := range l.sockets {
		s.own = &liveInterface{name: s.name}
		l.interfaces = append(l.interfaces, s.own)
		if err := s.follow(); err != nil {
			return err
		}
	}
	return nil
}

func (l *live) any() bool { return l.sockets[0].name == AnyInterface }

func (l *live) Next(f *Frame) error {
	if l.closed {
		return io.EOF
	}
	if l.handed != nil {
		l.handed.advance()
		l.handed = nil
	}
	var started time.Time // when the wait began
	for {
		i, wait := l.first()
		if i >= 0 {
			l.take(i, f)
			return nil
		}
		now := time.Now()
		if started.IsZero() {
			started = now
		}
		left := l.options.Timeout - now.Sub(started)
		if left <= 0 {
			return ErrTimeout
		}
		l.look(now)
		if err := l.poll(min(left, wait)); err != nil {
			return err
		}
	}
}

// first returns the socket with the earliest packet, or -1 and how long to wait for one at most.
func (l *live) first() (socket int, wait time.Duration) {
	i, idle := l.earliest()
	if i < 0 {
		return -1, l.options.Timeout
	}
	r := l.sockets[i].ring
	if !idle || r.packet().time() <= l.horizon {
		return i, 0
	}
	// An idle socket may have earlier packets in a block that is not handed over yet. Once all are looked at again, those
	// from before a while ago have been seen.
	now := time.Now()
	i, idle = l.earliest()
	l.horizon = Timestamp(now.Add(-mergeWait).UnixNano())
	r = l.sockets[i].ring
	waited := now.Sub(r.entered) // bounds the wait when the clock has been set back
	if !idle || r.packet().time() <= l.horizon || waited >= mergeWait {
		return i, 0
	}
	return -1, mergeWait - waited
}

// earliest returns the socket with the earliest packet, or -1, and whether a socket has none.
func (l *live) earliest() (socket int, idle bool) {
	socket = -1
	var first Timestamp
	for i, s := range l.sockets {
		if !s.ring.ready() {
			idle = true
			continue
		}
		if t := s.ring.packet().time(); socket < 0 || t < first {
			socket, first = i, t
		}
	}
	return socket, idle
}

// take fills f with the packet of a socket.
func (l *live) take(i int, f *Frame) {
	s := l.sockets[i]
	p := s.ring.packet()
	*f = Frame{Ref: Ref{Time: p.time()}, Interface: i}
	p.frame(f)
	if s.own == nil {
		f.Interface = l.interfaceOf(int(p.from.Ifindex))
	}
	of := l.interfaces[f.Interface]
	of.packets.Add(1)
	of.bytes.Add(uint64(len(f.Data)))
	l.capture.add(f)
	if !slices.Contains(l.capture.LinkTypes, f.LinkType) {
		l.capture.LinkTypes = append(l.capture.LinkTypes, f.LinkType)
	}
	l.handed = s.ring
	if l.capture.Packets%framesPerLook == 0 {
		l.look(time.Now())
	}
}

// framesPerLook is how many packets are taken between looks at the clock where they never cease.
const framesPerLook = 1 << 12

// interfaceOf returns the number of an interface, by its name: one that came back under its name is the same.
func (l *live) interfaceOf(index int) int {
	if n, ok := l.byIndex[index]; ok {
		return n
	}
	name := "others"
	if len(l.interfaces) < maxLiveInterfaces-1 {
		name = interfaceName(l.sockets[0].fd, index)
	}
	n := slices.IndexFunc(l.interfaces, func(i *liveInterface) bool { return i.name == name })
	if n < 0 {
		n = len(l.interfaces)
		added := &liveInterface{name: name}
		added.present.Store(true)
		l.mu.Lock()
		l.interfaces = append(l.interfaces, added)
		l.mu.Unlock()
	}
	if len(l.byIndex) >= 2*maxLiveInterfaces {
		clear(l.byIndex) // forgets interfaces that are gone; the others are looked up again
	}
	l.byIndex[index] = n
	return n
}

// poll waits for a packet of the sockets that have none, or for an interface to change.
func (l *live) poll(wait time.Duration) error {
	fds := make([]unix.PollFd, 0, len(l.sockets)+1)
	for _, s := range l.sockets {
		fd := unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
		if s.ring.left > 0 {
			fd.Fd = -1 // it would not wait
		}
		fds = append(fds, fd)
	}
	fds = append(fds, unix.PollFd{Fd: int32(l.watch), Events: unix.POLLIN})
	milliseconds := int((wait + time.Millisecond - 1) / time.Millisecond)
	if _, err := unix.Poll(fds, milliseconds); err != nil && err != unix.EINTR {
		return err
	}
	changed := false
	for i, s := range l.sockets {
		if fds[i].Revents&unix.POLLERR != 0 {
			s.takeError()
			changed = true
		}
	}
	if fds[len(l.sockets)].Revents != 0 {
		drain(l.watch)
		changed = true
	}
	if changed {
		l.follow()
	}
	return nil
}

// follow binds the sockets of interfaces that have come back. One that cannot be bound is tried again later.
func (l *live) follow() {
	if l.any() {
		return
	}
	for _, s := range l.sockets {
		_ = s.follow()
	}
}

// look reads the counters, which the kernel keeps in 32 bits, and the interfaces, if it is time to.
func (l *live) look(now time.Time) {
	if now.Sub(l.looked) < lookEvery {
		return
	}
	l.looked = now
	l.follow()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count()
}

func (l *live) count() {
	if l.closed {
		return
	}
	for _, s := range l.sockets {
		s.count()
	}
}

func (l *live) Captures() []Capture {
	c := l.capture
	c.LinkTypes = slices.Clone(c.LinkTypes)
	dropped := l.Stats().Dropped
	c.Dropped = &dropped
	return []Capture{c}
}

func (l *live) Stats() LiveStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count()
	var stats LiveStats
	for _, s := range l.sockets {
		stats.Dropped += s.dropped
		stats.Freezes += s.freezes
	}
	for _, i := range l.interfaces {
		one := LiveInterface{Name: i.name, Packets: i.packets.Load(), Bytes: i.bytes.Load(), Dropped: i.dropped, Present: i.present.Load()}
		stats.Packets += one.Packets
		stats.Bytes += one.Bytes
		stats.Interfaces = append(stats.Interfaces, one)
	}
	return stats
}

func (l *live) SetFilter(filter LiveFilter) error {
	program, err := liveProgram(filter, uint32(l.options.Snaplen))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("the capture is closed")
	}
	for _, s := range l.sockets {
		if err := s.setFilter(program); err != nil {
			return err
		}
	}
	return nil
}

func (l *live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.count()
	l.closed, l.handed = true, nil
	var errs []error
	for _, s := range l.sockets {
		errs = append(errs, s.close())
	}
	if l.watch >= 0 {
		errs = append(errs, unix.Close(l.watch))
	}
	return errors.Join(errs...)
}
