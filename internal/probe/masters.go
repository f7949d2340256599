package probe

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Masters are the servers that answer for what they grant, by the word of one of them.
type Masters struct {
	// Who tells them from others, in a fixed order. Text says it, with their epoch.
	Who, Text string
}

// ruler is a server that knows who answers for what it grants.
type ruler interface {
	masters(ctx context.Context) (Masters, error)
}

// Masters asks a server who the masters are now.
func (s Service) Masters(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (Masters, error) {
	one, err := s.open(ctx, at, dial)
	if err != nil {
		return Masters{}, s.Explain(at, err)
	}
	defer one.close()
	r, ok := one.(ruler)
	if !ok {
		return Masters{}, fmt.Errorf("a server of %s is not asked for its masters", s.Program)
	}
	return r.masters(ctx)
}

// masters are those of the cluster, or the server itself, by its run's number.
func (r *redisServer) masters(ctx context.Context) (m Masters, err error) {
	if len(r.all) > 0 {
		var who []string
		for _, one := range r.all {
			if !one.Replica {
				who = append(who, one.At)
			}
		}
		m.Who = strings.Join(who, ", ")
		m.Text = "masters " + m.Who
		if text, err := r.one.ClusterInfo(ctx).Result(); err == nil { // who may not ask it does without
			m.Text += ", epoch " + or(fields(text)["cluster_current_epoch"], "?")
		}
		return m, nil
	}
	text, err := r.one.Info(ctx).Result()
	if err != nil {
		return m, fmt.Errorf("INFO: %w", err)
	}
	info := fields(text)
	m.Who = info["run_id"]
	m.Text = fmt.Sprintf("%s, run %.8s", info["role"], info["run_id"])
	if info["role"] != "master" {
		m.Who = "" // none: the address leads to a replica
	}
	return m, nil
}
