package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// message is one request or response with its length in front.
type message []byte

func readMessage(r io.Reader) (message, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	const most = 100 << 20 // what brokers take at most by default
	if n > most {
		return nil, fmt.Errorf("message of %d bytes", n)
	}
	m := make(message, 4+n)
	copy(m, size[:])
	_, err := io.ReadFull(r, m[4:])
	return m, err
}

// request is a request whose header has been read; body is nil where kmsg does not know the API.
type request struct {
	message
	key, version int16
	correlation  int32
	bodyAt       int
	body         kmsg.Request
}

// parseRequest reads the header: length, key, version, correlation id, client id and, in flexible versions, tags (clients
// send none).
func parseRequest(m message) (*request, error) {
	if len(m) < 14 {
		return nil, errors.New("request without a header")
	}
	r := &request{
		message: m,
		key:     int16(binary.BigEndian.Uint16(m[4:])), version: int16(binary.BigEndian.Uint16(m[6:])),
		correlation: int32(binary.BigEndian.Uint32(m[8:])), bodyAt: 14,
	}
	if n := int16(binary.BigEndian.Uint16(m[12:])); n > 0 {
		r.bodyAt += int(n)
	}
	r.body = kmsg.RequestForKey(r.key)
	if r.body == nil {
		return r, nil
	}
	r.body.SetVersion(r.version)
	if r.body.IsFlexible() {
		r.bodyAt++
	}
	if r.bodyAt > len(m) {
		return nil, errors.New("request header is cut short")
	}
	return r, nil
}

// answer decodes the response to the request.
func (r *request) answer(m message) (kmsg.Response, error) {
	at := 8 // length and correlation id
	if r.body.IsFlexible() && r.key != int16(kmsg.ApiVersions) {
		at++
	}
	if len(m) < at {
		return nil, errors.New("response without a header")
	}
	response := r.body.ResponseKind()
	return response, response.ReadFrom(m[at:])
}

// encode puts a response to the request into bytes.
func (r *request) encode(response kmsg.Response) message {
	m := binary.BigEndian.AppendUint32(make(message, 4, 256), uint32(r.correlation))
	if response.IsFlexible() {
		m = append(m, 0)
	}
	m = response.AppendTo(m)
	binary.BigEndian.PutUint32(m, uint32(len(m)-4))
	return m
}

// reencode puts the changed body of the request into bytes, behind the header as it was.
func (r *request) reencode() message {
	m := append(message(nil), r.message[:r.bodyAt]...)
	m = r.body.AppendTo(m)
	binary.BigEndian.PutUint32(m, uint32(len(m)-4))
	return m
}
