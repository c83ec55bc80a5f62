package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readAPIVersionsRequest emits what the client says of itself (versions 0 to 5; its software from version 3 on, KIP-511).
func (c *conn) readAPIVersionsRequest(m *message, p *pending) reading {
	var q kmsg.ApiVersionsRequest
	q.SetVersion(p.APIVersion)
	if !m.decode(&q) {
		return unread
	}
	if q.ClientSoftwareName != "" || q.ClientSoftwareVersion != "" {
		c.named = true
		c.d.emit(&ClientNamed{
			Seen: m.seen(c), ClientID: p.ClientID, SoftwareName: q.ClientSoftwareName, SoftwareVersion: q.ClientSoftwareVersion,
		})
	}
	return fully
}

// readAPIVersionsAnswer only finds out whether the answer can be read: it says nothing that is of use. A broker that does
// not know the version of the request answers in version 0, with UNSUPPORTED_VERSION (35).
func (c *conn) readAPIVersionsAnswer(m *message, p *pending) reading {
	const unsupportedVersion = 35
	var a, old kmsg.ApiVersionsResponse
	a.SetVersion(p.APIVersion)
	return readIf(m.decode(&old) && old.ErrorCode == unsupportedVersion || m.decode(&a))
}
