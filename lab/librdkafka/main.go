// Command librdkafka is the lab's producer on librdkafka, by way of confluent-kafka-go with the library bundled. It takes
// the arguments that every producer of the lab takes (see package clients of the lab); those that begin with "x." go to
// the library's configuration.
//
// go.mod asks for librdkafka 2.6.1, current.mod for a newer one: go build -modfile=current.mod.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "librdkafka:", err)
		os.Exit(1)
	}
}

// arguments are the words key=value of the command line.
type arguments map[string]string

func (a arguments) number(name string) int {
	n, err := strconv.Atoi(a[name])
	if err != nil {
		fmt.Fprintf(os.Stderr, "librdkafka: %s is no number: %v\n", name, err)
		os.Exit(2)
	}
	return n
}

func run(words []string) error {
	a := arguments{}
	config := kafka.ConfigMap{"linger.ms": 1, "log_level": 4}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if option, ok := strings.CutPrefix(name, "x."); ok {
			config[option] = value
		} else {
			a[name] = value
		}
	}
	config["bootstrap.servers"] = a["brokers"]
	config["client.id"] = a["client-id"]
	config["acks"] = a["acks"]
	config["compression.codec"] = a["codec"]
	config["enable.idempotence"] = a["idempotent"] == "true"
	config["request.timeout.ms"] = a.number("timeout")
	config["socket.timeout.ms"] = a.number("timeout") + 500
	transactional := a.number("transaction") > 0
	if transactional {
		config["transactional.id"] = a["client-id"]
		config["transaction.timeout.ms"] = 60000
	}
	p, err := kafka.NewProducer(&config)
	if err != nil {
		return err
	}
	defer p.Close()
	outcome := make(chan [2]int, 1)
	go func() { outcome <- count(p) }()
	refused := 0
	if transactional {
		err = transactions(p, a)
	} else {
		refused = produce(p, a)
	}
	if err != nil {
		return err
	}
	for p.Flush(1000) > 0 { // every message ends: acknowledged or failed
	}
	p.Close()
	n := <-outcome
	fmt.Printf("acknowledged %d failed %d\n", n[0], n[1]+refused)
	return nil
}

// count takes the delivery reports until the producer is closed. After a fatal error nothing more can be sent.
func count(p *kafka.Producer) (n [2]int) {
	for e := range p.Events() {
		switch e := e.(type) {
		case *kafka.Message:
			if e.TopicPartition.Error == nil {
				n[0]++
			} else {
				n[1]++
			}
		case kafka.Error:
			fmt.Println("event:", e.Code(), e)
			if e.IsFatal() {
				if err := p.Purge(kafka.PurgeQueue | kafka.PurgeInFlight); err != nil {
					fmt.Println("event:", err)
				}
			}
		}
	}
	return n
}

// produce returns how many rounds the library refused: after a fatal error it takes no more.
func produce(p *kafka.Producer, a arguments) (refused int) {
	pause := time.Duration(a.number("pause")) * time.Millisecond
	for i := range a.number("count") {
		if err := round(p, a, i); err != nil {
			refused++
		}
		time.Sleep(pause)
	}
	return refused
}

// round sends the value of number i to every partition.
func round(p *kafka.Producer, a arguments, i int) error {
	topic := a["topic"]
	for partition := range a.number("partitions") {
		err := p.Produce(&kafka.Message{
			TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: int32(partition)},
			Key:            fmt.Appendf(nil, "k%d", i%7),
			Value:          fmt.Appendf(nil, "p%d-%06d", partition, i),
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// transactions sends the values in transactions of so many rounds. Every fourth one is aborted, and its values are sent again.
func transactions(p *kafka.Producer, a arguments) error {
	if err := p.InitTransactions(nil); err != nil {
		return err
	}
	size := a.number("transaction")
	for first, n := 0, 1; first < a.number("count"); n++ {
		if err := p.BeginTransaction(); err != nil {
			return err
		}
		for i := first; i < first+size; i++ {
			if err := round(p, a, i); err != nil {
				return err
			}
		}
		for p.Flush(1000) > 0 {
		}
		if n%4 == 0 {
			if err := p.AbortTransaction(nil); err != nil {
				return err
			}
			continue
		}
		if err := p.CommitTransaction(nil); err != nil {
			return err
		}
		first += size
	}
	return nil
}
