package backends

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/lockchaos/lockchaos/hosts/hoststest"
)

// A service that was asked more has handled more.
func TestRequestsAreCounted(t *testing.T) {
	for _, service := range []string{"redis", "etcd"} {
		t.Run(service, func(t *testing.T) {
			network, _ := hoststest.Network(t)
			s, err := Start(t.Context(), network, Spec{Service: service, Logs: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			before, err := s.Requests(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			const more = 50
			ask := asks(t, s)
			for range more {
				if err := ask(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			after, err := s.Requests(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// The questions themselves may be counted, and what members ask one another.
			if after-before < more || after-before > 4*more {
				t.Errorf("%d requests were counted, %d made", after-before, more)
			}
		})
	}
}

// asks returns a function that makes one request of the service's first node.
func asks(t *testing.T, s *Service) func(context.Context) error {
	t.Helper()
	addr := s.Nodes[0].Addr
	if s.Name == "redis" {
		return func(ctx context.Context) error {
			_, err := askRedis(ctx, addr, "PING")
			return err
		}
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{grpc.WithNoProxy()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return func(ctx context.Context) error {
		_, err := c.Get(ctx, "k")
		return err
	}
}

func TestRequestsOfZookeeper(t *testing.T) {
	for _, c := range []struct {
		answer, want string
		n            int64
	}{
		{"zk_version\t3.8.0\nzk_packets_received\t1234\nzk_packets_sent\t9\n", "", 1234},
		{"mntr is not executed because it is not in the whitelist.\n", "mntr tells no zk_packets_received", 0},
		{"zk_packets_received\tmany\n", `is "many", no number`, 0},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if _, err := io.ReadFull(conn, make([]byte, len("mntr"))); err == nil {
				_, _ = io.WriteString(conn, c.answer)
			}
		}()
		n, err := zookeeperRequests(t.Context(), l.Addr().String())
		if n != c.n || (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %d, %v", c.answer, n, err)
		}
	}
}

func TestSumOfACounter(t *testing.T) {
	text := "# HELP a_total x\n# TYPE a_total counter\na_total{m=\"x y\"} 3\na_total{m=\"z\"} 1e+02\na_total_more 7\na_total 2\n"
	if n, err := sumOf(strings.NewReader(text), "a_total"); n != 105 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for text, want := range map[string]string{"b 1\n": "tell no a_total", "a_total x\n": "invalid syntax"} {
		if _, err := sumOf(strings.NewReader(text), "a_total"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A server that is not known to tell is an error that names the node.
func TestRequestsOfTheUnknown(t *testing.T) {
	s := &Service{Nodes: []*Node{{Name: "oracle-1", spec: NodeSpec{Image: "oracle"}}}}
	if _, err := s.Requests(context.Background()); err == nil || !strings.Contains(err.Error(), "oracle-1") {
		t.Errorf("%v", err)
	}
}
