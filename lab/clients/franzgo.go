package clients

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var codecsFranzGo = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func produceFranzGo(brokers []string, w Workload) (acknowledged, failed int, err error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.ClientID(w.ClientID), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(codecsFranzGo[w.Codec]), kgo.ProduceRequestTimeout(w.Timeout), kgo.RequestTimeoutOverhead(time.Second),
	}
	if !w.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	switch w.Acks {
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()))
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()))
	}
	if w.Transaction > 0 {
		options = append(options, kgo.TransactionalID(w.ClientID))
	}
	secure, err := w.Security.franzGo()
	if err != nil {
		return 0, 0, err
	}
	client, err := kgo.NewClient(append(options, secure...)...)
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	var good, bad atomic.Int64
	round := func(i int) {
		for p := range w.Partitions {
			record := &kgo.Record{Topic: w.Topic, Partition: int32(p), Key: key(i), Value: value(p, i)}
			client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
				if err == nil {
					good.Add(1)
				} else {
					bad.Add(1)
				}
			})
		}
	}
	if w.Transaction > 0 {
		err = transactionsFranzGo(client, w, round)
	} else {
		for i := range w.Count {
			round(i)
			time.Sleep(w.Pause)
		}
		err = client.Flush(context.Background())
	}
	return int(good.Load()), int(bad.Load()), err
}

func transactionsFranzGo(client *kgo.Client, w Workload, round func(int)) error {
	ctx := context.Background()
	for first, n := 0, 1; first < w.Count; n++ {
		if err := client.BeginTransaction(); err != nil {
			return err
		}
		for i := first; i < first+w.Transaction; i++ {
			round(i)
		}
		if err := client.Flush(ctx); err != nil {
			return err
		}
		abort := n%4 == 0
		if err := client.EndTransaction(ctx, kgo.TransactionEndTry(!abort)); err != nil {
			return err
		}
		if !abort {
			first += w.Transaction
		}
	}
	return nil
}

// Read reads a topic through the proxy until it has seen every partition up to the given end (the offset after the last
// record wanted), aborted transactions left out.
func Read(ctx context.Context, brokers []string, topic string, ends map[int32]int64, security *Security) error {
	options, err := security.franzGo()
	if err != nil {
		return err
	}
	options = append(options, kgo.SeedBrokers(brokers...), kgo.ClientID("reader"), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(500*time.Millisecond),
		kgo.KeepControlRecords())
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	left := len(ends)
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 == ends[r.Partition] {
				left--
			}
		})
	}
	return nil
}
