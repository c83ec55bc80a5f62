package tls

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"encoding/hex"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The secrets, keys and ivs of RFC 8448, section 3.
func TestKeysOfRFC8448(t *testing.T) {
	for _, c := range []struct{ name, secret, key, iv string }{
		{"server handshake", "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38", "3fce516009c21727d0f2e4e86ee403bc", "5d313eb2671276ee13000b30"},
		{"client traffic", "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5", "17422dda596ed5d9acd890e3c63f5051", "5b78923dee08579033e523d9"},
		{"server traffic", "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643", "9f02283b6c9c07efc26bb9f2ac92e356", "cf782b88dd83549aadf1e984"},
	} {
		for label, want := range map[string]string{"key": c.key, "iv": c.iv} {
			got, err := expandLabel(crypto.SHA256, unhex(t, c.secret), label, len(want)/2)
			if err != nil || hex.EncodeToString(got) != want {
				t.Errorf("%s: %s is %x (%v), want %s", c.name, label, got, err, want)
			}
		}
	}
}

// The client's application data of RFC 8448, section 3: 50 bytes from 0.
func TestRecordOfRFC8448(t *testing.T) {
	record := unhex(t, `17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc ab 3f 2b 98 19 a8
		a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d ea e6 3a ee bb 21 69 49 15 e4`)
	s := suites[0x1301]
	o, err := newOpener13(&s, unhex(t, "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5"))
	if err != nil {
		t.Fatal(err)
	}
	h := header(record)
	dst := make([]byte, maxBody)
	content, kind, ok := o.open(dst, &h, record[headerSize:], 0)
	if !ok || kind != typeApplicationData || len(content) != 50 || content[1] != 1 || content[49] != 49 {
		t.Errorf("got %x of type %d, %v", content, kind, ok)
	}
	if _, _, ok := o.open(dst, &h, record[headerSize:], 1); ok {
		t.Error("it opens under another sequence number")
	}
	if n := o.contentSize(h.size()); n != 50 {
		t.Errorf("content of %d bytes expected, want 50", n)
	}
}

// The vector for SHA-256 that the TLS working group's list has (message of 2009 on "P_SHA256 test vectors").
func TestPRF(t *testing.T) {
	want := unhex(t, `e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af0fa022f7077def17abfd3797c0564bab
		4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66`)
	got := prf(crypto.SHA256, unhex(t, "9bbe436ba940f017b17652849a71db35"), "test label", unhex(t, "a0ba9f936cda311827a6f796ffd5198c"), len(want))
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// Example 3 of NIST SP 800-38C.
func TestCCM(t *testing.T) {
	count := func(from, n int) (b []byte) {
		for i := range n {
			b = append(b, byte(from+i))
		}
		return b
	}
	block, err := aes.NewCipher(count(0x40, 16))
	if err != nil {
		t.Fatal(err)
	}
	c := newCCM(block, 8)
	want := unhex(t, "e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5484392fbc1b09951")
	if got := c.Seal(nil, count(0x10, 12), count(0x20, 24), count(0, 20)); !bytes.Equal(got, want) {
		t.Errorf("sealed %x, want %x", got, want)
	}
	if got, err := c.Open(nil, count(0x10, 12), want, count(0, 20)); err != nil || !bytes.Equal(got, count(0x20, 24)) {
		t.Errorf("opened %x (%v)", got, err)
	}
	want[3] ^= 1
	if _, err := c.Open(nil, count(0x10, 12), want, count(0, 20)); err == nil {
		t.Error("a changed message opens")
	}
}
