package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"testing"
)

func pseudonyms(r Redaction) *Pseudonyms {
	digest := sha256.Sum256([]byte("a capture"))
	return newPseudonyms(digest[:], r)
}

// TestContentIsAPermutation of the contents of each length: of one and two bytes all are tried, of others some.
func TestContentIsAPermutation(t *testing.T) {
	p := pseudonyms(RedactPayload)
	seen := make(map[string][]byte)
	try := func(content []byte) {
		out := p.Content(content)
		if len(out) != len(content) {
			t.Fatalf("%d bytes became %d", len(content), len(out))
		}
		if have, taken := seen[string(out)]; taken {
			t.Fatalf("%x and %x have one pseudonym", have, content)
		}
		if !bytes.Equal(out, p.Content(content)) {
			t.Fatal("two pseudonyms for one content")
		}
		seen[string(out)] = content
	}
	try(nil)
	for i := range 1 << 8 {
		try([]byte{byte(i)})
	}
	for i := range 1 << 12 {
		try(binary.BigEndian.AppendUint16(nil, uint16(i*16)))
	}
	for _, n := range []int{3, 4, 7, 31, 32, 33, 63, 64, 65, 100, 5000} {
		for i := range 50 {
			try(append(make([]byte, n-1), byte(i)))
		}
	}
}

// TestContentChangesEverywhere: one bit of a content changes about half of its pseudonym, and other keys give others.
func TestContentChangesEverywhere(t *testing.T) {
	a, b := pseudonyms(RedactPayload), pseudonyms(RedactAll)
	content := bytes.Repeat([]byte("content "), 32)
	other := bytes.Clone(content)
	other[0] ^= 1
	for _, twin := range [][]byte{a.Content(other), b.Content(content), content} {
		equal := 0
		for i, c := range a.Content(content) {
			if c == twin[i] {
				equal++
			}
		}
		if equal > 12 { // one is to be expected, of 256
			t.Errorf("%d bytes of %d stay", equal, len(content))
		}
	}
}

func TestAddresses(t *testing.T) {
	p := pseudonyms(RedactAll)
	v4, v6 := netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("[2001:db8::1]:40000")
	first := p.client(v4)
	if p.client(v4) != first || first == p.client(netip.MustParseAddrPort("192.0.2.1:40001")) {
		t.Error("not one pseudonym for one end")
	}
	if got := p.server(v4); got.Port() != v4.Port() || got.Addr() != p.client(v4).Addr() {
		t.Errorf("the server became %v", got)
	}
	if !p.client(v6).Addr().Is6() || p.client(v6).Addr() == v6.Addr() {
		t.Errorf("%v became %v", v6, p.client(v6))
	}
	if p.host("192.0.2.1") != p.client(v4).Addr().String() {
		t.Error("Metadata and packets name another address")
	}
	if q := pseudonyms(RedactPayload); q.client(v4) != v4 || q.host("a.example") != "a.example" {
		t.Error("payload redaction changes addresses")
	}
}
