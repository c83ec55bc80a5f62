package kafka

import (
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// Message is one request or answer with its bytes, for those who copy messages rather than read what they say. It is handed to
// Options.Messages right behind the observations of what it says, and is valid during that call only.
type Message struct {
	Link          *Link
	First, At     pcap.Ref // the frames of its first byte and of its completion
	FromClient    bool
	APIKey        int16
	APIVersion    int16
	CorrelationID int32
	Request       *Request                // the request itself, or the one that is answered; nil if that was not seen
	Start         reassembly.StreamOffset // of its length prefix in its stream
	Data          []byte                  // behind the length prefix, up to the first hole of the capture; borrowed
	Header        int                     // bytes of Data that are the header; negative where too few are there
	Size          int                     // bytes behind the length prefix on the wire: len(Data) or more
	Torn          bool                    // the connection ended before it was whole
}

// tap hands out a message. Tokens of SASL and answers of which nothing is known are no such messages.
func (c *conn) tap(m *message, p *pending, fromClient bool) {
	if c.d.messages == nil {
		return
	}
	c.d.messages(&Message{
		Link: c.link, First: m.first, At: m.at, FromClient: fromClient, APIKey: p.APIKey, APIVersion: p.APIVersion,
		CorrelationID: p.CorrelationID, Request: p.request(), Start: m.start, Data: m.data, Header: m.header, Size: m.size, Torn: m.torn,
	})
}

// RecordsField is where the records of one partition stand in the body of a message.
type RecordsField struct {
	At   int // offset in the body
	Have int // bytes that are there
	Size int // bytes on the wire; -1: null
}

// RecordsFields finds the records of all partitions of a Produce request, or of the answer to a Fetch or ShareFetch. body is what
// is there behind the header, size its length on the wire. It returns false if what is there is malformed.
func RecordsFields(key, version int16, body []byte, size int) ([]RecordsField, bool) {
	var fields []RecordsField
	add := func(at int, records []byte, total int) {
		f := RecordsField{at - len(records), len(records), total}
		if records == nil {
			f.Size = -1
		}
		fields = append(fields, f)
	}
	switch key {
	case keyProduce:
		w := newProduceRequest(version, body, size)
		for w.next() {
			add(w.at, w.records, w.recordsSize)
		}
		return fields, !w.malformed()
	case keyShareFetch:
		w := newShareFetchAnswer(version, body, size)
		for w.next() {
			add(w.at, w.records, w.recordsSize)
		}
		return fields, !w.malformed()
	}
	w := newFetchAnswer(version, body, size)
	for w.next() {
		add(w.at, w.records, w.recordsSize)
	}
	return fields, !w.malformed()
}
