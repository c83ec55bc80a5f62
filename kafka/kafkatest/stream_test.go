package kafkatest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// wire is a reader of captures of its own: gopacket for the packets, kmsg for the messages.
type wire struct {
	requests  []message
	responses []message
	torn      int // bytes behind the last whole message of a stream
}

type message struct {
	connection string
	request    kmsg.Request
	response   kmsg.Response
	clientID   string
}

// streams puts the payloads of each direction in order: key is source and destination. Segments must come in order or repeat.
// toBroker tells the client's directions: those of a SYN, or to port 9092.
func streams(t *testing.T, packets []pcaptest.Packet) (order []string, data map[string][]byte, toBroker map[string]bool) {
	t.Helper()
	data = make(map[string][]byte)
	toBroker = make(map[string]bool)
	next := make(map[string]uint32)
	for i, p := range packets {
		packet := gopacket.NewPacket(p.Data, layers.LinkType(p.LinkType), gopacket.Default)
		if packet.ErrorLayer() != nil {
			t.Fatalf("packet %d: %v", i+1, packet.ErrorLayer().Error())
		}
		tcp := packet.TransportLayer().(*layers.TCP)
		checkSums(t, i+1, packet, tcp)
		key := fmt.Sprintf("%v:%d>%v:%d", packet.NetworkLayer().NetworkFlow().Src(), tcp.SrcPort, packet.NetworkLayer().NetworkFlow().Dst(), tcp.DstPort)
		if _, seen := next[key]; !seen {
			next[key] = tcp.Seq
			order = append(order, key)
			toBroker[key] = tcp.SYN && !tcp.ACK || !tcp.SYN && tcp.DstPort == 9092
		}
		if tcp.SYN {
			next[key] = tcp.Seq + 1
		}
		if old := int(next[key] - tcp.Seq); len(tcp.Payload) > 0 && old < len(tcp.Payload) {
			if old < 0 {
				t.Fatalf("packet %d: a hole of %d bytes", i+1, -old)
			}
			data[key] = append(data[key], tcp.Payload[old:]...)
			next[key] = tcp.Seq + uint32(len(tcp.Payload))
		}
	}
	return order, data, toBroker
}

func checkSums(t *testing.T, number int, packet gopacket.Packet, tcp *layers.TCP) {
	t.Helper()
	if err := tcp.SetNetworkLayerForChecksum(packet.NetworkLayer()); err != nil {
		t.Fatal(err)
	}
	// Over a segment with its right checksum in place, the sum is 0 or, as gopacket complements, 0xffff.
	if sum, err := tcp.ComputeChecksum(); err != nil || sum != 0 && sum != 0xffff {
		t.Errorf("packet %d: TCP checksum %#x leaves %#x, %v", number, tcp.Checksum, sum, err)
	}
	if ip, ok := packet.NetworkLayer().(*layers.IPv4); ok {
		var sum uint32
		for i := 0; i < len(ip.Contents); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(ip.Contents[i:]))
		}
		if sum = sum&0xffff + sum>>16; sum != 0xffff {
			t.Errorf("packet %d: IP checksum leaves %#x", number, sum)
		}
	}
}

// read decodes all messages of a capture and checks that kmsg encodes each to the same bytes again.
func read(t *testing.T, packets []pcaptest.Packet) wire {
	t.Helper()
	var w wire
	order, data, toBroker := streams(t, packets)
	asked := make(map[string]map[int32]kmsg.Request)
	for _, requests := range []bool{true, false} {
		for _, key := range order {
			from, to, _ := strings.Cut(key, ">")
			if requests != toBroker[key] {
				continue
			}
			connection := key
			if !requests {
				connection = to + ">" + from
			}
			rest := data[key]
			if bytes.HasPrefix(rest, []byte("PROXY ")) {
				_, rest, _ = bytes.Cut(rest, []byte("\r\n"))
			}
			for len(rest) >= 4 && len(rest) >= 4+int(binary.BigEndian.Uint32(rest)) {
				n := 4 + int(binary.BigEndian.Uint32(rest))
				if requests {
					w.request(t, connection, rest[4:n], asked)
				} else {
					w.response(t, connection, rest[4:n], asked)
				}
				rest = rest[n:]
			}
			w.torn += len(rest)
		}
	}
	return w
}

func (w *wire) request(t *testing.T, connection string, data []byte, asked map[string]map[int32]kmsg.Request) {
	t.Helper()
	key, version := int16(binary.BigEndian.Uint16(data)), int16(binary.BigEndian.Uint16(data[2:]))
	correlation := int32(binary.BigEndian.Uint32(data[4:]))
	n := int(binary.BigEndian.Uint16(data[8:]))
	clientID, body := string(data[10:10+n]), data[10+n:]
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	if req.IsFlexible() {
		body = body[1:]
	}
	if err := req.ReadFrom(body); err != nil {
		t.Fatalf("%s: request %d v%d: %v", connection, key, version, err)
	}
	if again := req.AppendTo(nil); string(again) != string(body) {
		t.Errorf("%s: request %d v%d does not encode to the same bytes", connection, key, version)
	}
	if asked[connection] == nil {
		asked[connection] = make(map[int32]kmsg.Request)
	}
	if asked[connection][correlation] != nil {
		t.Errorf("%s: correlation id %d twice", connection, correlation)
	}
	asked[connection][correlation] = req
	w.requests = append(w.requests, message{connection: connection, request: req, clientID: clientID})
}

func (w *wire) response(t *testing.T, connection string, data []byte, asked map[string]map[int32]kmsg.Request) {
	t.Helper()
	correlation := int32(binary.BigEndian.Uint32(data))
	req := asked[connection][correlation]
	if req == nil {
		t.Fatalf("%s: answer to no request: %d", connection, correlation)
	}
	resp := req.ResponseKind()
	body := data[4:]
	if resp.IsFlexible() && resp.Key() != 18 {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		t.Fatalf("%s: answer %d v%d: %v", connection, resp.Key(), resp.GetVersion(), err)
	}
	if again := resp.AppendTo(nil); string(again) != string(body) {
		t.Errorf("%s: answer %d v%d does not encode to the same bytes", connection, resp.Key(), resp.GetVersion())
	}
	w.responses = append(w.responses, message{connection: connection, request: req, response: resp})
}
