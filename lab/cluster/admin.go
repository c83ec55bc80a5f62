package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Admin asks the brokers past the proxy. Each request names the broker it goes to, since another may be paused.
type Admin struct {
	client *kgo.Client
}

// requestTimeout bounds one administrative request: a paused broker never answers.
const requestTimeout = 15 * time.Second

func newAdmin() (*Admin, error) {
	var seeds []string
	for _, node := range Nodes {
		seeds = append(seeds, Address(node, directPort))
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.ClientID("lab"))
	if err != nil {
		return nil, err
	}
	return &Admin{client: client}, nil
}

// ask sends a request to one node.
func ask[R kmsg.Response](ctx context.Context, a *Admin, node int32, request kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var none R
	response, err := a.client.Broker(int(node)).RetriableRequest(ctx, request)
	if err != nil {
		return none, fmt.Errorf("%s at broker %d: %w", kmsg.NameForKey(request.Key()), node, err)
	}
	return response.(R), nil
}

// sees returns nil when the node answers and knows of so many live brokers.
func (a *Admin) sees(ctx context.Context, node int32, brokers int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	seed := kmsg.NewPtrMetadataRequest()
	seed.Topics = []kmsg.MetadataRequestTopic{}
	response, err := a.client.SeedBrokers()[node-1].RetriableRequest(ctx, seed)
	if err != nil {
		return err
	}
	if have := len(response.(*kmsg.MetadataResponse).Brokers); have < brokers {
		return fmt.Errorf("it knows %d of %d brokers", have, brokers)
	}
	return nil
}

// CreateTopic makes a topic with a partition for each list of replicas; the first of a list leads.
func (a *Admin) CreateTopic(ctx context.Context, name string, replicas [][]int32, configs map[string]string) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	for i, nodes := range replicas {
		p := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		p.Partition, p.Replicas = int32(i), nodes
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, p)
	}
	for key, value := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = key, &value
		topic.Configs = append(topic.Configs, c)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = int32(requestTimeout.Milliseconds())
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, a.client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(response.Topics[0].ErrorCode); err != nil {
		return fmt.Errorf("creating %s: %w", name, err)
	}
	// A broker may hear of the topic a little later than the controller: clients should not.
	for _, node := range Nodes {
		err := poll(ctx, fmt.Sprintf("broker %d to lead its part of %s", node, name), func() error {
			t, err := a.topic(ctx, node, name)
			if err == nil && len(t.Partitions) != len(replicas) {
				err = fmt.Errorf("it knows %d partitions", len(t.Partitions))
			}
			for i := range t.Partitions {
				if t.Partitions[i].Leader < 0 {
					err = fmt.Errorf("partition %d has no leader", t.Partitions[i].Partition)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// topic is what a node knows of a topic.
func (a *Admin) topic(ctx context.Context, node int32, name string) (kmsg.MetadataResponseTopic, error) {
	request := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &name
	request.Topics = append(request.Topics, t)
	response, err := ask[*kmsg.MetadataResponse](ctx, a, node, request)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, err
	}
	if len(response.Topics) != 1 {
		return kmsg.MetadataResponseTopic{}, errors.New("no answer for the topic")
	}
	return response.Topics[0], kerr.ErrorForCode(response.Topics[0].ErrorCode)
}

// Controller returns the active controller's id. A fault should spare it, or leaders cannot be moved meanwhile.
func (a *Admin) Controller(ctx context.Context) (int32, error) {
	request := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, a.client)
	if err != nil {
		return 0, err
	}
	if len(response.Topics) == 0 || len(response.Topics[0].Partitions) == 0 {
		return 0, errors.New("the quorum does not say who leads it")
	}
	return response.Topics[0].Partitions[0].LeaderID, nil
}

// MoveLeader makes a node the leader of a partition, by way of the broker via.
func (a *Admin) MoveLeader(ctx context.Context, via int32, name string, partition, to int32) error {
	t, err := a.topic(ctx, via, name)
	if err != nil {
		return err
	}
	replicas := []int32{to}
	for _, p := range t.Partitions {
		for _, r := range p.Replicas {
			if p.Partition == partition && r != to {
				replicas = append(replicas, r)
			}
		}
	}
	assign := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	at := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	at.Topic = name
	ap := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	ap.Partition, ap.Replicas = partition, replicas
	at.Partitions = append(at.Partitions, ap)
	assign.Topics = append(assign.Topics, at)
	if _, err := ask[*kmsg.AlterPartitionAssignmentsResponse](ctx, a, via, assign); err != nil {
		return err
	}
	elect := kmsg.NewPtrElectLeadersRequest()
	et := kmsg.NewElectLeadersRequestTopic()
	et.Topic, et.Partitions = name, []int32{partition}
	elect.Topics = append(elect.Topics, et)
	elect.TimeoutMillis = 1000
	return poll(ctx, fmt.Sprintf("broker %d to lead %s/%d", to, name, partition), func() error {
		response, err := ask[*kmsg.ElectLeadersResponse](ctx, a, via, elect)
		if err != nil {
			return err
		}
		for _, t := range response.Topics {
			for _, p := range t.Partitions {
				if code := p.ErrorCode; code != 0 && code != kerr.ElectionNotNeeded.Code {
					return kerr.ErrorForCode(code)
				}
			}
		}
		return nil
	})
}

// AwaitInSync returns when every replica of every partition is in sync.
func (a *Admin) AwaitInSync(ctx context.Context) error {
	return poll(ctx, "all replicas to be in sync", func() error {
		request := kmsg.NewPtrMetadataRequest() // all topics
		response, err := request.RequestWith(ctx, a.client)
		if err != nil {
			return err
		}
		for _, t := range response.Topics {
			for _, p := range t.Partitions {
				if len(p.ISR) < len(p.Replicas) || p.Leader < 0 {
					return fmt.Errorf("%s/%d is not", *t.Topic, p.Partition)
				}
			}
		}
		return nil
	})
}
