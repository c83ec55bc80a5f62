package tls

// messages follows the handshake messages inside encrypted records by their headers.
type messages struct {
	head  [4]byte // type, length in 3 bytes
	have  int     // bytes of head
	left  int     // of the body
	blind bool    // records were lost: where a message begins is not known any more
}

// take calls ended for each message that ends in data.
func (m *messages) take(data []byte, ended func(kind byte)) {
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
		m.left -= n
		data = data[n:]
		if m.left > 0 {
			return
		}
		m.have = 0
		ended(m.head[0])
	}
}
