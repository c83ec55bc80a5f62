package kafka

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/reassembly"
)

// Openings of other protocols, the client's bytes first.
var foreign = map[string][2][]byte{
	"HTTP":       {[]byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
	"Redis":      {[]byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"), []byte("+OK\r\n")},
	"SSH":        {[]byte("SSH-2.0-OpenSSH_9.6\r\n"), []byte("SSH-2.0-OpenSSH_9.6\r\n\x00\x00\x04\x0c\x0a\x14")},
	"MySQL":      {nil, []byte("\x4a\x00\x00\x00\x0a8.0.36\x00\x08\x00\x00\x00abcdefgh\x00\xff\xff")},
	"PostgreSQL": {[]byte("\x00\x00\x00\x29\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"), []byte("R\x00\x00\x00\x08\x00\x00\x00\x00")},
	"Cassandra":  {[]byte("\x04\x00\x00\x00\x01\x00\x00\x00\x16\x00\x01\x00\x0bCQL_VERSION\x00\x053.0.0"), []byte("\x84\x00\x00\x00\x02\x00\x00\x00\x00")},
	"gRPC":       {[]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x12\x04\x00\x00\x00\x00\x00"), []byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00")},
	"ZooKeeper": {[]byte("\x00\x00\x00\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x75\x30\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x0e\x00\x00\x00\x01\x00\x00\x00\x08\x00\x00\x00\x01/\x00"),
		[]byte("\x00\x00\x00\x25\x00\x00\x00\x00\x00\x00\x75\x30\x01\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
	"MongoDB": {[]byte("\x3a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xd4\x07\x00\x00\x00\x00\x00\x00admin.$cmd\x00\x00\x00\x00\x00\xff\xff\xff\xff"), nil},
	"AMQP":    {[]byte("AMQP\x00\x00\x09\x01"), []byte("\x01\x00\x00\x00\x00\x00\x04\x00\x0a\x00\x0a\xce")},
	"LDAP":    {[]byte("\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00"), []byte("\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00")},
	"SMB":     {[]byte("\x00\x00\x00\x2c\xfeSMB\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x1f\x00"), nil},
	"Thrift":  {[]byte("\x00\x00\x00\x11\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x00\x00"), []byte("\x00\x00\x00\x11\x80\x01\x00\x02\x00\x00\x00\x04ping\x00\x00\x00\x00\x00")},
	"zeros":   {make([]byte, 5000), make([]byte, 5000)},
	"nothing": {nil, nil},
}

func TestOtherProtocolsAreNotKafka(t *testing.T) {
	for name, bytes := range foreign {
		for _, seen := range []bool{true, false} {
			for _, client := range []reassembly.Direction{asks, answers} {
				s := newScript(seen)
				for range 3 {
					for i, b := range bytes {
						dir := client
						if i == 1 {
							dir = client.Other()
						}
						if len(b) > 0 {
							s.data(dir, b)
						}
					}
				}
				o := run(s.close(reassembly.ClosedFIN))
				if len(o.observations) != 0 || o.stats.Other != 1 || o.stats.Connections != 0 {
					t.Errorf("%s (SYN %v, client %d): %+v", name, seen, client, o.stats)
				}
			}
		}
	}
}

// Bytes without meaning are not Kafka, whether spread evenly or mostly small numbers, as in the tables of other protocols.
func TestRandomBytesAreNotKafka(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for i := range 400 {
		b := make([]byte, 32<<10)
		random.Read(b)
		if i%2 == 1 {
			for j := range b {
				b[j] = []byte{0, 0, 0, 0, 1, 2, 3, byte(random.Intn(64))}[b[j]%8]
			}
		}
		s := newScript(i%3 == 0)
		for len(b) > 0 {
			n := min(len(b), 1+random.Intn(1460))
			s.data(reassembly.Direction(random.Intn(2)), b[:n])
			b = b[n:]
		}
		if o := run(s.close(reassembly.ClosedFIN)); o.stats.Connections != 0 {
			t.Fatalf("case %d: %+v", i, o.stats)
		}
	}
}

func TestTLS(t *testing.T) {
	record := func(kind byte, n int) []byte {
		b := bytes.Repeat([]byte{0xc5}, 5+n)
		copy(b, []byte{kind, 3, 3})
		binary.BigEndian.PutUint16(b[3:], uint16(n))
		return b
	}
	hello := record(22, 200)
	hello[5] = 1
	long := record(23, 9000)
	for name, s := range map[string]*script{
		"hello":                 newScript(true).data(asks, hello),
		"hello in two segments": newScript(true).data(asks, hello[:100]).data(asks, hello[100:]),
		"established":           newScript(false).data(asks, record(23, 40)),
		"two records":           newScript(false).data(answers, append(record(23, 40), record(23, 50)[:30]...)),
		"within a long record":  newScript(false).data(answers, long[1234:]).data(answers, long[:1400]).data(answers, long[1400:]).data(answers, long[:700]),
	} {
		o := run(s.close(reassembly.ClosedFIN))
		if o.stats.TLS != 1 || o.stats.Other != 0 || len(o.observations) != 0 || len(o.notes) != 1 || o.notes[0].Code != CodeTLS {
			t.Errorf("%s: %+v, notes %v", name, o.stats, o.notes)
		}
	}
}

// One request is enough, one answer too where its structure tells; a request that says next to nothing needs its answer.
func TestLittleIsEnough(t *testing.T) {
	produce := produceTurns(7, 1, -1, testBatch(7078, 0), 100)
	bare := request(kmsg.NewPtrApiVersionsRequest(), 0, 5, "")
	for _, c := range []struct {
		name   string
		script *script
		kafka  int64
	}{
		{"one Produce request", newScript(false).say(produce[0]), 1},
		{"the front of one", newScript(false).data(asks, produce[0].bytes[:120]), 1},
		{"one answer to Produce", newScript(false).say(produce[1]), 1},
		{"a bare request", newScript(true).data(asks, bare), 0},
		{"a bare request and its answer", newScript(true).data(asks, bare).data(answers, answer(kmsg.NewPtrApiVersionsResponse(), 0, 5)), 1},
		{"a bare request and another answer", newScript(true).data(asks, bare).data(answers, answer(kmsg.NewPtrApiVersionsResponse(), 0, 6)), 0},
		{"two bare requests", newScript(true).data(asks, bare).data(asks, request(kmsg.NewPtrListGroupsRequest(), 0, 6, "")), 1},
	} {
		if o := run(c.script.close(reassembly.EndOfInput)); o.stats.Connections != c.kafka || o.stats.Other != 1-c.kafka {
			t.Errorf("%s: %+v", c.name, o.stats)
		}
	}
}

// A first request whose end was captured before its beginning is read in the order of its bytes.
func TestFirstRequestCapturedBackwards(t *testing.T) {
	turns := produceTurns(9, 1, -1, testBatch(7078, 0), 100)
	s := newScript(true).data(asks, turns[0].bytes[:10]).data(asks, turns[0].bytes[10:]).say(turns[1]).close(reassembly.ClosedFIN)
	s.events[1].At, s.events[2].At = s.events[2].At, s.events[1].At
	if o := run(s); len(of[*BatchAnswered](o)) != 1 || len(o.notes) != 0 {
		t.Errorf("%v, notes %v", o.observations, o.notes)
	}
}
