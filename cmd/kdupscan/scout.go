package main

import (
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/reassembly"
	"github.com/kdupscan/kdupscan/reassembly/tls"
)

// scout looks for Kafka among the segments of one look at all ports, and forgets everything but the ports. It takes what it
// has time for.
type scout struct {
	free, full chan *load
	filling    *load // being filled, or nil; the reader's
	order      uint64
	learned    chan<- uint16
	keys       *tls.Keys
}

// newScout starts a scout.
func newScout(learned chan<- uint16, keys *tls.Keys) *scout {
	const loads = 2 // one being filled, one being looked at
	s := &scout{free: make(chan *load, loads), full: make(chan *load, loads), learned: learned, keys: keys}
	for range loads {
		s.free <- newLoad()
	}
	go s.run()
	return s
}

func (s *scout) add(segment *reassembly.Segment) {
	if s.filling != nil && s.filling.full(len(segment.Payload)) {
		s.send()
	}
	if s.filling == nil {
		select {
		case s.filling = <-s.free:
		default:
			return
		}
	}
	s.filling.add(segment, nil, s.order)
	s.order++
}

func (s *scout) send() {
	if s.filling != nil {
		s.full <- s.filling
		s.filling = nil
	}
}

func (s *scout) stop() { close(s.full) }

func (s *scout) run() {
	eye := newShard(budget(leastMemory), false)
	eye.keys.SetBase(s.keys)
	for l := range s.full {
		for i := range shards {
			for _, o := range eye.push(nil, l.segments[i], nil) {
				if port, ok := kafkaPort(o.Observation); ok {
					select {
					case s.learned <- port:
					default: // it will be found again
					}
				}
			}
		}
		l.reset()
		s.free <- l
	}
}

// kafkaPort returns the port on which an observation shows Kafka for the first time.
func kafkaPort(o kafka.Observation) (uint16, bool) {
	opened, ok := o.(*kafka.LinkOpened)
	if !ok {
		return 0, false
	}
	return opened.Link.Server.Port(), true
}
