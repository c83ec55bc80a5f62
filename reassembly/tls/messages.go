package tls

// messages follows the handshake messages inside encrypted records by their headers.
type messages struct {
	head  [4]byte // type, length in 3 bytes
	have  int     // bytes of head
	left  int     // of the body
	body  []byte  // of a hello, as far as it has come; of other messages nothing is kept
	blind bool    // records were lost: where a message begins is not known any more
}

// maxHello bounds the body of a hello: 64 KiB of extensions and some bytes before them, beyond what is ever sent.
const maxHello = 1<<16 + 1<<10

// isHello reports whether the message in progress is a hello of a length that is kept.
func (m *messages) isHello() bool {
	return (m.head[0] == clientHello || m.head[0] == serverHello) && len(m.body)+m.left <= maxHello
}

// wholeHello reports whether data begins with a hello and has all of it.
func wholeHello(data []byte) bool {
	if len(data) < 4 {
		return false
	}
	n := 4 + int(data[1])<<16 + int(data[2])<<8 + int(data[3])
	if len(data) < n {
		return false
	}
	switch data[0] {
	case clientHello:
		_, ok := readClientHello(data[4:n])
		return ok
	case serverHello:
		_, ok := readServerHello(data[4:n])
		return ok
	}
	return false
}

// resume takes the news that a message begins with the next data.
func (m *messages) resume() { m.blind, m.have, m.left, m.body = false, 0, 0, nil }

// take calls ended for each message that ends in data, with the body of a hello.
func (m *messages) take(data []byte, ended func(kind byte, body []byte)) {
	for !m.blind && (len(data) > 0 || m.have == len(m.head) && m.left == 0) {
		if m.have < len(m.head) {
			n := copy(m.head[m.have:], data)
			m.have += n
			data = data[n:]
			if m.have < len(m.head) {
				return
			}
			m.left = int(m.head[1])<<16 | int(m.head[2])<<8 | int(m.head[3])
		}
		n := min(m.left, len(data))
		if m.isHello() {
			m.body = append(m.body, data[:n]...)
		}
		m.left -= n
		data = data[n:]
		if m.left > 0 {
			return
		}
		body := m.body
		m.have, m.body = 0, nil
		ended(m.head[0], body)
	}
}
