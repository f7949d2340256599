package backends

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint/consulurl"
)

const (
	consulPort     = 8500
	consulRaftPort = 8300
)

// builtConsul is the server that scripts/servers builds.
const builtConsul = built("consul")

var consulProgram = &Program{
	Name: "consul", Image: "hashicorp/consul:1.14", Fix: builtConsul.install(), requests: consulRequests,
	found: func(ctx context.Context) (string, error) { return builtConsul.says(ctx, "version") },
	speech: speech{"GET /v1/status/leader HTTP/1.0\r\n\r\n", func(answer []byte) error {
		if bytes.Contains(answer, []byte("X-Consul-")) {
			return nil
		}
		return errForeign
	}},
}

var consul = Kind{
	Name:  "consul",
	About: "three Consul servers",
	Nodes: []NodeSpec{consulNode(1), consulNode(2), consulNode(3)},
	Notes: []string{
		"Consul keeps a session for up to twice its TTL, and longer after a new leader was elected. Its shortest TTL, 10 s by default, is set to 1 s.",
		"Its servers tell of each other every 200 ms instead of every second, and elect a leader after about a second without.",
	},
	Alone: true,
	TTL:   2 * time.Second,
	// the lock-delay, 15 s if it is not set, and 5 s after which the library
	// asks again that has met it
	Slack:    20 * time.Second,
	Doubles:  true,
	office:   office{"leader", voteConsul},
	expirer:  expirer{expireConsul, true},
	election: Election{Lost: "cluster leadership lost", Led: "New leader elected"},
	task:     consulTask,
	ready:    awaitConsul,
	back:     (*Node).awaitConsulServer,
}

func consulNode(i int) NodeSpec {
	return NodeSpec{Name: fmt.Sprintf("consul-%d", i), Program: consulProgram, Port: consulPort}
}

// consulSettings are those of a small cluster that is to notice soon
// (https://developer.hashicorp.com/consul/docs/agent/config/config-files). The prometheus
// metrics count requests from the server's start on; the others cover ten seconds.
const consulSettings = `performance { raft_multiplier = 1 }
session_ttl_min = "1s"
gossip_lan { gossip_interval = "50ms", probe_interval = "200ms", probe_timeout = "100ms" }
ports { dns = -1, grpc = -1, grpc_tls = -1, serf_wan = -1 }
connect { enabled = false }
limits { http_max_conns_per_client = 10000 }
autopilot { cleanup_dead_servers = false }
telemetry { prometheus_retention_time = "24h", disable_hostname = true }
disable_update_check = true
leave_on_terminate = false
`

func consulTask(k Kind, n NodeSpec, p Place) (Task, error) {
	t := Task{Args: []string{"consul", "agent", "-server", "-node", n.Name, "-bootstrap-expect",
		strconv.Itoa(len(k.Nodes)),
		"-data-dir", p.Data, "-hcl", consulSettings, "-client", p.Listen, "-bind", p.Listen, "-retry-interval",
		"100ms"}}
	for _, other := range k.Nodes {
		if other.Name != n.Name {
			t.Args = append(t.Args, "-retry-join", p.Peers[other.Name])
		}
	}
	if p.Contained {
		return t, nil
	}
	program, err := builtConsul.find()
	t.Args[0] = program
	return t, err
}

// awaitConsul returns when every server answers as one of a cluster with a
// leader, and a write has gone through.
func awaitConsul(ctx context.Context, nodes []*Node) error {
	if err := each((*Node).awaitConsulServer)(ctx, nodes); err != nil {
		return err
	}
	return nodes[0].await(ctx, func(ctx context.Context) error {
		return askConsul(ctx, nodes[0].Addr, http.MethodPut, "kv/"+readyKey, nil)
	})
}

// awaitConsulServer returns when a server knows a leader and answers a read
// that the leader has confirmed. It learns the version.
func (n *Node) awaitConsulServer(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error {
		var self struct{ Config struct{ Version string } }
		if err := askConsul(ctx, n.Addr, http.MethodGet, "agent/self", &self); err != nil {
			return err
		}
		n.Version = self.Config.Version
		return askConsul(ctx, n.Addr, http.MethodGet, "kv/"+readyKey+"?consistent", nil)
	})
}

// askConsul asks a server for something of its HTTP API. Where there is
// nothing, which it answers with 404, the answer stays as it is.
func askConsul(ctx context.Context, addr, method, what string, answer any) error {
	return requestConsul(ctx, addr, method, what, func(body io.Reader) error {
		if answer == nil {
			return nil
		}
		return json.NewDecoder(io.LimitReader(body, maxBulk)).Decode(answer)
	})
}

// requestConsul makes a request of a server, over a connection of its own, and has what it answers
// read, if there is anything.
func requestConsul(ctx context.Context, addr, method, what string, read func(io.Reader) error) error {
	config, transport, err := consulurl.Config([]string{addr}, nil)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	at := config.Scheme + "://" + config.Address + "/v1/" + what
	request, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Consul-Token", config.Token)
	reply, err := config.HttpClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	switch reply.StatusCode {
	case http.StatusOK:
		err = read(reply.Body)
	case http.StatusNotFound:
	default:
		said, _ := io.ReadAll(io.LimitReader(reply.Body, maxBulk))
		err = fmt.Errorf("%s: %s", reply.Status, bytes.TrimSpace(said))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// voteConsul: a server tells the address of the leader that it knows.
func voteConsul(ctx context.Context, s *Service, n *Node) (string, error) {
	var leader string
	if err := askConsul(ctx, n.Addr, http.MethodGet, "status/leader", &leader); err != nil {
		return "", err
	}
	for _, other := range s.Nodes {
		if leader == net.JoinHostPort(other.Host.Addr.String(), strconv.Itoa(consulRaftPort)) {
			return other.Name, nil
		}
	}
	return "", nil
}

// consulRequests adds up what the prometheus metrics tell of requests to the HTTP API.
func consulRequests(ctx context.Context, addr string) (sum int64, err error) {
	err = requestConsul(ctx, addr, http.MethodGet, "agent/metrics?format=prometheus", func(body io.Reader) error {
		lines := bufio.NewScanner(io.LimitReader(body, 16*maxBulk))
		for lines.Scan() {
			line := lines.Text()
			if !strings.HasPrefix(line, "consul_api_http_count") {
				continue
			}
			n, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				return fmt.Errorf("metrics: %q: %w", line, err)
			}
			sum += int64(n)
		}
		return lines.Err()
	})
	return sum, err
}

// expireConsul destroys the client's sessions, as an operator would.
func expireConsul(ctx context.Context, s *Service, c Client) (ended []string, err error) {
	for _, session := range c.Sessions {
		id := string(session.Password)
		err := s.anyNode(ctx, func(ctx context.Context, n *Node) error {
			had, err := consulSession(ctx, n, id)
			if err != nil || !had {
				return err
			}
			if err := askConsul(ctx, n.Addr, http.MethodPut, "session/destroy/"+url.PathEscape(id), nil); err != nil {
				return err
			}
			if still, err := consulSession(ctx, n, id); err != nil || still {
				return errors.Join(errors.New("it was destroyed, and is there"), err)
			}
			ended = append(ended, fmt.Sprintf("Consul (%s) destroyed session %s; it knows of no such session any more",
				n.Name, id))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("session %q: %w", id, err)
		}
	}
	return ended, nil
}

// consulSession reports whether there is the session.
func consulSession(ctx context.Context, n *Node, id string) (bool, error) {
	var found []struct{ ID string }
	err := askConsul(ctx, n.Addr, http.MethodGet, "session/info/"+url.PathEscape(id)+"?consistent", &found)
	return len(found) > 0, err
}
