package kafka

// Bounds of what is kept of the fetch sessions of one connection. A consumer has one session, with the partitions it is
// assigned; the controller of a large cluster fetches some thousands.
const (
	maxFetchSessions     = 8
	maxSessionPartitions = 20_000
)

// fetchKey is a partition as Fetch names it: by name up to version 12, then by id.
type fetchKey struct {
	topic     Topic
	partition int32
}

// fetchAsked is what the answer to a Fetch request has to be read with.
type fetchAsked struct {
	replicaID     int32
	readCommitted bool
	session       *fetchSession // nil: the offsets are unknown
	lastEpochs    map[fetchKey]int32
}

// lastFetched notes the leader epoch of the last batch that a follower has of a partition; consumers name none (-1).
func (a *fetchAsked) lastFetched(key fetchKey, epoch int32) {
	if epoch < 0 || len(a.lastEpochs) == maxSessionPartitions {
		return
	}
	if a.lastEpochs == nil {
		a.lastEpochs = map[fetchKey]int32{}
	}
	a.lastEpochs[key] = epoch
}

// lastEpoch returns what lastFetched noted of a partition, -1 for nothing.
func (a *fetchAsked) lastEpoch(key fetchKey) int32 {
	if epoch, named := a.lastEpochs[key]; named {
		return epoch
	}
	return -1
}

// fetchSession holds the offsets from which partitions are fetched. With incremental fetches (KIP-227) a request names
// only the partitions that have changed, and the broker remembers the others.
type fetchSession struct {
	id      int32 // 0: of one request only, or not granted yet
	offsets map[fetchKey]int64
}

// ask notes the offset from which a partition is fetched. It returns false if the session is full.
func (s *fetchSession) ask(key fetchKey, offset int64) bool {
	if s == nil {
		return true
	}
	if _, known := s.offsets[key]; !known && len(s.offsets) >= maxSessionPartitions {
		return false
	}
	s.offsets[key] = offset
	return true
}

func (s *fetchSession) forget(key fetchKey) {
	if s != nil {
		delete(s.offsets, key)
	}
}

// offset returns the offset from which a partition is fetched, -1 if that is unknown.
func (s *fetchSession) offset(key fetchKey) int64 {
	if s != nil {
		if offset, known := s.offsets[key]; known {
			return offset
		}
	}
	return -1
}

// fetchSessions are the sessions of one connection. The zero value has none.
type fetchSessions struct {
	granted []*fetchSession // oldest first
	spare   *fetchSession   // to be used again
	epochs  map[fetchKey]int32
}

// sessions returns those of the connection.
func (c *conn) sessions() *fetchSessions {
	if c.fetches == nil {
		c.fetches = new(fetchSessions)
	}
	return c.fetches
}

// start returns the session that a request reads or changes: that of its id, or a new one for a request that names all of
// its partitions (epoch 0: a session is asked for; -1: none is).
func (f *fetchSessions) start(id, epoch int32) *fetchSession {
	at := -1
	for i, s := range f.granted {
		if s.id == id {
			at = i
		}
	}
	if epoch > 0 && at >= 0 {
		return f.granted[at]
	}
	if at >= 0 { // the client gives the session up
		f.granted = append(f.granted[:at], f.granted[at+1:]...)
	}
	s := f.spare
	f.spare = nil
	if s == nil {
		s = &fetchSession{offsets: map[fetchKey]int64{}}
	}
	s.id = 0
	clear(s.offsets)
	if epoch > 0 { // begun before the capture: what it names from now on is known
		f.grant(s, id)
	}
	return s
}

// grant ties a session to the id that the broker gives it, and ends one that has none. It returns false if an older
// session had to be given up for it.
func (f *fetchSessions) grant(s *fetchSession, id int32) bool {
	if s == nil || s.id != 0 {
		return true
	}
	if id == 0 {
		f.end(s)
		return true
	}
	s.id = id
	fits := len(f.granted) < maxFetchSessions
	if !fits {
		f.granted = f.granted[1:]
	}
	f.granted = append(f.granted, s)
	return fits
}

// end lets a session that was not granted be used again.
func (f *fetchSessions) end(s *fetchSession) {
	if s != nil && s.id == 0 {
		f.spare = s
	}
}

// newEpoch notes the leader epoch that a client believes in, and reports whether it is one and not the one noted before.
func (f *fetchSessions) newEpoch(key fetchKey, epoch int32) bool {
	have, known := f.epochs[key]
	if epoch < 0 || known && have == epoch {
		return false
	}
	if f.epochs == nil || !known && len(f.epochs) >= maxSessionPartitions {
		f.epochs = map[fetchKey]int32{}
	}
	f.epochs[key] = epoch
	return true
}
