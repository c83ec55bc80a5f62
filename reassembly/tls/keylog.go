package tls

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
)

const (
	randomSize = 32 // of a client or server random
	masterSize = 48 // of a TLS 1.2 master secret
	// maxSecret is the longest secret: the output of SHA-384.
	maxSecret = 48
	// maxSessions bounds the sessions of one Keys. At some 350 bytes each they need 90 MiB, for more connections than a
	// capture of days has.
	maxSessions = 1 << 18
	// maxLine is above any line of a key log: label, client random, and a secret of an RSA line.
	maxLine = 4 << 10
)

// KeyLogSecret is the type of a pcapng Decryption Secrets Block that holds a key log (draft-ietf-opsawg-pcapng, section 4.7).
const KeyLogSecret = 0x544c534b

// Key log labels (draft-ietf-tls-keylogfile).
const (
	labelMaster          = "CLIENT_RANDOM"
	labelRSA             = "RSA"
	labelClientHandshake = "CLIENT_HANDSHAKE_TRAFFIC_SECRET"
	labelServerHandshake = "SERVER_HANDSHAKE_TRAFFIC_SECRET"
	labelClientTraffic   = "CLIENT_TRAFFIC_SECRET_0"
	labelServerTraffic   = "SERVER_TRAFFIC_SECRET_0"
	labelEarly           = "CLIENT_EARLY_TRAFFIC_SECRET"
)

// The kinds of secrets that are kept, as indexes of session.secrets. The handshake and traffic secrets of one side are
// neighbours: the client's at 1 and 2, the server's at 3 and 4. That of early data is the client's.
var secretKinds = map[string]int{
	labelMaster: 0, labelClientHandshake: 1, labelClientTraffic: 2, labelServerHandshake: 3, labelServerTraffic: 4, labelEarly: earlySecret,
}

const earlySecret = 5

// secret is one secret of a session. It has no String method and is never formatted.
type secret struct {
	size  uint8 // 0: not known
	bytes [maxSecret]byte
}

// value returns the secret, nil if it is not known.
func (s *secret) value() []byte {
	if s == nil || s.size == 0 {
		return nil
	}
	return s.bytes[:s.size]
}

// session is what a key log says of one client random.
type session struct {
	secrets [6]secret
}

// Keys are the secrets of TLS sessions, by client random.
type Keys struct {
	base       *Keys
	sessions   map[[randomSize]byte]*session
	masters    []*secret // of TLS 1.2, in the order in which they came
	byID       bool      // some of them came with a session id instead of a client random
	generation int       // changes with every new secret
	bad, full  int64
}

// NewKeys returns empty Keys on top of base, which may be nil and must not change any more.
func NewKeys(base *Keys) *Keys {
	return &Keys{base: base, sessions: make(map[[randomSize]byte]*session)}
}

// SetBase puts k on top of base, which must not change any more. It is for a k that has no keys yet.
func (k *Keys) SetBase(base *Keys) { k.base = base }

// Len returns the number of sessions, those of the base included.
func (k *Keys) Len() int {
	if k == nil {
		return 0
	}
	return len(k.sessions) + k.base.Len()
}

// Bad returns how many lines were no keys.
func (k *Keys) Bad() int64 { return k.bad }

// Full returns how many keys were not kept for lack of room.
func (k *Keys) Full() int64 { return k.full }

// AddLog adds the keys of a whole key log, such as a Decryption Secrets Block of type 0x544c534b has. Lines with labels of
// other uses are passed over, and comments.
func (k *Keys) AddLog(log []byte) {
	for len(log) > 0 {
		var line []byte
		line, log, _ = bytes.Cut(log, []byte("\n"))
		if !k.add(line) {
			k.bad++
		}
	}
}

// add takes one line: label, client random, secret. It returns false if the line is not of that form.
func (k *Keys) add(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return true
	}
	label, rest, _ := bytes.Cut(line, []byte(" "))
	if id, master, ok := bytes.Cut(rest, []byte(" Master-Key:")); ok && string(label) == labelRSA && bytes.HasPrefix(id, []byte("Session-ID:")) {
		return k.addMaster(master)
	}
	kind, known := secretKinds[string(label)]
	if !known {
		return isLabel(label)
	}
	random, value, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
	value = bytes.TrimSpace(value)
	var r [randomSize]byte
	var s secret
	if len(random) != 2*randomSize || len(value)%2 != 0 || len(value) > 2*maxSecret {
		return false
	}
	if _, err := hex.Decode(r[:], random); err != nil {
		return false
	}
	n, err := hex.Decode(s.bytes[:], value)
	if err != nil || n != 32 && n != 48 || kind == 0 && n != masterSize {
		return false
	}
	s.size = uint8(n)
	k.keep(r, kind, s)
	return true
}

// addMaster takes the master secret of a line "RSA Session-ID:… Master-Key:…", as agents for Java write it. The session id
// is not kept: with tickets no hello has it. Which connection the secret is for, the Finished message shows.
func (k *Keys) addMaster(digits []byte) bool {
	s := &secret{size: masterSize}
	if len(digits) != 2*masterSize {
		return false
	}
	if _, err := hex.Decode(s.bytes[:], digits); err != nil {
		return false
	}
	if len(k.masters) >= maxSessions {
		k.full++
		return true
	}
	k.masters = append(k.masters, s)
	k.byID = true
	k.generation++
	return true
}

// anyByID reports whether a connection may have a master secret that is not found by its client random.
func (k *Keys) anyByID() bool { return k != nil && (k.byID || k.base.anyByID()) }

// isLabel reports whether a word may be a label that is not known here, such as RSA or EXPORTER_SECRET.
func isLabel(word []byte) bool {
	for _, c := range word {
		if !(c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return len(word) > 0
}

// keep stores a secret.
func (k *Keys) keep(random [randomSize]byte, kind int, s secret) {
	have := k.sessions[random]
	if have == nil {
		if len(k.sessions) >= maxSessions {
			k.full++
			return
		}
		have = &session{}
		if old := k.base.find(random); old != nil {
			*have = *old
		}
		k.sessions[random] = have
	}
	if have.secrets[kind] == s {
		return
	}
	if kind == 0 && have.secrets[0].size == 0 {
		k.masters = append(k.masters, &have.secrets[0])
	}
	have.secrets[kind] = s
	k.generation++
}

// find returns the secrets of a session, nil if there are none.
func (k *Keys) find(random [randomSize]byte) *session {
	for ; k != nil; k = k.base {
		if s := k.sessions[random]; s != nil {
			return s
		}
	}
	return nil
}

// KeyLog reads a key log file that may still grow.
type KeyLog struct {
	r    io.Reader
	keys *Keys
	rest []byte // the last line, while it has no end
	skip bool   // the line in progress is longer than any key
}

// NewKeyLog returns a KeyLog that adds what it reads from r to keys.
func NewKeyLog(r io.Reader, keys *Keys) *KeyLog { return &KeyLog{r: r, keys: keys} }

// Read adds all lines up to the present end of the log, and may be called again when the log has grown. A last line
// without its end is added as far as it is a key already. The error is the reader's.
func (l *KeyLog) Read() error {
	buf := make([]byte, 64<<10)
	for {
		n, err := l.r.Read(buf)
		l.take(buf[:n])
		if errors.Is(err, io.EOF) {
			l.keys.add(l.rest)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Unended returns the last line of what was read if it had no end.
func (l *KeyLog) Unended() []byte { return bytes.Clone(l.rest) }

// take splits what was read into lines.
func (l *KeyLog) take(data []byte) {
	for {
		line, after, ended := bytes.Cut(data, []byte("\n"))
		if len(l.rest)+len(line) > maxLine {
			l.skip, l.rest = true, l.rest[:0]
		}
		if !l.skip {
			l.rest = append(l.rest, line...)
		}
		if !ended {
			return
		}
		if l.skip || !l.keys.add(l.rest) {
			l.keys.bad++
		}
		l.skip, l.rest, data = false, l.rest[:0], after
	}
}
