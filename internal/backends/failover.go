package backends

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockchaos/lockchaos/internal/logins"
)

// The sentinels' timing. Their defaults are made for operators: 30 s of silence until a server
// counts as down, three minutes for a failover, hellos every 2 s and a look at the primary's
// replicas every 10 s. Here a failover takes about a second, so the intervals go down with it.
const (
	sentinelPort     = 26379
	sentinelQuorum   = 2
	sentinelDown     = 500 * time.Millisecond // until a server that does not answer counts as down
	sentinelFailover = 3 * time.Second        // a failover that takes longer is tried again
)

// sentinelPace are set by SENTINEL DEBUG, in ms: a configuration file does not
// take them. A replica is promoted only if its last INFO is no older than five
// ping periods (sentinelSelectSlave in Redis' sentinel.c), and while the primary
// is down that is asked for once a second, whatever info-period says: shorter
// pings than these leave it to chance whether there is a replica to promote.
var sentinelPace = []string{"info-period 200", "publish-period 200", "ping-period 300", "tilt-period 1000",
	"ask-period 100"}

var redisFailover = Kind{
	Name:      "redis-failover",
	About:     "a primary, its replica, and three sentinels that promote the replica when the primary is silent; clients ask the sentinels",
	WallClock: true,
	office:    office{"primary", voteSentinel},
	Slack:     500 * time.Millisecond,
	Nodes: []NodeSpec{
		{Name: "redis-1", Program: redisProgram, Port: redisPort, Behind: true},
		{Name: "redis-2", Program: redisProgram, Port: redisPort, Behind: true},
		{Name: "sentinel-1", Program: redisProgram, Port: sentinelPort},
		{Name: "sentinel-2", Program: redisProgram, Port: sentinelPort},
		{Name: "sentinel-3", Program: redisProgram, Port: sentinelPort},
	},
	Notes: []string{
		redisForgets,
		fmt.Sprintf("Replication is asynchronous, as Redis' is; the sentinels (quorum %d of 3) take a server that is silent for %v for down.", sentinelQuorum, sentinelDown),
	},
	Forgets: true,
	task:    failoverTask,
	next:    failoverNext,
	ready:   awaitFailover,
	back:    failoverBack,
}

func failoverTask(k Kind, n NodeSpec, p Place) (Task, error) {
	program := "redis-server"
	if !p.Contained {
		found, _, err := FindRedis()
		if err == nil && found == "" {
			err = &Lack{"the stand-in has no replication", redisFix()}
		}
		if err != nil {
			return Task{}, err
		}
		program = found
	}
	primary := k.Nodes[0]
	// A replica gets the data at once, not after the five seconds for which a
	// primary waits for more of them.
	t := redisServer(program, n, p, "--repl-diskless-sync-delay", "0")
	switch k.index(n.Name) {
	case 0:
	case 1:
		t.Args = append(t.Args, "--replicaof", p.Peers[primary.Name], strconv.Itoa(primary.Port))
	default:
		t.Args = []string{program, p.Data + "/sentinel.conf", "--sentinel"}
		t.Files = map[string]string{"sentinel.conf": sentinelConfig(primary, n, p) + redisUser(program, p)}
	}
	return t, nil
}

func sentinelConfig(primary, n NodeSpec, p Place) string {
	return strings.Join([]string{
		"bind " + p.Listen,
		"port " + strconv.Itoa(n.Port),
		"dir " + strconv.Quote(p.Data),
		"protected-mode no",
		"daemonize no",
		`logfile ""`,
		"sentinel resolve-hostnames yes",
		fmt.Sprintf("sentinel monitor %s %s %d %d", logins.RedisPrimary, p.Peers[primary.Name], primary.Port,
			sentinelQuorum),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", logins.RedisPrimary, sentinelDown.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s %d", logins.RedisPrimary, sentinelFailover.Milliseconds()),
		fmt.Sprintf("sentinel parallel-syncs %s 1", logins.RedisPrimary),
	}, "\n") + "\n"
}

// failoverNext: a replica can ask for the data as soon as there is a primary,
// and a sentinel that finds the replica in place need not look again.
func failoverNext(ctx context.Context, launched []*Node) error {
	switch len(launched) {
	case 1:
		return launched[0].awaitRedis(ctx)
	case 2:
		return launched[0].await(ctx, launched[0].hasReplica)
	}
	return nil
}

// hasReplica reports whether a replica is in sync.
func (n *Node) hasReplica(ctx context.Context) error {
	info, err := askRedis(ctx, n.Addr, "INFO replication")
	if err != nil {
		return err
	}
	if !strings.Contains(field(info, "slave0:"), "state=online") {
		return fmt.Errorf("its replica is not in sync: %s", field(info, "slave0:"))
	}
	return nil
}

// awaitFailover returns when the replica is in sync and every sentinel knows
// the primary, the replica and the other sentinels.
func awaitFailover(ctx context.Context, nodes []*Node) error {
	if err := each((*Node).awaitRedis)(ctx, nodes); err != nil {
		return err
	}
	if nodes[0].lent { // how many there are, and how they are set, is for their operator
		return nil
	}
	if err := nodes[0].await(ctx, nodes[0].hasReplica); err != nil {
		return err
	}
	up, ctx := errgroup.WithContext(ctx)
	for _, n := range nodes[2:] {
		up.Go(func() error {
			if err := n.await(ctx, n.hurry); err != nil {
				return err
			}
			return n.await(ctx, n.knowsAll)
		})
	}
	return up.Wait()
}

// failoverBack: a sentinel that was started again has forgotten its intervals;
// all else it has written down.
func failoverBack(n *Node, ctx context.Context) error {
	if err := n.awaitRedis(ctx); err != nil || n.spec.Port != sentinelPort {
		return err
	}
	return n.await(ctx, n.hurry)
}

// hurry sets a sentinel's intervals. One from before Redis 7 has no such
// command, and takes its time.
func (n *Node) hurry(ctx context.Context) error {
	for _, p := range sentinelPace {
		_, err := askRedis(ctx, n.Addr, "SENTINEL DEBUG "+p)
		if refused := new(redisError); errors.As(err, refused) {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// knowsAll reports whether a sentinel sees the primary up, with one replica, and
// could have a failover authorised by the others.
func (n *Node) knowsAll(ctx context.Context) error {
	info, err := askRedis(ctx, n.Addr, "INFO sentinel")
	if err != nil {
		return err
	}
	master := field(info, "master0:")
	for _, want := range []string{"name=" + logins.RedisPrimary + ",", "status=ok,", "slaves=1,", "sentinels=3"} {
		if !strings.Contains(master, want) {
			return fmt.Errorf("sentinel: %q lacks %q", master, strings.TrimSuffix(want, ","))
		}
	}
	_, err = askRedis(ctx, n.Addr, "SENTINEL CKQUORUM "+logins.RedisPrimary)
	return err
}
