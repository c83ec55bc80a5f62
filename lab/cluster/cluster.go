package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Ports of every node.
const (
	ProxyPort      = 9092
	brokerPort     = 19092
	directPort     = 29092
	replicaPort    = 9093
	quorumPort     = 9095
	TLSPort        = 9094
	tlsBrokerPort  = 19094
	SASLPort       = 9096
	saslBrokerPort = 19096
)

// SessionTimeout is how long a broker may be silent before the controller takes its leaders away. A broker is paused for
// less than this, unless it is meant to lose them.
const SessionTimeout = 6 * time.Second

// Nodes are the ids of the brokers.
var Nodes = []int32{1, 2, 3}

// Address of a node, with a port.
func Address(node int32, port int) string { return fmt.Sprintf("127.0.0.1%d:%d", node, port) }

// Broker is where a node itself takes the clients' connections.
func Broker(node int32) string { return Address(node, brokerPort) }

// Proxy is where clients believe the node to be.
func Proxy(node int32) string { return Address(node, ProxyPort) }

// Cluster is three running brokers.
type Cluster struct {
	*Admin
	dir   string // configurations, logs of the processes, data
	jars  string
	nodes map[int32]*process
}

type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has been waited for
}

// Start formats and starts the brokers in dir, whose earlier contents are removed; jars is the folder that Fetch filled.
// It returns when all of them answer.
func Start(ctx context.Context, dir, jars string) (*Cluster, error) {
	if err := portsAreFree(); err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, jars: jars, nodes: make(map[int32]*process)}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := c.format(ctx); err != nil {
		return nil, err
	}
	for _, node := range Nodes {
		if err := c.launch(node); err != nil {
			c.Stop()
			return nil, err
		}
	}
	admin, err := newAdmin()
	if err != nil {
		c.Stop()
		return nil, err
	}
	c.Admin = admin
	for _, node := range Nodes {
		if err := c.awaitNode(ctx, node); err != nil {
			c.Stop()
			return nil, err
		}
	}
	return c, nil
}

// portsAreFree says which port another program holds.
func portsAreFree() error {
	for _, node := range Nodes {
		for _, port := range []int{ProxyPort, brokerPort, directPort, replicaPort, quorumPort, TLSPort, tlsBrokerPort, SASLPort, saslBrokerPort} {
			l, err := net.Listen("tcp", Address(node, port))
			if err != nil {
				return fmt.Errorf("is another lab running? %w", err)
			}
			l.Close()
		}
	}
	return nil
}

// launch starts the process of a node.
func (c *Cluster) launch(node int32) error {
	out, err := os.OpenFile(filepath.Join(c.dir, fmt.Sprintf("node%d.log", node)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command("java", "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		AgentFlag(c.jars, c.keyLog(node)), c.SecurityFlag(),
		"-cp", c.dir+":"+filepath.Join(c.jars, "*"), "kafka.Kafka", c.configuration(node))
	cmd.Stdout, cmd.Stderr = out, out
	// Own group: an interrupt at the terminal is the lab's to handle. Should the lab be killed, its brokers go with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, gone: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // killed brokers exit with a signal, which is no news
		close(p.gone)
	}()
	c.nodes[node] = p
	return nil
}

// awaitNode returns when the node answers and is registered as a live broker.
func (c *Cluster) awaitNode(ctx context.Context, node int32) error {
	return poll(ctx, fmt.Sprintf("broker %d to start (see node%d.log in %s)", node, node, c.dir), func() error {
		select {
		case <-c.nodes[node].gone:
			return permanent{errors.New("it ended")}
		default:
			return c.sees(ctx, node, len(c.nodes))
		}
	})
}

// Pause stops a broker's process where it stands, as a long garbage collection does. Resume lets it go on.
func (c *Cluster) Pause(node int32) error { return c.nodes[node].cmd.Process.Signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (c *Cluster) Resume(node int32) error { return c.nodes[node].cmd.Process.Signal(syscall.SIGCONT) }

// Kill ends a broker without a chance to tidy up.
func (c *Cluster) Kill(node int32) error {
	if err := c.nodes[node].cmd.Process.Kill(); err != nil {
		return err
	}
	<-c.nodes[node].gone
	return nil
}

// Restart starts a killed broker again with its data and returns when it has caught up in every partition.
func (c *Cluster) Restart(ctx context.Context, node int32) error {
	if err := c.launch(node); err != nil {
		return err
	}
	if err := c.awaitNode(ctx, node); err != nil {
		return err
	}
	return c.AwaitInSync(ctx)
}

// Stop ends all brokers and waits for their end.
func (c *Cluster) Stop() {
	if c.Admin != nil {
		c.client.Close()
	}
	for _, p := range c.nodes {
		_ = p.cmd.Process.Kill() // the data is thrown away: no reason to wait for an orderly end
	}
	for _, p := range c.nodes {
		<-p.gone
	}
}

// permanent is an error that waiting does not cure.
type permanent struct{ error }

// poll calls f until it succeeds. It gives up at a permanent error, at the end of ctx and after two minutes.
func poll(ctx context.Context, what string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := f()
		var p permanent
		switch {
		case err == nil:
			return nil
		case errors.As(err, &p):
			return fmt.Errorf("waiting for %s: %w", what, p.error)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
