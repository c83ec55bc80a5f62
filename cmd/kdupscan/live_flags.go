package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/kdupscan/kdupscan/pcap/flight"
)

// size is a number of bytes with a least value.
type size struct{ value, least int64 }

func (s *size) Type() string { return "SIZE" }

func (s *size) String() string { return sizeText(s.value) }

func sizeText(n int64) string {
	for _, unit := range []struct {
		bits int
		name string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n > 0 && n%(1<<unit.bits) == 0 {
			return strconv.FormatInt(n>>unit.bits, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	n, ok := parseSize(text)
	if !ok || n < s.least {
		return fmt.Errorf("want a size such as 512MiB or 2GiB, of at least %s", sizeText(s.least))
	}
	s.value = n
	return nil
}

var _ pflag.Value = (*size)(nil)

// recordOptions are the flags of the flight recorder.
type recordOptions struct {
	dir            string
	size, keepSize size
	age            time.Duration
	before, after  time.Duration
}

func defaultRecordOptions() recordOptions {
	return recordOptions{
		size: size{value: 2 << 30, least: flight.MinSize}, keepSize: size{value: 2 << 30},
		age: time.Hour, before: time.Minute, after: 30 * time.Second,
	}
}

func (o *recordOptions) check() error {
	switch {
	case o.age <= 0:
		return fmt.Errorf("--record-age %v: want a duration above zero, such as 1h", o.age)
	case o.before < 0:
		return fmt.Errorf("--before %v: want a duration from zero, such as 1m", o.before)
	case o.after < 0:
		return fmt.Errorf("--after %v: want a duration from zero, such as 30s", o.after)
	}
	return nil
}
