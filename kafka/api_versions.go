package kafka

// Every connection begins with an ApiVersions exchange, and most of what it says is of no use here. So it is read without kmsg,
// which would make lists of it.

// readAPIVersionsRequest emits what the client says of itself (versions 0 to 5; its software from version 3 on, KIP-511).
func (c *conn) readAPIVersionsRequest(m *message, p *pending) reading {
	if !m.whole() || p.APIVersion < 3 {
		return readIf(m.whole())
	}
	w := walk{reader: reader{data: m.body()}, size: m.bodySize(), flexible: true}
	name, version := w.text("client_software_name"), w.text("client_software_version")
	if p.APIVersion >= 5 { // the broker that the client means to reach (KIP-1242)
		w.text("cluster_id")
		w.int32("node_id")
	}
	w.tags()
	if !w.ok() {
		return unread
	}
	if len(name) > 0 || len(version) > 0 {
		c.named = true
		c.d.emit(&ClientNamed{
			Seen: m.seen(c), ClientID: p.ClientID, SoftwareName: c.d.intern(name), SoftwareVersion: c.d.intern(version),
		})
	}
	return fully
}

// readAPIVersionsAnswer only finds out whether the answer can be read: it says nothing that is of use. A broker that does
// not know the version of the request answers in version 0, with UNSUPPORTED_VERSION (35).
func (c *conn) readAPIVersionsAnswer(m *message, p *pending) reading {
	const unsupportedVersion = 35
	if !m.whole() {
		return unread
	}
	if errorCode, ok := walkAPIVersions(m.body(), 0); ok && errorCode == unsupportedVersion {
		return fully
	}
	_, ok := walkAPIVersions(m.body(), p.APIVersion)
	return readIf(ok)
}

// walkAPIVersions walks over an ApiVersions response.
func walkAPIVersions(body []byte, version int16) (errorCode int16, ok bool) {
	w := walk{reader: reader{data: body}, size: len(body), flexible: flexible(keyAPIVersions, version)}
	errorCode = w.int16("error_code")
	for n := w.count(6, "api_keys"); n > 0 && w.ok(); n-- {
		w.take(6, "api_key")
		w.tags()
	}
	if version >= 1 {
		w.int32("throttle_time_ms")
	}
	w.tags()
	return errorCode, w.ok()
}
