package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed pom.xml
var pom []byte

// Fetch brings the jars of Apache Kafka from Maven into dir, unless they are there.
func Fetch(ctx context.Context, dir string) error {
	whole := filepath.Join(dir, ".complete") // holds the pom that the jars were fetched for
	if have, err := os.ReadFile(whole); err == nil && string(have) == string(pom) {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mvn: %w\n%s", err, out)
	}
	return os.WriteFile(whole, pom, 0o644)
}

const clusterID = "4L6g3nShT-eMCtK--X86sw" // any 16 bytes in base64

func (c *Cluster) configuration(node int32) string {
	return filepath.Join(c.dir, fmt.Sprintf("node%d.properties", node))
}

// format writes each node's configuration and makes its data folder.
func (c *Cluster) format(ctx context.Context) error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	const logging = "org.slf4j.simpleLogger.defaultLogLevel=warn\norg.slf4j.simpleLogger.showDateTime=true\n"
	if err := os.WriteFile(filepath.Join(c.dir, "simplelogger.properties"), []byte(logging), 0o644); err != nil {
		return err
	}
	if err := c.prepareTLS(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, len(Nodes))
	for i, node := range Nodes {
		if err := os.WriteFile(c.configuration(node), []byte(c.properties(node)), 0o644); err != nil {
			return err
		}
		wg.Go(func() {
			out, err := exec.CommandContext(ctx, "java", "-Xmx128m", "-cp", c.dir+":"+filepath.Join(c.jars, "*"),
				"kafka.tools.StorageTool", "format", "-t", clusterID, "-c", c.configuration(node),
				"--add-scram", fmt.Sprintf("SCRAM-SHA-256=[name=%s,password=%s]", User, Password)).CombinedOutput()
			if err != nil {
				errs[i] = fmt.Errorf("formatting node %d: %w\n%s", node, err, out)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// properties is a node's server.properties.
func (c *Cluster) properties(node int32) string {
	var voters []string
	for _, n := range Nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", n, Address(n, quorumPort)))
	}
	lines := []string{
		"process.roles=broker,controller",
		fmt.Sprintf("node.id=%d", node),
		"controller.quorum.voters=" + strings.Join(voters, ","),
		fmt.Sprintf("listeners=CLIENT://%s,DIRECT://%s,REPLICA://%s,CONTROLLER://%s,TLS://%s,SASLTLS://%s",
			Broker(node), Address(node, directPort), Address(node, replicaPort), Address(node, quorumPort), TLSBroker(node, false), TLSBroker(node, true)),
		fmt.Sprintf("advertised.listeners=CLIENT://%s,DIRECT://%s,REPLICA://%s,TLS://%s,SASLTLS://%s",
			Proxy(node), Address(node, directPort), Address(node, replicaPort), TLSRelay(node, false), TLSRelay(node, true)),
		"listener.security.protocol.map=CLIENT:PLAINTEXT,DIRECT:PLAINTEXT,REPLICA:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,SASLTLS:SASL_SSL",
		"inter.broker.listener.name=REPLICA",
		"controller.listener.names=CONTROLLER",
		"log.dirs=" + filepath.Join(c.dir, fmt.Sprintf("data%d", node)),
		"auto.create.topics.enable=false",
		"auto.leader.rebalance.enable=false", // leaders move only when the lab moves them
		"default.replication.factor=3",
		"min.insync.replicas=2", // a paused follower does not stop producers for good
		"offsets.topic.num.partitions=3",
		"transaction.state.log.num.partitions=3",
		"transaction.state.log.replication.factor=3",
		"transaction.state.log.min.isr=2",
		"share.coordinator.state.topic.num.partitions=1",
		"replica.lag.time.max.ms=30000", // a paused follower stays in sync: what it lacks is not committed
		fmt.Sprintf("broker.session.timeout.ms=%d", SessionTimeout.Milliseconds()),
		"broker.heartbeat.interval.ms=500",
		"num.network.threads=2",
		"num.io.threads=4",
		"log.cleaner.dedupe.buffer.size=16777216",
		"log.segment.bytes=16777216",
	}
	return strings.Join(append(lines, c.tlsProperties()...), "\n") + "\n"
}
