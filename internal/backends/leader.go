package backends

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint/zkurl"
)

// leaderLimit bounds how long a service may be without a leader, or a primary,
// when it is asked for it.
const leaderLimit = 10 * time.Second

// office is what a service calls the node that decides for the others, and how
// its nodes are asked for it; the zero value: it has none.
type office struct {
	// name is the service's word: "leader" or "primary".
	name string
	// vote asks one node for the name of the node that it takes for the leader;
	// "": it does not know, or is not the one to say.
	vote func(ctx context.Context, s *Service, n *Node) (string, error)
}

// Leads is what the service calls the node that decides for the others:
// "leader", "primary", or "" if it has none.
func (k Kind) Leads() string { return k.office.name }

// Leader asks all nodes who is the leader, or the primary, and returns the name of that node:
// the one that most of those who answer say it is. While none is elected it asks again.
func (s *Service) Leader(ctx context.Context) (name string, err error) {
	k, _ := Lookup(s.Name)
	o := k.office
	if o.vote == nil {
		return "", fmt.Errorf("service %q has no leader and no primary", s.Name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, leaderLimit, fmt.Errorf("there was none for %v", leaderLimit))
	defer cancel()
	for step := firstStep; ; step = longer(step) {
		name, err := s.elected(ctx, o)
		if name != "" {
			return name, nil
		}
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return "", fmt.Errorf("ask the nodes of %s for their %s: %w", s.Name, o.name,
				errors.Join(context.Cause(ctx), err))
		}
	}
}

// elected asks every node once, and returns the name with the most votes; "" if there is none, or
// two have as many.
func (s *Service) elected(ctx context.Context, o office) (string, error) {
	votes, err := s.votes(ctx, s.Nodes, o.vote)
	return most(votes), err
}

// votes asks the nodes, all at the same time. Those that do not answer have no vote, and are in the
// error.
func (s *Service) votes(ctx context.Context, nodes []*Node,
	vote func(context.Context, *Service, *Node) (string, error)) (votes []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	votes = make([]string, len(nodes))
	errs := make([]error, len(nodes))
	var asked sync.WaitGroup
	for i, n := range nodes {
		asked.Go(func() {
			var err error
			if votes[i], err = vote(ctx, s, n); err != nil {
				errs[i] = n.failed(err)
			}
		})
	}
	asked.Wait()
	return votes, errors.Join(errs...)
}

// most is what is said most often; "" if nothing is, or two things are as often.
func most(said []string) (name string) {
	count := map[string]int{}
	for _, v := range said {
		if v != "" {
			count[v]++
		}
	}
	best, tied := 0, false
	for v, n := range count {
		switch {
		case n > best:
			name, best, tied = v, n, false
		case n == best:
			tied = true
		}
	}
	if tied {
		return ""
	}
	return name
}

// voteEtcd: a member knows the leader by its number. The one whose own it is
// speaks up; it leads as long as a majority hears it (check quorum).
func voteEtcd(ctx context.Context, _ *Service, n *Node) (string, error) {
	client, err := newEtcdClient(n.Addr)
	if err != nil {
		return "", err
	}
	defer client.Close()
	status, err := client.Status(ctx, client.Endpoints()[0])
	if err != nil || status.Leader == 0 || status.Leader != status.Header.MemberId {
		return "", err
	}
	return n.Name, nil
}

func voteZooKeeper(ctx context.Context, _ *Service, n *Node) (string, error) {
	text, err := zkurl.FourLetters(ctx, n.Addr, nil, "srvr", maxBulk)
	if err != nil || field(text, "Mode:") != "leader" {
		return "", err
	}
	return n.Name, nil
}

// voteSentinel: what counts is what the sentinels say, for they are who clients
// ask; but one may not know yet of a failover, so the server must agree.
func voteSentinel(ctx context.Context, s *Service, n *Node) (string, error) {
	if n.spec.Port != sentinelPort {
		return "", nil
	}
	name, err := namedBy(ctx, s, n)
	if err != nil {
		return "", err
	}
	if role, err := s.Role(ctx, name); err != nil || role != RolePrimary {
		return "", err
	}
	return name, nil
}

func votePostgres(ctx context.Context, _ *Service, n *Node) (string, error) {
	if n.spec.Program != postgresProgram {
		return "", nil
	}
	conn, err := dialPostgres(ctx, n.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var standby bool
	if err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby); err != nil || standby {
		return "", err
	}
	return n.Name, nil
}
