package kafka

// API names one version of one API.
type API struct{ Key, Version int16 }

// APIStats counts the messages of one API version.
type APIStats struct {
	Requests, Responses int64
	Undecoded           int64 // requests and responses that were not decoded though the API is one we decode
}

// Stats counts what the Kafka layer of one worker has read. Stats of several workers are added with Add.
type Stats struct {
	Connections, TLS, Other int64 // TCP connections by what they carry; Other has those without any byte too
	Requests, Responses     int64
	Unanswered              int64 // requests that expect an answer and got none
	APIs                    map[API]*APIStats
	ProducedBatches         int64
	FetchedBatches          int64 // sightings, a batch fetched twice counts twice
	Records                 int64 // fingerprinted
	RecordsNotCompared      int64
}

// Add adds the counts of t to s.
func (s *Stats) Add(t *Stats) {
	s.Connections += t.Connections
	s.TLS += t.TLS
	s.Other += t.Other
	s.Requests += t.Requests
	s.Responses += t.Responses
	s.Unanswered += t.Unanswered
	s.ProducedBatches += t.ProducedBatches
	s.FetchedBatches += t.FetchedBatches
	s.Records += t.Records
	s.RecordsNotCompared += t.RecordsNotCompared
	if s.APIs == nil {
		s.APIs = make(map[API]*APIStats, len(t.APIs))
	}
	for api, n := range t.APIs {
		have := s.APIs[api]
		if have == nil {
			have = &APIStats{}
			s.APIs[api] = have
		}
		have.Requests += n.Requests
		have.Responses += n.Responses
		have.Undecoded += n.Undecoded
	}
}
