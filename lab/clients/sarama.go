package clients

import (
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func produceSarama(brokers []string, w Workload) (acknowledged, failed int, err error) {
	c := sarama.NewConfig()
	c.ClientID, c.Version = w.ClientID, sarama.V2_8_0_0
	c.Net.ReadTimeout = w.Timeout + time.Second
	c.Producer.Timeout = w.Timeout
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Return.Successes, c.Producer.Return.Errors = true, true
	c.Producer.Retry.Max = 20
	if err := c.Producer.Compression.UnmarshalText([]byte(w.Codec)); err != nil {
		return 0, 0, err
	}
	c.Producer.RequiredAcks = map[string]sarama.RequiredAcks{"all": sarama.WaitForAll, "1": sarama.WaitForLocal, "0": sarama.NoResponse}[w.Acks]
	if c.Producer.Idempotent = w.Idempotent; w.Idempotent {
		c.Net.MaxOpenRequests = 1 // sarama asks for it
	}
	if w.Transaction > 0 {
		c.Producer.Transaction.ID = w.ClientID
	}
	if err := secureSarama(c, w.Security); err != nil {
		return 0, 0, err
	}
	p, err := sarama.NewAsyncProducer(brokers, c)
	if err != nil {
		return 0, 0, err
	}
	var counted sync.WaitGroup
	counted.Go(func() {
		for range p.Successes() {
			acknowledged++
		}
	})
	counted.Go(func() {
		for range p.Errors() {
			failed++
		}
	})
	err = roundsSarama(p, w)
	p.AsyncClose()
	counted.Wait()
	return acknowledged, failed, err
}

// secureSarama sets TLS, and SASL PLAIN: for SCRAM sarama needs a library beside it.
func secureSarama(c *sarama.Config, s *Security) (err error) {
	if s == nil {
		return nil
	}
	c.Net.TLS.Enable = true
	if s.Mechanism != "" {
		c.Net.SASL.Enable, c.Net.SASL.Mechanism = true, sarama.SASLMechanism(s.Mechanism)
		c.Net.SASL.User, c.Net.SASL.Password = s.User, s.Password
	}
	c.Net.TLS.Config, err = s.Config()
	return err
}

func roundsSarama(p sarama.AsyncProducer, w Workload) error {
	round := func(i int) {
		for n := range w.Partitions {
			p.Input() <- &sarama.ProducerMessage{Topic: w.Topic, Partition: int32(n), Key: sarama.ByteEncoder(key(i)), Value: sarama.ByteEncoder(value(n, i))}
		}
	}
	if w.Transaction == 0 {
		for i := range w.Count {
			round(i)
			time.Sleep(w.Pause)
		}
		return nil
	}
	for first, n := 0, 1; first < w.Count; n++ {
		if err := p.BeginTxn(); err != nil {
			return err
		}
		for i := first; i < first+w.Transaction; i++ {
			round(i)
		}
		if n%4 == 0 {
			if err := p.AbortTxn(); err != nil {
				return err
			}
			continue
		}
		if err := p.CommitTxn(); err != nil {
			return err
		}
		first += w.Transaction
	}
	return nil
}
