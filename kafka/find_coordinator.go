package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readFindCoordinatorAnswer emits the brokers that are named as coordinators (versions 0 to 6; several from version 4 on,
// KIP-699). The cluster id is unknown here.
func (c *conn) readFindCoordinatorAnswer(m *message, p *pending) reading {
	var a kmsg.FindCoordinatorResponse
	a.SetVersion(p.APIVersion)
	if !m.decode(&a) {
		return unread
	}
	var brokers []Broker
	if p.APIVersion < 4 && a.ErrorCode == 0 {
		brokers = append(brokers, Broker{a.NodeID, a.Host, a.Port})
	}
	for _, found := range a.Coordinators {
		if found.ErrorCode == 0 {
			brokers = append(brokers, Broker{found.NodeID, found.Host, found.Port})
		}
	}
	c.endpointsNamed(m, brokers)
	return fully
}
