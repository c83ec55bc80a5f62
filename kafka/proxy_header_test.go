package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/reassembly"
)

const (
	proxyVersion1 = "PROXY TCP4 198.51.100.7 192.0.2.1 51234 9092\r\n"
	proxyVersion2 = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc6\x33\x64\x07\xc0\x00\x02\x01\xc8\x22\x23\x84"
)

func TestProxyHeader(t *testing.T) {
	for _, header := range []string{proxyVersion1, proxyVersion2} {
		for n := range len(header) {
			if have := reassembly.ProxyHeader([]byte(header[:n])); n > 0 && have <= n {
				t.Errorf("%q: %d bytes of %d", header, have, n)
			}
		}
		if have := reassembly.ProxyHeader([]byte(header + "\x00\x00\x00\x10")); have != len(header) {
			t.Errorf("%q: %d bytes, want %d", header, have, len(header))
		}
	}
	for _, none := range []string{"\x00\x00\x00\x10", "PROXIMA", "PROXY " + strings.Repeat("x", 200), "\r\n\r\nGET"} {
		if have := reassembly.ProxyHeader([]byte(none)); have != 0 {
			t.Errorf("%.10q: %d bytes", none, have)
		}
	}
}

// A client's stream behind a PROXY header is read from its first request on, also where the header comes in pieces.
func TestStreamBehindProxyHeader(t *testing.T) {
	for _, header := range []string{proxyVersion1, proxyVersion2} {
		for _, cut := range []int{0, 3, 20} {
			s := newScript(true).
				data(asks, []byte(header[:cut])).
				data(asks, append([]byte(header[cut:]), request(kmsg.NewPtrMetadataRequest(), 9, 7, "client")...)).
				data(answers, answer(kmsg.NewPtrMetadataResponse(), 9, 7)).
				close(reassembly.ClosedFIN)
			o := run(s)
			if n := o.stats.APIs[API{keyMetadata, 9}]; n == nil || *n != (APIStats{Requests: 1, Responses: 1}) || len(o.notes) != 0 {
				t.Errorf("%.6q cut at %d: %+v, notes %v", header, cut, n, o.notes)
			}
		}
	}
}
