package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// etcd's timing. A lease is granted for at least one and a half election timeouts, rounded up to whole seconds: so
// leases may be as short as one second. Elections are ten heartbeats, as etcd's own defaults are.
const (
	etcdHeartbeat = 50 * time.Millisecond
	etcdElection  = 500 * time.Millisecond

	etcdClientPort = 2379
	etcdPeerPort   = 2380
)

func startEtcd(ctx context.Context, l launcher, s *Service) (err error) {
	s.Notes = []string{
		fmt.Sprintf("etcd sends heartbeats every %v and elects a leader after %v without; the shortest lease is 1 s.", etcdHeartbeat, etcdElection),
		"etcd does not force its writes to disk; its data lies in memory.",
	}
	if s.Nodes, err = l.addHosts(ctx, "etcd-1", "etcd-2", "etcd-3"); err != nil {
		return err
	}
	var cluster []string
	for _, n := range s.Nodes {
		cluster = append(cluster, fmt.Sprintf("%s=http://%s:%d", n.Name, n.Host.Addr, etcdPeerPort))
	}
	// A new member asks the others whether it is known already, and waits a second for each that listens and does not yet
	// answer. Three that start at once may so wait for each other; the first one alone is refused at once, and then answers the rest.
	for i, n := range s.Nodes {
		if err := l.launchEtcd(n, cluster, i == 1); err != nil {
			return err
		}
		if i == 0 {
			if err := n.await(ctx, n.servesPeers); err != nil {
				return err
			}
		}
	}
	return awaitEtcd(ctx, s.Nodes)
}

// launchEtcd starts a member. One member stands for election before the others: three that do so at once may split the votes.
func (l launcher) launchEtcd(n *Node, cluster []string, stands bool) error {
	return l.launch(n, etcdClientPort, func(data string) *exec.Cmd {
		return self("etcd", "--name", n.Name, "--data-dir", data,
			"--client-url", fmt.Sprintf("http://%s:%d", n.Host.Addr, etcdClientPort),
			"--peer-url", fmt.Sprintf("http://%s:%d", n.Host.Addr, etcdPeerPort),
			"--initial-cluster", strings.Join(cluster, ","),
			"--heartbeat-interval", etcdHeartbeat.String(), "--election-timeout", etcdElection.String(),
			fmt.Sprintf("--initial-election-tick-advance=%t", stands))
	})
}

// direct asks over a connection of its own, and never through a proxy of the environment.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// servesPeers asks a member what a new member will ask it.
func (n *Node) servesPeers(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/members", n.Host.Addr, etcdPeerPort), nil)
	if err != nil {
		return err
	}
	reply, err := direct.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", request.URL, reply.Status)
	}
	return nil
}

// member is what a member says of its cluster.
type member struct {
	node   *Node
	client *clientv3.Client
	leader uint64
}

// awaitEtcd returns when every member names the same leader, answers a linearizable read, and a write has gone through.
func awaitEtcd(ctx context.Context, nodes []*Node) (err error) {
	members := make([]*member, len(nodes))
	for i, n := range nodes {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{n.Addr}, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{grpc.WithNoProxy()}})
		if err != nil {
			return n.failed(err)
		}
		defer c.Close()
		members[i] = &member{node: n, client: c}
	}
	for {
		var up errgroup.Group
		for _, m := range members {
			up.Go(func() error { return m.node.await(ctx, m.ask) })
		}
		if err := up.Wait(); err != nil {
			return err
		}
		if agree(members) {
			break
		}
	}
	return members[0].node.await(ctx, func(ctx context.Context) error {
		_, err := members[0].client.Put(ctx, readyKey, "")
		return err
	})
}

// readyKey is read and written to see that the cluster works. It lies outside of everything that locks use.
const readyKey = "ready"

// ask asks one member who leads, what it is, and for a read that needs a majority.
func (m *member) ask(ctx context.Context) error {
	// A connection that is refused makes gRPC wait for a second, so it gets none to be refused.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.node.Addr)
	if err != nil {
		return err
	}
	conn.Close()
	status, err := m.client.Status(ctx, m.node.Addr)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if status.Leader == 0 {
		return errors.New("no leader is elected yet")
	}
	if _, err := m.client.Get(ctx, readyKey); err != nil {
		return fmt.Errorf("linearizable read: %w", err)
	}
	m.leader, m.node.Version = status.Leader, status.Version
	return nil
}

func agree(members []*member) bool {
	for _, m := range members {
		if m.leader != members[0].leader {
			return false
		}
	}
	return true
}
