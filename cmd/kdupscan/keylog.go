package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly/tls"
)

// keyLogs are the files of --keylog.
type keyLogs []string

func (k *keyLogs) String() string { return "" }
func (k *keyLogs) Type() string   { return "FILE" }

// Set implements pflag.Value. It may be called more than once.
func (k *keyLogs) Set(s string) error {
	if s == "" {
		return errors.New("want the name of a file")
	}
	*k = append(*k, s)
	return nil
}

var _ pflag.Value = (*keyLogs)(nil)

// secrets are the TLS keys of a run. What the key logs have when it begins is read at once and shared by all shards. What
// comes later, as the logs grow and as captures bring secrets, is handed out in the order of the frames: what a shard knows
// at a frame must not depend on how far another goroutine has come.
type secrets struct {
	base *tls.Keys
	logs []*growingLog
	seen []int // secrets taken of each capture
}

// growingLog is a key log file that its writer may still be adding to.
type growingLog struct {
	file *os.File
	rest []byte // a line without its end
}

func newSecrets() *secrets { return &secrets{base: tls.NewKeys(nil)} }

// open reads the key logs.
func (k keyLogs) open() (*secrets, error) {
	s := newSecrets()
	for _, path := range k {
		file, err := os.Open(path)
		if err == nil {
			log := tls.NewKeyLog(file, s.base)
			err = log.Read()
			s.logs = append(s.logs, &growingLog{file: file, rest: log.Unended()})
		}
		if err != nil {
			s.close()
			return nil, keyLogError(path, err)
		}
	}
	return s, nil
}

// keyLogError names the file by its base name.
func keyLogError(path string, err error) error {
	if at := new(fs.PathError); errors.As(err, &at) {
		err = at.Err
	}
	return errors.New("--keylog " + filepath.Base(path) + ": " + err.Error())
}

// close closes the logs.
func (s *secrets) close() {
	for _, l := range s.logs {
		l.file.Close()
	}
	s.logs = nil
}

const (
	// mostGrowth is how much of a key log is read at a time while packets wait.
	mostGrowth = 1 << 20
	// longestKey is more than any line of a key log has.
	longestKey = 4 << 10
)

// more returns the lines that have been added to the log since the last call. One without its end comes with its end.
func (l *growingLog) more() []byte {
	added, err := io.ReadAll(io.LimitReader(l.file, mostGrowth))
	if err != nil || len(added) == 0 {
		return nil
	}
	added = append(l.rest, added...)
	whole := bytes.LastIndexByte(added, '\n') + 1
	l.rest = bytes.Clone(added[whole:min(len(added), whole+longestKey)])
	return added[:whole]
}

// more returns the key logs that have come since the last call: of the files, and of the captures as far as these have
// been read.
func (s *secrets) more(captures []pcap.Capture) (logs [][]byte) {
	for _, l := range s.logs {
		if log := l.more(); len(log) > 0 {
			logs = append(logs, log)
		}
	}
	for i, c := range captures {
		if i == len(s.seen) {
			s.seen = append(s.seen, 0)
		}
		for _, secret := range c.Secrets[s.seen[i]:] {
			if secret.Type == tls.KeyLogSecret {
				logs = append(logs, secret.Data)
			}
		}
		s.seen[i] = len(c.Secrets)
	}
	return logs
}

// notes says what of the keys could not be used. All shards are given the same ones, so any stands for all.
func (s *secrets) notes(shard *tls.Keys) notes {
	n := make(notes)
	if bad := s.base.Bad() + shard.Bad(); bad > 0 {
		n.add(pcap.Note{Code: tls.CodeKeyLogLine, Count: bad})
	}
	if full := s.base.Full() + shard.Full(); full > 0 {
		n.add(pcap.Note{Code: tls.CodeKeysFull, Count: full})
	}
	return n
}
