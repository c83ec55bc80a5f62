package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// Real clients against brokers in this process, whose faults kfake injects. What stands twice is told by reading the log, not
// by the scan: records have values of their own.

// producedRounds is how many records each partition gets.
const producedRounds = 12

// faultAfter is how many of them pass before the fault.
const faultAfter = 5

// TestFakeBrokers plays a client under a fault. A client whose 45 on one partition makes it give up its producer's epoch
// writes the other partition's batch again, unless the broker has recognised a retry before.
func TestFakeBrokers(t *testing.T) {
	timedOut := kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{0}, Err: kerr.RequestTimedOut}
	afterAppend := timedOut
	afterAppend.Err = kerr.NotEnoughReplicasAfterAppend
	outOfOrder := timedOut
	outOfOrder.Err = kerr.OutOfOrderSequenceNumber
	elsewhere := outOfOrder
	elsewhere.Partitions = []int32{1}
	blind := franzGo(kgo.DisableIdempotentWrite())
	refused := timedOut
	refused.Err = kerr.NotLeaderForPartition
	for _, c := range []struct {
		name   string
		send   producer
		faults []kfake.Fault // one batch each
		cut    bool          // the connection is cut in place of one answer
		cause  string        // "": nothing stands twice
	}{
		{name: "franz-go, no fault", send: franzGo()},
		{name: "franz-go, 7 with the offset", send: franzGo(), faults: []kfake.Fault{timedOut}},
		{name: "franz-go without idempotence, 7 with the offset", send: blind, faults: []kfake.Fault{timedOut}, cause: "blind-retry"},
		{name: "franz-go without idempotence, 20 with the offset", send: blind, faults: []kfake.Fault{afterAppend}, cause: "blind-retry"},
		{name: "franz-go without idempotence, refused", send: blind, faults: []kfake.Fault{refused}},
		{name: "franz-go, connection cut", send: franzGo(), cut: true},
		{name: "franz-go without idempotence, connection cut", send: blind, cut: true, cause: "blind-retry"},
		{name: "franz-go, 45 elsewhere", send: franzGo(), faults: []kfake.Fault{timedOut, elsewhere, refused}, cause: "epoch-bump"},
		{name: "franz-go, 7 with the offset, 45 at the retry", send: franzGo(), faults: []kfake.Fault{timedOut, outOfOrder}, cause: "epoch-bump"},
		{name: "franz-go, transactions", send: franzGoTransactions},
		{name: "sarama, 7 with the offset", send: saramaProducer(true), faults: []kfake.Fault{timedOut}},
		{name: "sarama without idempotence, 7 with the offset", send: saramaProducer(false), faults: []kfake.Fault{timedOut}, cause: "blind-retry"},
		{name: "sarama without idempotence, 20 with the offset", send: saramaProducer(false), faults: []kfake.Fault{afterAppend}, cause: "blind-retry"},
		{name: "sarama without idempotence, connection cut", send: saramaProducer(false), cut: true, cause: "blind-retry"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r recorder
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"), kfake.ListenFn(r.listen))
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var struck *kfake.FaultHandle
			c.send(ctx, t, cluster.ListenAddrs(), func() {
				r.cutNext.Store(c.cut)
				struck = cluster.Fault(c.faults...)
			})
			if hits := struck.Hits(); hits != len(c.faults) || r.cutNext.Load() {
				t.Fatalf("%d faults came about, want %d (connection still to be cut: %t)", hits, len(c.faults), r.cutNext.Load())
			}
			twice := standTwice(ctx, t, cluster)
			if (len(twice) > 0) != (c.cause != "") {
				t.Fatalf("%v stand twice; want cause %q", twice, c.cause)
			}
			status, out, _ := runScan(bytes.NewReader(r.capture()), "--output", "json", "-")
			checkTwice(t, status, out, c.cause, twice)
		})
	}
}

// producer sends the records; it calls fault once faultAfter of each partition are acknowledged, and returns when the rest is.
type producer func(ctx context.Context, t *testing.T, brokers []string, fault func())

func recordOf(partition, i int) (key, value []byte) {
	return fmt.Appendf(nil, "k%d", i%3), fmt.Appendf(nil, "p%d-%06d", partition, i)
}

// franzGo sends the records of a round to both partitions, which have one leader, in one request.
func franzGo(options ...kgo.Opt) producer {
	return func(ctx context.Context, t *testing.T, brokers []string, fault func()) {
		client, err := kgo.NewClient(append(options, kgo.SeedBrokers(brokers...), kgo.ClientID("writer"),
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(10*time.Millisecond),
			kgo.MetadataMinAge(20*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for i := range producedRounds {
			if i == faultAfter {
				fault()
			}
			for _, result := range client.ProduceSync(ctx, franzGoRound(i)...) {
				if result.Err != nil {
					t.Fatal(result.Err)
				}
			}
		}
	}
}

func franzGoRound(i int) (round []*kgo.Record) {
	for p := range 2 {
		key, value := recordOf(p, i)
		round = append(round, &kgo.Record{Topic: "orders", Partition: int32(p), Key: key, Value: value})
	}
	return round
}

// franzGoTransactions aborts every third transaction and sends its records again.
func franzGoTransactions(ctx context.Context, t *testing.T, brokers []string, fault func()) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ClientID("writer"), kgo.TransactionalID("writer"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fault()
	for i, n := 0, 1; i < producedRounds; n++ {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := client.ProduceSync(ctx, franzGoRound(i)...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		commit := n%3 != 0
		if err := client.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
			t.Fatal(err)
		}
		if commit {
			i++
		}
	}
}

// saramaProducer gives records their times, as an application may: without them sarama stamps each retry anew.
func saramaProducer(idempotent bool) producer {
	return func(_ context.Context, t *testing.T, brokers []string, fault func()) {
		c := sarama.NewConfig()
		c.ClientID, c.Version = "writer", sarama.V2_8_0_0
		c.Producer.Partitioner, c.Producer.RequiredAcks = sarama.NewManualPartitioner, sarama.WaitForAll
		c.Producer.Return.Successes, c.Producer.Idempotent = true, idempotent
		c.Producer.Retry.Max, c.Producer.Retry.Backoff = 20, 20*time.Millisecond
		c.Metadata.Retry.Backoff, c.Net.MaxOpenRequests = 20*time.Millisecond, 1
		p, err := sarama.NewSyncProducer(brokers, c)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for i := range producedRounds {
			if i == faultAfter {
				fault()
			}
			for n := range 2 {
				key, value := recordOf(n, i)
				_, _, err := p.SendMessage(&sarama.ProducerMessage{
					Topic: "orders", Partition: int32(n), Key: sarama.ByteEncoder(key), Value: sarama.ByteEncoder(value), Timestamp: time.Now(),
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// standTwice reads the log, aborted transactions left out, and returns the offsets of values that stand there more than once,
// as "partition [offset,offset]". It also checks that nothing is missing.
func standTwice(ctx context.Context, t *testing.T, cluster *kfake.Cluster) []string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ClientID("reader"), kgo.ConsumeTopics("orders"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	at := make(map[string][]int64)
	for left := 2; left > 0; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				value := string(r.Value)
				at[value] = append(at[value], r.Offset)
			}
			if r.Offset+1 == cluster.PartitionInfo("orders", r.Partition).HighWatermark {
				left--
			}
		})
	}
	if len(at) != 2*producedRounds {
		t.Fatalf("%d values in the log, want %d", len(at), 2*producedRounds)
	}
	var twice []string
	for _, value := range slices.Sorted(maps.Keys(at)) {
		if len(at[value]) > 1 {
			twice = append(twice, fmt.Sprintf("%c [%s]", value[1], offsetsKey(at[value])))
		}
	}
	return twice
}

// checkTwice compares a report with what stands twice in the log.
func checkTwice(t *testing.T, status int, text, cause string, twice []string) {
	t.Helper()
	var have reported
	if err := json.Unmarshal([]byte(text), &have); err != nil {
		t.Fatal(err)
	}
	want, wantStatus := "clean", 0
	if len(twice) > 0 {
		want, wantStatus = "duplicates", 1
	}
	if have.Verdict != want || status != wantStatus {
		t.Errorf("%s, status %d; want %s, %d", have.Verdict, status, want, wantStatus)
	}
	var found []string
	for _, f := range have.Findings {
		if f.Topic != "orders" || f.Cause != cause || f.Verdict != "confirmed" {
			t.Errorf("%s %s in %s, want confirmed %s in orders", f.Verdict, f.Cause, f.Topic, cause)
		}
		for _, r := range f.Records {
			found = append(found, fmt.Sprintf("%d [%s]", f.Partition, offsetsKey(r.Offsets)))
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, twice) {
		t.Errorf("found %v, the log has %v", found, twice)
	}
}

// recorder records the connections that brokers of this process accept, as packets.
type recorder struct {
	mu            sync.Mutex
	conversations []*pcaptest.Conversation
	cutNext       atomic.Bool // the next answer to a Produce request is not written: the connection is cut
}

func (r *recorder) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return recordingListener{l, r}, err
}

// capture returns what was recorded as a file.
func (r *recorder) capture() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return pcaptest.PCAP{}.Encode(pcaptest.Interleave(r.conversations...)...)
}

type recordingListener struct {
	net.Listener
	recorder *recorder
}

func (l recordingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	address := func(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }
	packets := pcaptest.NewConversation(address(conn.RemoteAddr()), address(conn.LocalAddr()), time.Now())
	packets.Step = time.Microsecond
	c := &recordedConn{Conn: conn, recorder: l.recorder, packets: packets}
	c.record(c.packets.Handshake)
	l.recorder.mu.Lock()
	defer l.recorder.mu.Unlock()
	l.recorder.conversations = append(l.recorder.conversations, c.packets)
	return c, nil
}

// recordedConn is a broker's end of a connection.
type recordedConn struct {
	net.Conn
	recorder *recorder
	packets  *pcaptest.Conversation
	closed   sync.Once

	mu      sync.Mutex
	request []byte  // what has been read of the next request
	keys    []int16 // API keys of requests that wait for their answers
}

// record adds packets at the present time.
func (c *recordedConn) record(add func()) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	c.packets.Wait(max(0, time.Since(c.packets.Now())))
	add()
}

func (c *recordedConn) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	if n > 0 {
		c.record(func() { c.packets.Client(data[:n]) })
		c.requested(data[:n])
	}
	return n, err
}

// requested notes the requests of what was read: a length, then the API key.
func (c *recordedConn) requested(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request = append(c.request, data...)
	for len(c.request) >= 6 && len(c.request)-4 >= int(binary.BigEndian.Uint32(c.request)) {
		c.keys = append(c.keys, int16(binary.BigEndian.Uint16(c.request[4:])))
		c.request = c.request[4+binary.BigEndian.Uint32(c.request):]
	}
}

// answersProduce reports whether the answer that is about to be written is to a Produce request. Brokers answer in order, each
// with one write.
func (c *recordedConn) answersProduce() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.keys[0]
	c.keys = c.keys[1:]
	return key == int16(kmsg.Produce)
}

// Write records before it writes: what the client does next comes later.
func (c *recordedConn) Write(data []byte) (int, error) {
	if c.answersProduce() && c.recorder.cutNext.CompareAndSwap(true, false) {
		return 0, c.Close()
	}
	c.record(func() {
		c.packets.Server(data)
		c.packets.Ack(pcaptest.FromClient)
	})
	return c.Conn.Write(data)
}

func (c *recordedConn) Close() error {
	c.closed.Do(func() {
		c.record(func() {
			c.packets.FIN(pcaptest.FromServer)
			c.packets.FIN(pcaptest.FromClient)
		})
	})
	return c.Conn.Close()
}
