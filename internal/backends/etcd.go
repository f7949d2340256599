package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/etcdurl"
)

// The timing of etcd. A lease is granted for at least one and a half election
// timeouts, rounded up to whole seconds: so leases may be as short as one
// second. Elections are ten heartbeats, as etcd's own defaults are.
const (
	EtcdHeartbeat = 50 * time.Millisecond
	EtcdElection  = 500 * time.Millisecond

	etcdClientPort = 2379
	etcdPeerPort   = 2380
)

var etcdServer = compilable{"etcd", "etcd", "--version", "apt-get install etcd-server"}

// etcdProgram is etcd: compiled into lockchaos, of this machine, or an image.
var etcdProgram = &Program{
	Name: "etcd", Image: "gcr.io/etcd-development/etcd:v3.7.3", requests: etcdRequests,
	Fix: etcdServer.fix(), found: etcdServer.found(),
	// A member may serve gRPC alone, which answers with a frame of HTTP/2:
	// https://www.rfc-editor.org/rfc/rfc9113#section-4.1
	speech: speech{"GET /version HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n", func(answer []byte) error {
		if bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) || bytes.HasPrefix(answer, []byte{0, 0}) {
			return nil
		}
		return errForeign
	}},
}

var etcd = Kind{
	Name:  "etcd",
	About: "three members of the real server, which is " + etcdServer.origin(),
	Alone: true, Clusters: true,
	TTL:   2 * time.Second,
	Slack: 2 * time.Second, // leases are whole seconds, and are looked through every 500 ms
	Nodes: []NodeSpec{etcdNode(1), etcdNode(2), etcdNode(3)},
	Notes: []string{
		fmt.Sprintf("etcd sends heartbeats every %v and elects a leader after %v without; the shortest lease is 1 s.",
			EtcdHeartbeat, EtcdElection),
		"etcd does not force its writes to disk; its data lies in memory.",
	},
	office:   office{"leader", voteEtcd},
	expirer:  expirer{expireEtcd, true},
	election: Election{Lost: " lost leader ", Led: " elected leader ", Changed: " changed leader from "},
	refuser:  etcdRefuser,
	task:     etcdTask,
	next:     etcdNext,
	ready:    awaitEtcd,
	back:     (*Node).awaitMember,
}

func etcdNode(i int) NodeSpec {
	return NodeSpec{Name: fmt.Sprintf("etcd-%d", i), Program: etcdProgram, Port: etcdClientPort}
}

// etcdNext: a new member asks the others whether it is known already, and waits a second
// for each that listens and does not yet answer. Three that start at once may so wait
// for each other; the first one alone is refused at once, and then answers the rest.
func etcdNext(ctx context.Context, launched []*Node) error {
	if len(launched) > 1 {
		return nil
	}
	return launched[0].await(ctx, launched[0].servesPeers)
}

// etcdTask runs a member: the one that is compiled in, or the etcd of this machine or of an image.
func etcdTask(k Kind, n NodeSpec, p Place) (Task, error) {
	var cluster []string
	for _, other := range k.Nodes {
		cluster = append(cluster, fmt.Sprintf("%s=http://%s:%d", other.Name, p.Peers[other.Name], etcdPeerPort))
	}
	members := strings.Join(cluster, ",")
	// One member stands for election before the others: three that do so at
	// once may split the votes.
	stands := fmt.Sprintf("--initial-election-tick-advance=%t", k.index(n.Name) == 1)
	if !p.Contained && isCompiled("etcd") {
		return Task{Args: self("etcd", "--name", n.Name, "--data-dir", p.Data,
			"--client-url", fmt.Sprintf("http://%s:%d", p.Listen, etcdClientPort), "--peer-url",
			fmt.Sprintf("http://%s:%d", p.Listen, etcdPeerPort),
			"--initial-cluster", members, "--heartbeat-interval", EtcdHeartbeat.String(), "--election-timeout",
			EtcdElection.String(), stands)}, nil
	}
	program, err := etcdServer.started(p.Contained)
	if err != nil {
		return Task{}, err
	}
	own := p.Peers[n.Name]
	return Task{Args: []string{program, "--name", n.Name, "--data-dir", p.Data,
		"--listen-client-urls", fmt.Sprintf("http://%s:%d", p.Listen, etcdClientPort), "--advertise-client-urls",
		fmt.Sprintf("http://%s:%d", own, etcdClientPort),
		"--listen-peer-urls", fmt.Sprintf("http://%s:%d", p.Listen, etcdPeerPort), "--initial-advertise-peer-urls",
		fmt.Sprintf("http://%s:%d", own, etcdPeerPort),
		"--initial-cluster", members, "--initial-cluster-state", "new",
		"--heartbeat-interval", millis(EtcdHeartbeat), "--election-timeout", millis(EtcdElection), stands,
		"--unsafe-no-fsync"}}, nil
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// direct asks over a connection of its own, and never through a proxy of the environment.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// servesPeers asks a member what a new member will ask it.
func (n *Node) servesPeers(ctx context.Context) error {
	body, err := get(ctx, fmt.Sprintf("http://%s:%d/members", n.Host.Addr, etcdPeerPort))
	if err != nil {
		return err
	}
	return body.Close()
}

// get asks a server of ours. The caller closes what it answers.
func get(ctx context.Context, url string) (body io.ReadCloser, err error) {
	return getBy(ctx, direct, url)
}

func getBy(ctx context.Context, client *http.Client, url string) (body io.ReadCloser, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	reply, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode != http.StatusOK {
		reply.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, reply.Status)
	}
	return reply.Body, nil
}

// member is what a member says of its cluster.
type member struct {
	node   *Node
	client *clientv3.Client
	leader uint64
}

// awaitEtcd returns when every member names the same leader, answers a
// linearizable read, and a write has gone through.
func awaitEtcd(ctx context.Context, nodes []*Node) (err error) {
	members := make([]*member, len(nodes))
	for i, n := range nodes {
		if members[i], err = n.member(); err != nil {
			return err
		}
		defer members[i].client.Close()
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

// member connects to a member.
func (n *Node) member() (*member, error) {
	c, err := newEtcdClient(n.Addr)
	if err != nil {
		return nil, n.failed(err)
	}
	return &member{node: n, client: c}, nil
}

// awaitMember returns when one member knows a leader and answers a linearizable read.
func (n *Node) awaitMember(ctx context.Context) error {
	m, err := n.member()
	if err != nil {
		return err
	}
	defer m.client.Close()
	return n.await(ctx, m.ask)
}

// newEtcdClient makes a client that connects in the background, and never
// through a proxy of the environment.
func newEtcdClient(addrs ...string) (*clientv3.Client, error) {
	config, err := etcdurl.Config(addrs)
	if err != nil {
		return nil, err
	}
	return clientv3.New(config)
}

// readyKey is read and written to see that the cluster works. It lies outside
// of everything that locks use.
const readyKey = "lockchaos_ready"

// ask asks one member who leads, what it is, and for a read that needs a majority.
func (m *member) ask(ctx context.Context) error {
	// A connection that is refused makes gRPC wait for a second, so it gets none to be refused.
	at, err := endpoint.Parse(m.node.Addr)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at.HostPort())
	if err != nil {
		return err
	}
	conn.Close()
	status, err := m.client.Status(ctx, etcdurl.Of(at))
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
