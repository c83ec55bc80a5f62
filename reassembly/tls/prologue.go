package tls

// prologue reads the beginning of one direction, which is not encrypted, for the hello and for the first record behind a
// ChangeCipherSpec. Its buffers stay within what the connection holds.
type prologue struct {
	skip     int    // bytes in front that are no TLS
	raw      []byte // of the stream, from the first record that is not read yet
	messages []byte // of the handshake, from the first message that is not read yet
	tls13    bool   // a ChangeCipherSpec means nothing
	changed  bool   // a ChangeCipherSpec was seen
	sealed   []byte // the first record behind it, with its header
	broken   bool   // bytes are missing, or are no TLS
}

// lose takes the news that bytes are missing.
func (p *prologue) lose() { p.broken, p.raw, p.messages = true, nil, nil }

// take reads as far as the bytes go and calls each for every whole handshake message that is not encrypted.
func (p *prologue) take(data []byte, each func(kind byte, body []byte) bool) {
	if p.broken || p.sealed != nil {
		return
	}
	front := min(p.skip, len(data))
	p.skip -= front
	p.raw = append(p.raw, data[front:]...)
	for {
		h, ok := headerOf(p.raw)
		if !ok {
			if !mayBeRecord(p.raw) || len(p.raw) >= headerSize {
				p.lose()
			}
			return
		}
		n := headerSize + h.size()
		if len(p.raw) < n {
			return
		}
		record := p.raw[:n:n]
		p.raw = p.raw[n:]
		switch {
		case p.changed:
			p.sealed, p.raw = record, nil
			return
		case h.kind() == typeChangeCipherSpec:
			p.changed = !p.tls13
		case h.kind() == typeHandshake:
			p.messages = append(p.messages, record[headerSize:]...)
			if !p.read(each) {
				p.lose()
				return
			}
		}
	}
}

// read takes whole messages: type, length in 3 bytes, body.
func (p *prologue) read(each func(kind byte, body []byte) bool) bool {
	for len(p.messages) >= 4 {
		n := 4 + int(p.messages[1])<<16 + int(p.messages[2])<<8 + int(p.messages[3])
		if len(p.messages) < n {
			return true
		}
		if !each(p.messages[0], p.messages[4:n]) {
			return false
		}
		p.messages = p.messages[n:]
	}
	return true
}
