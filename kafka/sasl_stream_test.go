package kafka

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/reassembly"
)

// saslSecret is in every credential of these tests, and must be in nothing that comes out.
const saslSecret = "tr0ub4dor"

// saslExchange is what client and server say to each other in a mechanism, the client first.
type saslExchange struct {
	mechanism string
	tokens    [][2]string
}

// saslExchanges are the mechanisms of Kafka, as RFC 4616 (PLAIN), RFC 5802 (SCRAM), RFC 7628 (OAUTHBEARER) and RFC 4752
// (GSSAPI) have them. Some tokens begin like a request header, or are empty.
var saslExchanges = []saslExchange{
	{"PLAIN", [][2]string{{"\x00alice\x00" + saslSecret, ""}}},
	{"PLAIN", [][2]string{{"\x00\x03\x00\x09\x00\x00\x00\x07\x00\x05\x00" + saslSecret, ""}}}, // reads like Metadata 9
	{"PLAIN", [][2]string{{"\x00A\x00" + saslSecret, ""}}},
	{"SCRAM-SHA-256", [][2]string{
		{"n,,n=alice,r=" + saslSecret, "r=" + saslSecret + "3rfcNHYJY1ZVvWVs7j,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"},
		{"c=biws,r=" + saslSecret + "3rfcNHYJY1ZVvWVs7j,p=" + saslSecret, "v=" + saslSecret},
	}},
	{"OAUTHBEARER", [][2]string{{"n,,\x01auth=Bearer eyJ" + strings.Repeat(saslSecret, 300) + "\x01\x01", ""}}},
	{"OAUTHBEARER", [][2]string{{"n,,\x01auth=Bearer " + saslSecret + "\x01\x01", `{"status":"invalid_token"}`}, {"\x01", ""}}},
	{"GSSAPI", [][2]string{
		{"\x60\x82\x02\x6e\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" + strings.Repeat("\x00\x01"+saslSecret, 60), "\x60\x81\x99" + saslSecret},
		{"", "\x05\x04\x05\xff\x00\x0c\x00\x00\x00\x00\x00\x00" + saslSecret},
		{"\x05\x04\x04\xff\x00\x0c\x00\x00" + saslSecret, ""},
	}},
}

// frameToken puts the length before a token, as SaslHandshake 0 leaves it.
func frameToken(token string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...)
}

// saslTurns are the turns of an exchange: with SaslHandshake 0 and raw tokens, or with a SaslAuthenticate version. requests
// counts those with a header.
func saslTurns(x saslExchange, handshake, authenticate int16) (turns []turn, requests int64) {
	q := kmsg.NewPtrSASLHandshakeRequest()
	q.Mechanism = x.mechanism
	a := kmsg.NewPtrSASLHandshakeResponse()
	a.SupportedMechanisms = []string{x.mechanism}
	turns = []turn{{asks, request(q, handshake, 1, "rdkafka")}, {answers, answer(a, handshake, 1)}}
	for i, token := range x.tokens {
		if handshake == 0 {
			turns = append(turns, turn{asks, frameToken(token[0])}, turn{answers, frameToken(token[1])})
			continue
		}
		q := kmsg.NewPtrSASLAuthenticateRequest()
		q.SASLAuthBytes = []byte(token[0])
		a := kmsg.NewPtrSASLAuthenticateResponse()
		a.SASLAuthBytes = []byte(token[1])
		id := int32(2 + i)
		turns = append(turns, turn{asks, request(q, authenticate, id, "rdkafka")}, turn{answers, answer(a, authenticate, id)})
		requests++
	}
	return turns, requests + 1
}

// Whatever the mechanism, what follows it is read, nothing is out of step, and no credential comes out.
func TestSASL(t *testing.T) {
	for _, x := range saslExchanges {
		for _, v := range [][2]int16{{0, -1}, {1, 0}, {1, 1}, {1, 2}} {
			turns, requests := saslTurns(x, v[0], v[1])
			name := fmt.Sprintf("%s handshake %d authenticate %d", x.mechanism, v[0], v[1])
			produce := produceTurns(9, 40, -1, testBatch(7078, 0), 100)
			for split, script := range map[string]*script{
				"whole":  newScript(true).say(turns...).say(produce...),
				"bytes":  bytewise(append(turns, produce...)),
				"late":   newScript(false).say(turns[1:]...).say(produce...),
				"no SYN": newScript(false).say(turns...).say(produce...),
				"a gap":  newScript(true).say(turns[:2]...).gap(asks, len(turns[2].bytes)).say(turns[3:]...).say(produce...),
				"a gap in the answers": newScript(true).say(turns[0]).gap(answers, len(turns[1].bytes)-6).
					say(turn{answers, turns[1].bytes[len(turns[1].bytes)-6:]}).say(turns[2:]...).say(produce...),
				"cut off": newScript(true).say(turns[:3]...),
			} {
				o := run(script.close(reassembly.ClosedFIN))
				o.wantNoCredentials(t, name+" "+split)
				switch split {
				case "whole", "bytes", "no SYN":
					answered := of[*BatchAnswered](o)
					if len(answered) != 1 || answered[0].Request == nil || o.stats.Requests != requests+1 || o.stats.Responses != requests+1 {
						t.Errorf("%s %s: %d batches answered, %d requests and %d responses, want %d of each", name, split, len(answered), o.stats.Requests, o.stats.Responses, requests+1)
					}
					if split != "no SYN" && len(o.notes) != 0 {
						t.Errorf("%s %s: notes %v", name, split, o.notes)
					}
				case "late", "a gap", "a gap in the answers":
					if len(of[*BatchSent](o)) != 1 {
						t.Errorf("%s %s: the batch behind the exchange is not read; notes %v", name, split, o.notes)
					}
				}
			}
		}
	}
}

// bytewise sends each byte in a segment of its own.
func bytewise(turns []turn) *script {
	s := newScript(true)
	for _, u := range turns {
		for i := range u.bytes {
			s.data(u.dir, u.bytes[i:i+1])
		}
	}
	return s
}

// wantNoCredentials prints all that came out, in depth, and looks for the secret in it.
func (o *outcome) wantNoCredentials(t *testing.T, name string) {
	t.Helper()
	var b strings.Builder
	for _, obs := range o.observations {
		fmt.Fprintf(&b, "%+v %+v\n", obs, obs.Where().Link)
		if s, ok := obs.(*ClientNamed); ok {
			fmt.Fprintln(&b, s.ClientID)
		}
		if c, ok := obs.(*LinkClosed); ok {
			for _, r := range c.Unanswered {
				fmt.Fprintf(&b, "%+v\n", *r)
			}
		}
	}
	fmt.Fprintf(&b, "%+v %+v", o.notes, *o.stats)
	if strings.Contains(b.String(), saslSecret) {
		t.Errorf("%s: a credential came out: %s", name, b.String())
	}
}
