package backends

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockchaos/lockchaos/internal/endpoint/natsurl"
)

const (
	natsPort        = 4222
	natsClusterPort = 6222
	natsMonitorPort = 8222
)

var natsServer = compilable{"nats", "nats-server", "--version", "apt-get install nats-server"}

// natsProgram is the NATS server: compiled into lockchaos, of this machine, or an image.
var natsProgram = &Program{
	Name: "nats", Image: "nats:2.12", requests: natsRequests,
	Fix: natsServer.fix(), found: natsServer.found(),
	speech: speech{"PING\r\n", func(answer []byte) error {
		if bytes.HasPrefix(answer, []byte("INFO {")) {
			return nil
		}
		return errForeign
	}},
}

var nats = Kind{
	Name:  "nats",
	About: "three NATS servers with JetStream, which are " + natsServer.origin(),
	Nodes: []NodeSpec{natsNode(1), natsNode(2), natsNode(3)},
	Notes: []string{
		"JetStream keeps the keys on all three servers. It elects a new leader 4 to 9 s after it has lost one, which can't be set.",
		"Keys expire by the servers' clock on the wall, looked at once a second.",
	},
	Alone:     true,
	TTL:       2 * time.Second,
	WallClock: true,
	// expiry is looked at once a second, and a time to live is made whole seconds
	Slack:    3 * time.Second,
	office:   office{"leader", voteNATS},
	election: Election{Lost: "has NO quorum, stalled", Led: "new stream leader for"},
	task:     natsTask,
	ready:    awaitNATS,
	back:     (*Node).awaitNATSServer,
}

func natsNode(i int) NodeSpec {
	return NodeSpec{Name: fmt.Sprintf("nats-%d", i), Program: natsProgram, Port: natsPort}
}

func natsTask(k Kind, n NodeSpec, p Place) (Task, error) {
	var routes []string
	for _, other := range k.Nodes {
		routes = append(routes, fmt.Sprintf("nats://%s:%d", p.Peers[other.Name], natsClusterPort))
	}
	args := []string{"-n", n.Name, "-a", p.Listen, "-p", strconv.Itoa(natsPort), "-m", strconv.Itoa(natsMonitorPort),
		"-js", "-sd", p.Data,
		"--cluster_name", "lockchaos", "--cluster", fmt.Sprintf("nats://%s:%d", p.Listen, natsClusterPort), "--routes",
		strings.Join(routes, ",")}
	if !p.Contained && isCompiled("nats") {
		return Task{Args: self(append([]string{"nats"}, args...)...)}, nil
	}
	program, err := natsServer.started(p.Contained)
	return Task{Args: append([]string{program}, args...)}, err
}

// awaitNATS returns when every server answers and the bucket is there, which
// needs an elected leader and a majority that has written it down.
func awaitNATS(ctx context.Context, nodes []*Node) error {
	if err := each((*Node).awaitNATSServer)(ctx, nodes); err != nil {
		return err
	}
	return nodes[0].await(ctx, nodes[0].makesBucket)
}

// awaitNATSServer returns when one server says that it is healthy: it is in the
// cluster, and its JetStream has caught up. It learns the version.
func (n *Node) awaitNATSServer(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error {
		if n.lent { // what it says of its health is for its operator
			return n.connectNATS(ctx, func(conn *natsgo.Conn) error {
				n.Version = conn.ConnectedServerVersion()
				return nil
			})
		}
		var about struct{ Version string }
		if err := n.askNATS(ctx, "varz", &about); err != nil {
			return err
		}
		n.Version = about.Version
		return n.askNATS(ctx, "healthz", &struct{}{}) // 503 while it is not
	})
}

// askNATS asks the server's monitoring port
// (https://docs.nats.io/running-a-nats-service/nats_admin/monitoring).
func (n *Node) askNATS(ctx context.Context, what string, answer any) error {
	return askNATS(ctx, n.Host.Addr.String(), what, answer)
}

func askNATS(ctx context.Context, host, what string, answer any) error {
	url := fmt.Sprintf("http://%s/%s", net.JoinHostPort(host, strconv.Itoa(natsMonitorPort)), what)
	body, err := get(ctx, url)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, maxBulk)).Decode(answer); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// makesBucket makes the bucket, or finds it.
func (n *Node) makesBucket(ctx context.Context) error {
	return n.connectNATS(ctx, func(conn *natsgo.Conn) error {
		_, err := natsurl.Bucket(ctx, conn)
		return err
	})
}

// connectNATS does something with a connection to the server.
func (n *Node) connectNATS(ctx context.Context, do func(*natsgo.Conn) error) error {
	conn, err := natsurl.Connect(ctx, []string{n.Addr}, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}

// voteNATS: the leader of the bucket is who all writes go through. A server says so of itself.
func voteNATS(ctx context.Context, _ *Service, n *Node) (string, error) {
	if n.lent {
		return n.leadsBucket(ctx)
	}
	var all struct {
		Accounts []struct {
			Streams []struct {
				Name    string
				Cluster struct{ Leader string }
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := n.askNATS(ctx, "jsz?streams=true", &all); err != nil {
		return "", err
	}
	for _, account := range all.Accounts {
		for _, s := range account.Streams {
			if s.Name == natsurl.Stream && s.Cluster.Leader == n.Name {
				return n.Name, nil
			}
		}
	}
	return "", nil
}

// leadsBucket asks, as any client may, for the leader's name, which any server tells.
func (n *Node) leadsBucket(ctx context.Context) (leader string, err error) {
	err = n.connectNATS(ctx, func(conn *natsgo.Conn) error {
		js, err := jetstream.New(conn)
		if err != nil {
			return err
		}
		stream, err := js.Stream(ctx, natsurl.Stream)
		if err != nil {
			return err
		}
		if c := stream.CachedInfo().Cluster; c != nil && c.Leader == conn.ConnectedServerName() {
			leader = n.Name
		}
		return nil
	})
	return leader, err
}

// natsRequests asks for the messages that clients have sent.
func natsRequests(ctx context.Context, addr string) (int64, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	var about struct {
		In int64 `json:"in_msgs"`
	}
	err = askNATS(ctx, host, "varz", &about)
	return about.In, err
}
