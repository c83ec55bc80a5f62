package clients

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Produce is the main function of the producers written in Go: it sends what words, as in the package comment, ask for.
func Produce(library string, words []string) error {
	brokers, w, err := parse(words)
	if err != nil {
		return err
	}
	var acknowledged, failed int
	switch library {
	case "franz-go":
		acknowledged, failed, err = produceFranzGo(brokers, w)
	case "sarama":
		acknowledged, failed, err = produceSarama(brokers, w)
	default:
		err = fmt.Errorf("no producer %q", library)
	}
	if err != nil {
		return err
	}
	fmt.Printf("acknowledged %d failed %d\n", acknowledged, failed)
	return nil
}

// parse reads the words that Start writes.
func parse(words []string) (brokers []string, w Workload, err error) {
	number := func(text string) int {
		n, e := strconv.Atoi(text)
		if e != nil {
			err = e
		}
		return n
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "brokers":
			brokers = strings.Split(value, ",")
		case "topic":
			w.Topic = value
		case "client-id":
			w.ClientID = value
		case "partitions":
			w.Partitions = number(value)
		case "count":
			w.Count = number(value)
		case "pause":
			w.Pause = time.Duration(number(value)) * time.Millisecond
		case "timeout":
			w.Timeout = time.Duration(number(value)) * time.Millisecond
		case "acks":
			w.Acks = value
		case "codec":
			w.Codec = value
		case "idempotent":
			w.Idempotent = value == "true"
		case "transaction":
			w.Transaction = number(value)
		case "authority", "tls-version", "tls-suite", "mechanism", "user", "password", "keylog":
			if w.Security == nil {
				w.Security = &Security{}
			}
			w.Security.take(name, value, number)
		default:
			err = fmt.Errorf("unknown word %q", word)
		}
	}
	return brokers, w, err
}

// take reads one of the words that secureGo writes.
func (s *Security) take(name, value string, number func(string) int) {
	switch name {
	case "authority":
		s.Authority = value
	case "tls-version":
		s.Suite.Version = uint16(number(value))
	case "tls-suite":
		s.Suite.ID = uint16(number(value))
	case "mechanism":
		s.Mechanism = value
	case "user":
		s.User = value
	case "password":
		s.Password = value
	case "keylog":
		s.KeyLog = value
	}
}

func key(round int) []byte { return fmt.Appendf(nil, "k%d", round%7) }

func value(partition, round int) []byte { return fmt.Appendf(nil, "p%d-%06d", partition, round) }
