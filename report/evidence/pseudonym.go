package evidence

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"

	"github.com/kdupscan/kdupscan/kafka"
)

// Redaction says what is replaced.
type Redaction uint8

// Redactions. All keeps the numbers that findings are about, the ports of servers, and what clients say of their software.
const (
	RedactPayload Redaction = iota // keys, values, values of headers
	RedactAll                      // also names of headers, topics, clients, groups, transactions and hosts, ids of topics and clusters, addresses, ports of clients
)

// Pseudonyms replaces contents and names. What is equal stays equal, and what is not stays different. The key is a digest of the
// whole capture: who has only the file cannot guess a short value and check the guess; who has the capture sees all anyway.
type Pseudonyms struct {
	redaction Redaction
	key       []byte
	single    [256]byte // of contents of one byte
	addresses map[netip.Addr]netip.Addr
	ports     map[netip.AddrPort]uint16
}

func newPseudonyms(digest []byte, r Redaction) *Pseudonyms {
	p := &Pseudonyms{redaction: r, addresses: make(map[netip.Addr]netip.Addr), ports: make(map[netip.AddrPort]uint16)}
	p.key = p.keyFrom(digest)
	for i := range p.single {
		p.single[i] = byte(i)
	}
	for i := len(p.single) - 1; i > 0; i-- {
		mac := p.mac("byte", []byte{byte(i)})
		j := binary.BigEndian.Uint64(mac) % uint64(i+1)
		p.single[i], p.single[j] = p.single[j], p.single[i]
	}
	return p
}

func (p *Pseudonyms) keyFrom(digest []byte) []byte {
	mac := hmac.New(sha256.New, digest)
	mac.Write(fmt.Appendf(nil, "kdupscan redaction %d", p.redaction))
	return mac.Sum(nil)
}

func (p *Pseudonyms) mac(kind string, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(kind))
	mac.Write([]byte{0})
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// A Feistel network whose round function is pseudo-random permutes the contents of each length at random, as far as one can
// tell who has not the key: four rounds where the halves are long (Luby and Rackoff), more where they are short.
const (
	fewRounds  = 4
	manyRounds = 10
	longHalf   = 16
)

// Content returns what stands for the content of a key, value or header: as many bytes.
func (p *Pseudonyms) Content(content []byte) []byte {
	if len(content) == 1 {
		return []byte{p.single[content[0]]}
	}
	out := append([]byte(nil), content...)
	left, right := out[:len(out)/2], out[len(out)/2:]
	rounds := byte(fewRounds)
	if len(left) < longHalf {
		rounds = manyRounds
	}
	for round := range rounds {
		if round%2 == 0 {
			p.mix(left, right, round)
		} else {
			p.mix(right, left, round)
		}
	}
	return out
}

// mix adds to dst a stream of bytes that depends on all of src.
func (p *Pseudonyms) mix(dst, src []byte, round byte) {
	seed := p.mac("content", binary.BigEndian.AppendUint64([]byte{round}, uint64(len(dst)+len(src))), src)
	if len(dst) <= len(seed) {
		subtle.XORBytes(dst, dst, seed)
		return
	}
	block, err := aes.NewCipher(seed)
	if err != nil {
		panic(err) // the digest has the length of a key
	}
	cipher.NewCTR(block, make([]byte, block.BlockSize())).XORKeyStream(dst, dst)
}

// internalName returns printable text of the same length.
func (p *Pseudonyms) internalName(name []byte) []byte {
	out := p.Content(name)
	for i, b := range out {
		out[i] = 'a' + b%26
	}
	return out
}

// piece replaces a piece of a record.
func (p *Pseudonyms) piece(part kafka.Part, content []byte) []byte {
	switch {
	case part == kafka.HeaderNamePart && p.redaction == RedactPayload:
		return content
	case part == kafka.InternalName:
		return p.internalName(content)
	}
	return p.Content(content)
}

func (p *Pseudonyms) crc(crc uint32) uint32 {
	return binary.BigEndian.Uint32(p.mac("crc", binary.BigEndian.AppendUint32(nil, crc)))
}

// text returns what stands for a name, with a letter for its kind: a word might be part of the name. The empty name stays.
func (p *Pseudonyms) text(kind, name string) string {
	if p.redaction == RedactPayload || name == "" {
		return name
	}
	return kind + "-" + hex.EncodeToString(p.mac("name", []byte(name))[:8])
}

// internalTopics have the same name in every cluster, and a meaning.
var internalTopics = map[string]bool{"__consumer_offsets": true, "__transaction_state": true, "__cluster_metadata": true, "__share_group_state": true}

// metadataTopicID is the id of __cluster_metadata in every cluster.
var metadataTopicID = [16]byte{15: 1}

// Topic returns what stands for a topic.
func (p *Pseudonyms) Topic(t kafka.Topic) kafka.Topic {
	return kafka.Topic{Name: p.topicName(t.Name), ID: p.id(t.ID)}
}

func (p *Pseudonyms) topicName(name string) string {
	if internalTopics[name] {
		return name
	}
	return p.text("t", name)
}

func (p *Pseudonyms) id(id [16]byte) [16]byte {
	if p.redaction == RedactPayload || id == [16]byte{} || id == metadataTopicID {
		return id
	}
	return [16]byte(p.mac("id", id[:])[:16])
}

// host returns what stands for a host: of an address the address that packets have instead.
func (p *Pseudonyms) host(name string) string {
	if p.redaction == RedactPayload {
		return name
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return p.address(a).String()
	}
	return p.text("h", name)
}

// address returns what stands for an address: one of those set aside for benchmarks (RFC 2544, RFC 5180), which no real cluster
// has, numbered by first use.
func (p *Pseudonyms) address(a netip.Addr) netip.Addr {
	if p.redaction == RedactPayload {
		return a
	}
	a = a.Unmap().WithZone("")
	have, known := p.addresses[a]
	if known {
		return have
	}
	n := uint32(len(p.addresses) + 1)
	if a.Is4() {
		have = netip.AddrFrom4([4]byte{198, 18 + byte(n>>16&1), byte(n >> 8), byte(n)})
	} else {
		b := [16]byte{0x20, 0x01, 0x00, 0x02}
		binary.BigEndian.PutUint32(b[12:], n)
		have = netip.AddrFrom16(b)
	}
	p.addresses[a] = have
	return have
}

const (
	firstPort = 1024
	ports     = 1<<16 - firstPort
)

// client returns what stands for the end of a client; ports are numbered by first use.
func (p *Pseudonyms) client(a netip.AddrPort) netip.AddrPort {
	if p.redaction == RedactPayload {
		return a
	}
	port, known := p.ports[a]
	if !known {
		port = uint16(firstPort + len(p.ports)%ports)
		p.ports[a] = port
	}
	return netip.AddrPortFrom(p.address(a.Addr()), port)
}

// server returns what stands for the end of a server. Its port stays: Metadata names it, and it says nothing of anybody.
func (p *Pseudonyms) server(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(p.address(a.Addr()), a.Port())
}
