package backends

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/zkurl"
)

// Requests returns how many requests all nodes together say that they have handled since
// they started; a question like this one may be among them. What counts as a request is
// the service's own business: a command of Redis; a message from a client of etcd, so
// that each keep-alive and each watch counts, whichever stream it comes on; a packet
// from a client of ZooKeeper, pings among them; a transaction of PostgreSQL, told late.
func (s *Service) Requests(ctx context.Context) (int64, error) {
	var sum int64
	for _, n := range s.Nodes {
		ask := n.spec.Program.requests
		if ask == nil {
			return 0, n.failed(fmt.Errorf("a server of %s is not known to tell how many requests it has handled",
				n.spec.Program.Name))
		}
		handled, err := ask(ctx, n.Addr)
		if err != nil {
			return 0, n.failed(err)
		}
		sum += handled
	}
	return sum, nil
}

// redisRequests asks for total_commands_processed (https://redis.io/docs/latest/commands/info/).
func redisRequests(ctx context.Context, addr string) (int64, error) {
	info, err := askRedis(ctx, addr, "INFO stats")
	if err != nil {
		return 0, err
	}
	return figure("INFO stats", "total_commands_processed", field(info, "total_commands_processed:"))
}

// figure reads the number that a server told under a name.
func figure(where, name, text string) (int64, error) {
	if text == "" {
		return 0, fmt.Errorf("%s tells no %s", where, name)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is %q, no number", where, name, text)
	}
	return n, nil
}

// etcdReceived counts the messages that clients sent, by method
// (https://etcd.io/docs/latest/metrics/).
const etcdReceived = "grpc_server_msg_received_total"

// etcdRequests adds up the messages of every method.
func etcdRequests(ctx context.Context, addr string) (int64, error) {
	at, err := endpoint.Parse(addr)
	if err != nil {
		return 0, err
	}
	client, scheme := direct, "http://"
	if config, err := at.TLS(); err != nil {
		return 0, err
	} else if config != nil {
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		client, scheme = &http.Client{Transport: transport}, "https://"
	}
	body, err := getBy(ctx, client, scheme+at.HostPort()+"/metrics")
	if err != nil {
		return 0, err
	}
	defer body.Close()
	return sumOf(body, etcdReceived)
}

// sumOf adds up the samples of one counter, in the text format of Prometheus.
func sumOf(text io.Reader, name string) (int64, error) {
	sum, seen := 0.0, false
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metrics: %q: %w", lines.Text(), err)
		}
		sum, seen = sum+value, true
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("metrics: %w", err)
	}
	if !seen {
		return 0, fmt.Errorf("the metrics tell no %s", name)
	}
	return int64(sum), nil
}

// zookeeperRequests asks with the four-letter word mntr for the packets received
// (https://zookeeper.apache.org/doc/current/zookeeperAdmin.html#sc_4lw), which
// must be among 4lw.commands.whitelist.
func zookeeperRequests(ctx context.Context, addr string) (int64, error) {
	text, err := zkurl.FourLetters(ctx, addr, nil, "mntr", maxBulk)
	if err != nil {
		return 0, fmt.Errorf("mntr: %w", err)
	}
	return figure("mntr", "zk_packets_received", field(text, "zk_packets_received\t"))
}

// postgresTransactions is the number of transactions that ended in the database
// (https://www.postgresql.org/docs/15/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-VIEW).
const postgresTransactions = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"

// postgresRequests asks for the transactions that have ended. A server process
// reports its own once a second at most, ten seconds after the last, and when
// it ends: so a figure may lack what happened just now.
func postgresRequests(ctx context.Context, addr string) (n int64, err error) {
	conn, err := dialPostgres(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, postgresTransactions).Scan(&n); err != nil {
		return 0, fmt.Errorf("pg_stat_database: %w", err)
	}
	return n, nil
}
