package kafka

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// scriptOf makes events of any bytes: a header of two bytes (what and how much) and, for data, the bytes.
func scriptOf(b []byte) *script {
	s := newScript(len(b) > 0 && b[0]&0x80 != 0)
	for len(b) >= 2 {
		dir, n := reassembly.Direction(b[0]&1), int(b[1])|int(b[0]>>4&7)<<8
		switch b[0] >> 1 & 7 {
		case 0:
			s.gap(dir, 1+n)
		case 1:
			s.ack(dir)
		case 2:
			s.add(reassembly.Event{Kind: reassembly.Finish, Dir: dir})
		default:
			n = min(n, len(b)-2)
			s.data(dir, b[2:2+n])
			b = b[n:]
		}
		b = b[2:]
	}
	return s.close(reassembly.CloseReason(len(s.events) % 6))
}

// bytesOf is the inverse of scriptOf for data.
func bytesOf(turns []turn) []byte {
	var out []byte
	for _, t := range turns {
		for b := t.bytes; len(b) > 0; {
			n := min(len(b), 1<<11-1)
			out = append(out, 0x80|byte(n>>8)<<4|3<<1|byte(t.dir), byte(n))
			out = append(out, b[:n]...)
			b = b[n:]
		}
	}
	return out
}

// FuzzDecoder gives a Decoder any events. Whatever they hold: it does not panic; the first observation of a connection is
// its LinkOpened and the last one its LinkClosed; answers belong to requests of their correlation id; no memory of messages
// is left when the connection is closed; there are not more observations than bytes.
func FuzzDecoder(f *testing.F) {
	whole := bytesOf(conversation(f))
	f.Add(whole)
	f.Add(whole[40:])
	for _, header := range []string{proxyVersion1, proxyVersion2} {
		f.Add(bytesOf(append([]turn{{asks, []byte(header)}}, conversation(f)...)))
	}
	for key, exchange := range exchanges {
		for _, version := range []int16{0, apis[key].newest} {
			e := exchange(nil2(f), version)
			f.Add(bytesOf([]turn{{asks, request(e.request, version, 1, "client")}, {answers, answer(e.answer, version, 1)}}))
		}
	}
	for _, x := range saslExchanges {
		raw, _ := saslTurns(x, 0, -1)
		raw = append(raw, produceTurns(9, 40, -1, testBatch(7078, 0), 100)...)
		f.Add(bytesOf(raw))
		f.Add(bytesOf(raw)[60:])
	}
	for _, b := range foreign {
		f.Add(bytesOf([]turn{{asks, b[0]}, {answers, b[1]}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var observations []Observation
		limits := DefaultLimits()
		limits.MaxDecompressed = 1 << 20
		limits.MaxBuffered, limits.MaxPending = 4<<10, 8
		d := NewDecoder(Options{Limits: limits}, func(o Observation) { observations = append(observations, o) }, func(pcap.Note) {})
		s := scriptOf(b)
		for i := range s.events {
			d.Handle(&s.events[i])
		}
		for i, o := range observations {
			if w := o.Where(); w == nil || w.Link == nil {
				t.Fatalf("%T has no place", o)
			}
			if _, opened := o.(*LinkOpened); opened != (i == 0) {
				t.Fatalf("observation %d is %T", i, o)
			}
			if _, closed := o.(*LinkClosed); closed != (i == len(observations)-1) {
				t.Fatalf("observation %d of %d is %T", i, len(observations), o)
			}
			if a, ok := o.(*BatchAnswered); ok && a.Request != nil && (a.Request.CorrelationID != a.CorrelationID || a.Request.APIKey != keyProduce) {
				t.Fatalf("answer to %d is paired with %d", a.CorrelationID, a.Request.CorrelationID)
			}
		}
		if len(observations) > 8+2*len(b) {
			t.Fatalf("%d observations of %d bytes", len(observations), len(b))
		}
		if n := d.Stats(); d.buffered != 0 || n.Connections+n.TLS+n.Other != 1 || s.conn.State != any(ignored{}) {
			t.Fatalf("%d bytes left, %+v", d.buffered, n)
		}
	})
}

// nil2 lets the builders of tests serve fuzz targets.
func nil2(*testing.F) *testing.T { return &testing.T{} }

// fuzzWalk runs a walk over a body and over its front. Invariants: the walk ends; a body that kmsg reads and writes back
// byte for byte is walked to its end, and the number of partitions agrees; no front of such a body is malformed.
func fuzzWalk(f *testing.F, key int16, answered bool, walk func(version int16, body []byte, size int) (complete, malformed bool, seen int), partitions func(any) int) {
	for version := range apis[key].newest + 1 {
		e := exchanges[key](nil2(f), version)
		e.request.SetVersion(version)
		e.answer.SetVersion(version)
		if answered {
			f.Add(version, e.answer.AppendTo(nil), uint16(40))
		} else {
			f.Add(version, e.request.AppendTo(nil), uint16(40))
		}
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte, cut uint16) {
		if !knownVersion(key, version) {
			return
		}
		complete, _, seen := walk(version, body, len(body))
		var oracle interface {
			SetVersion(int16)
			ReadFrom([]byte) error
			AppendTo([]byte) []byte
		} = kmsg.RequestForKey(key)
		if answered {
			oracle = kmsg.ResponseForKey(key)
		}
		oracle.SetVersion(version)
		if oracle.ReadFrom(body) != nil || !bytes.Equal(oracle.AppendTo(nil), body) {
			return
		}
		if want := partitions(oracle); !complete || seen != want {
			t.Fatalf("complete %v, %d partitions, want %d", complete, seen, want)
		}
		n := min(int(cut), len(body))
		if complete, malformed, front := walk(version, body[:n], len(body)); complete && n < len(body) || malformed || front > seen {
			t.Fatalf("front of %d bytes: complete %v, malformed %v, %d partitions of %d", n, complete, malformed, front, seen)
		}
	})
}

func FuzzProduceRequest(f *testing.F) {
	fuzzWalk(f, keyProduce, false, func(version int16, body []byte, size int) (bool, bool, int) {
		w := newProduceRequest(version, body, size)
		for w.next() {
		}
		return w.complete(), w.malformed(), w.seen
	}, func(q any) (n int) {
		for _, t := range q.(*kmsg.ProduceRequest).Topics {
			n += len(t.Partitions)
		}
		return n
	})
}

func FuzzProduceAnswer(f *testing.F) {
	fuzzWalk(f, keyProduce, true, func(version int16, body []byte, size int) (bool, bool, int) {
		w := newProduceAnswer(version, body, size)
		for w.next() {
		}
		return w.complete(), w.malformed(), w.seen
	}, func(a any) (n int) {
		for _, t := range a.(*kmsg.ProduceResponse).Topics {
			n += len(t.Partitions)
		}
		return n
	})
}

func FuzzFetchRequest(f *testing.F) {
	fuzzWalk(f, keyFetch, false, func(version int16, body []byte, size int) (bool, bool, int) {
		w := newFetchRequest(version, body, size)
		for w.next() {
		}
		return w.complete(), w.malformed(), w.seen
	}, func(q any) (n int) {
		for _, t := range q.(*kmsg.FetchRequest).Topics {
			n += len(t.Partitions)
		}
		return n
	})
}

func FuzzFetchAnswer(f *testing.F) {
	fuzzWalk(f, keyFetch, true, func(version int16, body []byte, size int) (bool, bool, int) {
		w := newFetchAnswer(version, body, size)
		for w.next() {
			w.readAborted()
		}
		return w.complete(), w.malformed(), w.seen
	}, func(a any) (n int) {
		for _, t := range a.(*kmsg.FetchResponse).Topics {
			n += len(t.Partitions)
		}
		return n
	})
}

func FuzzShareFetchAnswer(f *testing.F) {
	fuzzWalk(f, keyShareFetch, true, func(version int16, body []byte, size int) (bool, bool, int) {
		w := newShareFetchAnswer(version, body, size)
		for w.next() {
		}
		return w.complete(), w.malformed(), w.seen
	}, func(a any) (n int) {
		for _, t := range a.(*kmsg.ShareFetchResponse).Topics {
			n += len(t.Partitions)
		}
		return n
	})
}

// FuzzShape gives any bytes as an answer whose request is unknown. It does not panic, and what it finds can be read.
func FuzzShape(f *testing.F) {
	for _, key := range []int16{keyProduce, keyFetch} {
		for version := range apis[key].newest + 1 {
			f.Add(answer(exchanges[key](nil2(f), version).answer, version, 1)[prefixSize:])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, ok := shapeOf(b)
		if ok && !isAnswer(b, len(b), s.key, s.version) {
			t.Fatalf("%+v of %d bytes, correlation id %d, is not read", s, len(b), binary.BigEndian.Uint32(b))
		}
	})
}
