package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// Creating is a CreateTopics request that has been sent.
type Creating struct {
	Pending
	topic string
}

// CreateTopics creates one topic (version 0–7).
func (c *Conn) CreateTopics(version int16, topic string) *Creating {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = version
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, 1, 1
	req.Topics = append(req.Topics, t)
	return &Creating{*c.Request(req), topic}
}

// Answer says that it is created; from version 7 on with its id.
func (t *Creating) Answer() {
	resp := kmsg.NewPtrCreateTopicsResponse()
	r := kmsg.NewCreateTopicsResponseTopic()
	r.Topic, r.TopicID = t.topic, t.conn.scenario.TopicID(t.topic)
	r.NumPartitions, r.ReplicationFactor = 1, 1
	resp.Topics = append(resp.Topics, r)
	t.Respond(resp)
}

// Deleting is a DeleteTopics request that has been sent.
type Deleting struct {
	Pending
	topic string
}

// DeleteTopics deletes one topic by name (version 0–6).
func (c *Conn) DeleteTopics(version int16, topic string) *Deleting {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = version, []string{topic}
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &topic
	req.Topics = append(req.Topics, t)
	return &Deleting{*c.Request(req), topic}
}

// Answer says that it is deleted. A topic of the same name has another id from here on.
func (t *Deleting) Answer() {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	r := kmsg.NewDeleteTopicsResponseTopic()
	r.Topic, r.TopicID = &t.topic, t.conn.scenario.TopicID(t.topic)
	resp.Topics = append(resp.Topics, r)
	t.Respond(resp)
	t.conn.scenario.lives[t.topic]++
}
