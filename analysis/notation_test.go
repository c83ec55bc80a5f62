package analysis

import (
	"fmt"
	"hash/crc32"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// The history notation: statements separated by newlines or ';', each one thing seen on the wire.
//
//	p1 > t/0 7/0/5:ab; p1 < 6=100; p1 > t/0 7/1/0:ab; p1 < =102; r1 fetch t/0 hw=104 100=7/0/5:ab 102=7/1/0:ab
//
// Process p sends records a and b to its broker 1 under producer id 7, epoch 0, sequence 5; the answer is error 6 with offset
// 100; the same records go out under epoch 1 and are answered OK at 102; process r fetches both copies.
//
// Time. Statements are 10 ms apart; "@250" before a statement sets its time to 250 ms and never goes back.
//
// Connections. Lower-case letters name the process, the digits its broker, each ' a further connection of the pair: p1, p2,
// p1'. A process has an address and a client id (its letters). "p.q1" is process q at the address of p.
//
//	CONN > T/P BATCH [T/P BATCH …] [acks=N] [txn=ID] [torn] [proxy=CONN] [nat=CONN]   Produce; acks -1 unless told;
//	       proxy=: that connection's last request, passed on by a proxy; nat=: the same seen under another address pair
//	CONN < RESULT [RESULT …] [unacked]    answers the oldest open request, a result for each batch, and the client's TCP acknowledges it
//	       =100 OK   =100~ OK, log append time of a recognised retry (R4)   =100~900 OK, log append time 900 ms   =-1 OK without offset
//	       6 error without offset   6=100 error with offset   ? no answer was seen, the next one is for the next request
//	       unread the answer could not be read
//	CONN ack                              the client's TCP acknowledges the oldest unacked answer
//	CONN stray T/P RESULT                 an answer whose request was not seen
//	CONN fetch T/P [hw=N] [follower=N] [reader=unknown] [shared] [committed] [aborted=ID@OFFSET] [err=N] [OFFSET=BATCH …]
//	CONN rst | fin | replaced | evicted | stale          the connection ends; at the end of a history the rest ends with the capture
//	CONN gap client|server [inside]       bytes of that side are missing; inside: no whole message can be
//	CONN leader T/P ID EPOCH              Metadata names a leader (-1 unknown)
//	CONN ends T/P [ASKED=]EPOCH OFFSET    OffsetForLeaderEpoch: the records of EPOCH end there; another epoch was ASKED for
//	CONN cluster ID [BROKER …]            Metadata describes the cluster
//	CONN topic TOPIC [internal]           Metadata names a topic;  CONN delete TOPIC  deletes it
//	CONN init ID/EPOCH [from=ID/EPOCH] [txn=ID] [err=N]  InitProducerId exchange
//	CONN end ID/EPOCH commit|abort        EndTxn;  CONN ended ID/EPOCH  its answer, with the next identity, "-" for none (below v5)
//	CONN marker ID/EPOCH commit|abort     a marker of WriteTxnMarkers
//	CONN commits T/P OFFSET               OffsetCommit;  CONN is NAME VERSION  names the client software
//
// TOPIC is a name, #N an id, name#N both. A T/P is TOPIC/PARTITION.
//
// BATCH is ID/EPOCH/SEQUENCE:RECORDS or -:RECORDS without a producer id (-0:RECORDS with base sequence 0), and in a fetch
// also ID/EPOCH:commit or :abort, a marker. A letter is a record of that content, created when the letter first appears;
// a300 was created at 300 ms, a! now; '.' is a record that compaction took. Suffixes, in this order: %lz4 compressed, %m1
// magic 1, %txn transactional, %cut records not captured, %bad wrong CRC, %crc5 CRC 5, %keys internal keys; ~900 LogAppendTime
// 900 ms; ^3 leader epoch 3.

// epochMillis is the time 0 of histories, in ms since 1970.
const epochMillis = 1_700_000_000_000

// script builds observations from the notation.
type script struct {
	observations []kafka.Observation
	now          int64 // ms since epochMillis
	frame        pcap.FrameNumber
	processes    map[string]netip.Addr
	conns        map[string]*conn
	inOrder      []*conn
	created      map[rune]int64 // ms
}

// conn is a connection of a script with the requests that wait.
type conn struct {
	link        *kafka.Link
	client      string
	closed      bool
	correlation int32
	last        *produce
	open        []*produce // not answered
	unacked     []*produce
	ending      *kafka.TransactionEnding
}

// produce is a Produce request of a script.
type produce struct {
	request *kafka.Request
	sent    []*kafka.BatchSent
}

// parse reads a history.
func parse(history string) ([]kafka.Observation, error) {
	s := &script{processes: map[string]netip.Addr{}, conns: map[string]*conn{}, created: map[rune]int64{}}
	for _, statement := range strings.FieldsFunc(history, func(r rune) bool { return r == '\n' || r == ';' }) {
		words := strings.Fields(statement)
		if len(words) == 0 {
			continue
		}
		if err := s.statement(words); err != nil {
			return nil, fmt.Errorf("%q: %w", strings.TrimSpace(statement), err)
		}
	}
	s.now += 10
	for _, c := range s.inOrder {
		if !c.closed {
			s.end(c, reassembly.EndOfInput)
		}
	}
	return s.observations, nil
}

// observe reads a history that must be right.
func observe(t testing.TB, history string) []kafka.Observation {
	t.Helper()
	all, err := parse(history)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *script) statement(words []string) error {
	at := s.now + 10
	if after, ok := strings.CutPrefix(words[0], "@"); ok {
		n, err := strconv.ParseInt(after, 10, 64)
		if err != nil || n < s.now {
			return fmt.Errorf("time %s goes back or is none", words[0])
		}
		at, words = n, words[1:]
	}
	s.now = at
	if len(words) < 2 {
		return fmt.Errorf("a connection and a verb are needed")
	}
	c, err := s.conn(words[0])
	if err != nil {
		return err
	}
	if c.closed {
		return fmt.Errorf("connection %s has ended", words[0])
	}
	verb, ok := verbs[words[1]]
	if !ok {
		return fmt.Errorf("unknown verb %q", words[1])
	}
	s.frame++
	return verb(s, c, words[2:])
}

var verbs map[string]func(*script, *conn, []string) error

func init() {
	verbs = map[string]func(*script, *conn, []string) error{
		">": (*script).send, "<": (*script).answer, "ack": (*script).acknowledge, "stray": (*script).stray, "fetch": (*script).fetch,
		"gap": (*script).gap, "leader": (*script).leader, "ends": (*script).ends, "cluster": (*script).cluster, "topic": (*script).topic,
		"delete": (*script).remove, "init": (*script).grant, "end": (*script).ending, "ended": (*script).ended,
		"marker": (*script).marker, "commits": (*script).commits, "is": (*script).software,
	}
	for word, reason := range map[string]reassembly.CloseReason{
		"rst": reassembly.ClosedRST, "fin": reassembly.ClosedFIN, "replaced": reassembly.Replaced,
		"evicted": reassembly.Evicted, "stale": reassembly.ClosedStale,
	} {
		verbs[word] = func(s *script, c *conn, rest []string) error {
			s.end(c, reason)
			return none(rest)
		}
	}
}

func none(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected %q", rest[0])
	}
	return nil
}

func (s *script) emit(o kafka.Observation) { s.observations = append(s.observations, o) }

// seen is the place of an observation: this statement's frame on a connection.
func (s *script) seen(c *conn) kafka.Seen {
	at := pcap.Ref{Number: s.frame, Time: pcap.Timestamp((epochMillis + s.now) * 1e6)}
	return kafka.Seen{Link: c.link, First: at, At: at}
}

// conn finds or opens a connection by its name, such as p1, p2' or p.q1.
func (s *script) conn(name string) (*conn, error) {
	if c := s.conns[name]; c != nil {
		return c, nil
	}
	plain := strings.TrimRight(name, "'")
	process := strings.TrimRight(plain, "0123456789")
	broker, err := strconv.ParseUint(plain[len(process):], 10, 8)
	if err != nil || broker == 0 {
		return nil, fmt.Errorf("%q is no connection", name)
	}
	host, client, shared := strings.Cut(process, ".")
	if !shared {
		client = host
	}
	if !lower(host) || !lower(client) {
		return nil, fmt.Errorf("%q is no connection", name)
	}
	if _, known := s.processes[host]; !known {
		s.processes[host] = netip.AddrFrom4([4]byte{10, 0, 0, byte(len(s.processes) + 1)})
	}
	n := uint32(len(s.inOrder) + 1)
	c := &conn{client: client, link: &kafka.Link{
		Client:    netip.AddrPortFrom(s.processes[host], uint16(40000+n)),
		Server:    netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, 0, byte(broker)}), 9092),
		Base:      [2]uint32{n * 1e6, n * 2e6},
		BaseKnown: [2]bool{true, true},
	}}
	s.conns[name] = c
	s.inOrder = append(s.inOrder, c)
	s.frame++
	s.emit(&kafka.LinkOpened{Seen: s.seen(c)})
	return c, nil
}

func lower(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == ""
}

func (s *script) end(c *conn, reason reassembly.CloseReason) {
	closed := &kafka.LinkClosed{Seen: s.seen(c), Reason: reason}
	for _, p := range c.open {
		closed.Unanswered = append(closed.Unanswered, p.request)
	}
	c.closed = true
	s.emit(closed)
}

func (s *script) send(c *conn, words []string) error {
	c.correlation++
	p := &produce{request: &kafka.Request{
		Seen: s.seen(c), APIVersion: 9, CorrelationID: c.correlation, ClientID: c.client, HasClientID: true,
		Seq: c.link.Base[0] + uint32(c.correlation)*1000, Size: 200,
	}}
	whole := kafka.BatchSent{Seen: s.seen(c), Request: p.request, Acks: -1}
	var topics []kafka.Topic
	var partitions []int32
	var batches []*kafka.Batch
	for _, w := range words {
		var err error
		key, value, option := strings.Cut(w, "=")
		switch {
		case w == "torn":
			whole.Torn = true
		case option && key == "acks":
			var n int64
			n, err = strconv.ParseInt(value, 10, 16)
			whole.Acks = int16(n)
		case option && key == "txn":
			whole.TransactionalID = &value
		case option && (key == "proxy" || key == "nat"):
			err = s.leg(c, p.request, value, key == "nat")
		case len(topics) == len(batches):
			t, n, e := topicPartition(w)
			topics, partitions, err = append(topics, t), append(partitions, n), e
		default:
			b, e := s.batch(w)
			batches, err = append(batches, b), e
		}
		if err != nil {
			return err
		}
	}
	if len(batches) == 0 || len(batches) != len(topics) {
		return fmt.Errorf("each topic/partition needs a batch")
	}
	for i, b := range batches {
		one := whole
		one.Topic, one.Partition, one.Batch = topics[i], partitions[i], b
		p.sent = append(p.sent, &one)
		s.emit(&one)
	}
	c.last = p
	if whole.Acks != 0 && !whole.Torn {
		c.open = append(c.open, p)
	}
	return nil
}

// leg makes a request the same exchange as the last one of another connection. NAT keeps the TCP sequence numbers too.
func (s *script) leg(c *conn, r *kafka.Request, name string, nat bool) error {
	other := s.conns[name]
	if other == nil || other.last == nil {
		return fmt.Errorf("no request on %s", name)
	}
	r.CorrelationID, r.ClientID = other.last.request.CorrelationID, other.last.request.ClientID
	if nat {
		r.Seq, c.link.Base = other.last.request.Seq, other.link.Base
	}
	return nil
}

func (s *script) answer(c *conn, words []string) error {
	if len(c.open) == 0 {
		return fmt.Errorf("no request waits for an answer")
	}
	p := c.open[0]
	c.open = c.open[1:]
	if slices.Equal(words, []string{"?"}) {
		return nil
	}
	if slices.Equal(words, []string{"unread"}) {
		s.emit(&kafka.AnswerUnread{Seen: s.seen(c), Request: p.request})
		return nil
	}
	unacked := len(words) > 0 && words[len(words)-1] == "unacked"
	if unacked {
		words = words[:len(words)-1]
	}
	if len(words) != len(p.sent) {
		return fmt.Errorf("%d results for %d batches", len(words), len(p.sent))
	}
	for i, w := range words {
		a := &kafka.BatchAnswered{Seen: s.seen(c), Request: p.request, CorrelationID: p.request.CorrelationID, Topic: p.sent[i].Topic, Partition: p.sent[i].Partition}
		if err := result(w, a, p.sent[i].Batch.MaxTimestamp); err != nil {
			return err
		}
		s.emit(a)
	}
	c.unacked = append(c.unacked, p)
	if unacked {
		return nil
	}
	return s.acknowledge(c, nil)
}

func (s *script) acknowledge(c *conn, rest []string) error {
	if len(c.unacked) == 0 {
		return fmt.Errorf("no answer waits for an acknowledgement")
	}
	s.frame++
	s.emit(&kafka.AnswerAcked{Seen: s.seen(c), Request: c.unacked[0].request})
	c.unacked = c.unacked[1:]
	return none(rest)
}

// result reads CODE, CODE=OFFSET, =OFFSET, =OFFSET~ or =OFFSET~MS.
func result(w string, a *kafka.BatchAnswered, largest int64) error {
	a.BaseOffset, a.LogAppendTime = -1, -1
	code, place, hasPlace := strings.Cut(w, "=")
	place, time, hasTime := strings.Cut(place, "~")
	var err error
	number := func(text string, bits int) int64 {
		n, e := strconv.ParseInt(text, 10, bits)
		if e != nil && err == nil {
			err = fmt.Errorf("%q is no result", w)
		}
		return n
	}
	if code != "" || !hasPlace {
		a.ErrorCode = int16(number(code, 16))
	}
	if hasPlace {
		a.BaseOffset = number(place, 64)
	}
	if hasTime && time == "" {
		a.LogAppendTime = largest
	} else if hasTime {
		a.LogAppendTime = epochMillis + number(time, 64)
	}
	return err
}

func (s *script) stray(c *conn, words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("a topic/partition and a result are needed")
	}
	t, n, err := topicPartition(words[0])
	if err != nil {
		return err
	}
	a := &kafka.BatchAnswered{Seen: s.seen(c), Topic: t, Partition: n}
	s.emit(a)
	return result(words[1], a, -1)
}

// topicPartition reads name/0, #5/0 or name#5/0.
func topicPartition(w string) (kafka.Topic, int32, error) {
	i := strings.LastIndexByte(w, '/')
	if i < 0 {
		return kafka.Topic{}, 0, fmt.Errorf("%q is no topic/partition", w)
	}
	t, err := topic(w[:i])
	if err != nil {
		return t, 0, err
	}
	n, err := strconv.ParseInt(w[i+1:], 10, 32)
	return t, int32(n), err
}

func topic(w string) (kafka.Topic, error) {
	name, id, hasID := strings.Cut(w, "#")
	t := kafka.Topic{Name: name}
	if strings.ContainsAny(name, "/=:") || name == "" && !hasID {
		return t, fmt.Errorf("%q is no topic", w)
	}
	if hasID {
		n, err := strconv.ParseUint(id, 10, 8)
		if err != nil || n == 0 {
			return t, fmt.Errorf("%q is no topic id", w)
		}
		t.ID[0], t.ID[15] = 0xf0, byte(n)
	}
	return t, nil
}

// checksum makes a CRC of what the CRC of a batch covers.
func checksum(b *kafka.Batch, records string) uint32 {
	covered := fmt.Sprint(b.Magic, b.Attributes, b.BaseTimestamp, b.MaxTimestamp, records)
	if b.Magic == 2 {
		covered += fmt.Sprint(b.ProducerID, b.ProducerEpoch, b.BaseSequence)
	}
	return crc32.ChecksumIEEE([]byte(covered))
}
