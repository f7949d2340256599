package redisurl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Client makes a client of one server, or of a cluster where the addresses are those of its nodes,
// and returns its addresses for people to read. It connects with the first call, and sends what it
// is told to once (see Options): a node that refuses a command and names another is obeyed. dial is
// that of Options. limit changes the options first; nil: nothing.
func Client(addrs []string, dial endpoint.Dial, limit func(*goredis.Options)) (goredis.UniversalClient, string, error) {
	if len(addrs) == 0 {
		return nil, "", errors.New("no address of a redis server was given")
	}
	at, err := endpoint.Parse(addrs[0])
	if err != nil {
		return nil, "", fmt.Errorf("redis: %w", err)
	}
	if len(addrs) > 1 && !at.Clusters() {
		return nil, "", fmt.Errorf("a lock on one redis server was given %d addresses; configure exactly one", len(addrs))
	}
	o, err := Options(addrs[0], dial)
	if err != nil {
		return nil, "", err
	}
	if limit != nil {
		limit(o)
	}
	if !at.Clusters() {
		return goredis.NewClient(o), o.Addr, nil // errors show no password
	}
	nodes := make([]string, len(addrs))
	for i, addr := range addrs {
		node, err := endpoint.Parse(addr)
		if err != nil {
			return nil, "", fmt.Errorf("redis: %w", err)
		}
		nodes[i] = node.HostPort()
	}
	return clusterClient(nodes, o), strings.Join(nodes, ", "), nil
}

// clusterClient is a client of the nodes, each reached as the options say.
func clusterClient(nodes []string, o *goredis.Options) *goredis.ClusterClient {
	c := goredis.NewClusterClient(&goredis.ClusterOptions{
		Addrs: nodes, Dialer: o.Dialer, Username: o.Username, Password: o.Password,
		Protocol: o.Protocol, DialerRetries: o.DialerRetries, PoolSize: o.PoolSize,
		// asking which node has what has no context: go-redis' own limit, where there is none
		ReadTimeout: max(o.ReadTimeout, 0), WriteTimeout: max(o.WriteTimeout, 0), ContextTimeoutEnabled: o.ContextTimeoutEnabled,
		DisableIdentity: o.DisableIdentity, MaintNotificationsConfig: o.MaintNotificationsConfig,
		DisableRoutingPolicies: true, // each command is of one key
	})
	c.OnNewNode(func(node *goredis.Client) { node.AddHook(unanswered{}) })
	c.AddHook(answered{client: c})
	return c
}

// silent is the error of what was sent, perhaps, and not answered. go-redis sends that again; it
// does not look into this one.
type silent struct{ err error }

func (s silent) Error() string { return s.err.Error() }

// unanswered is a hook of one node: it hides what go-redis would send again.
type unanswered struct{ goredis.Hook }

func (unanswered) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (unanswered) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		_, answer := errors.AsType[goredis.Error](err)
		if op, is := errors.AsType[*net.OpError](err); err == nil || answer || is && op.Op == "dial" {
			return err
		}
		return silent{err}
	}
}

func (unanswered) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// answered is a hook of the cluster's client: it shows the errors again, and has the client ask
// which node has what by now.
type answered struct {
	goredis.Hook
	client *goredis.ClusterClient
}

func (answered) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (a answered) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if hidden, is := err.(silent); is {
			a.client.ReloadState(context.WithoutCancel(ctx))
			cmd.SetErr(hidden.err)
			return hidden.err
		}
		return err
	}
}

func (answered) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}
