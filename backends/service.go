package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/hosts"
)

// Spec says what to start.
type Spec struct {
	// Service is the name of the service: one of Names, or "" for a lock that needs none.
	Service string
	// Logs is the folder for the nodes' logs; it is made if it does not exist.
	Logs string
}

// Names lists the services that Start knows.
func Names() []string { return []string{"redis", "redis-five", "etcd"} }

// Service is a lock service that is up.
type Service struct {
	Name string
	// Nodes are in the order of their names.
	Nodes []*Node
	// Version is what the nodes say of themselves, each version once.
	Version string
	// Notes says in full sentences how the service was set up where that matters to a lock.
	Notes []string

	standIns []string
	died     chan error
	closing  atomic.Bool
}

// startLimit bounds how long a service may take to answer, when the context sets no earlier limit.
const startLimit = 30 * time.Second

// Start brings a service up on hosts that it adds to the network, and returns when it answers.
func Start(ctx context.Context, network *hosts.Network, spec Spec) (*Service, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it did not answer within %v", startLimit))
	defer cancel()
	s := &Service{Name: spec.Service}
	l := launcher{network: network, logs: spec.Logs}
	var err error
	switch spec.Service {
	case "":
		s.Version = "none"
	case "redis":
		err = startRedis(ctx, l, s, "redis-1")
	case "redis-five":
		err = startRedis(ctx, l, s, "redis-1", "redis-2", "redis-3", "redis-4", "redis-5")
	case "etcd":
		err = startEtcd(ctx, l, s)
	default:
		err = fmt.Errorf("no such service; there are %s", strings.Join(Names(), ", "))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start service %q: %w", spec.Service, err), closeHosts(s.Nodes))
	}
	s.watch()
	return s, nil
}

// Addrs returns the addresses that clients connect to, host:port, in the order of the nodes.
func (s *Service) Addrs() []string {
	var addrs []string
	for _, n := range s.Nodes {
		addrs = append(addrs, n.Addr)
	}
	return addrs
}

// StandIns says in full sentences what is not the real thing; empty when all is real.
func (s *Service) StandIns() []string { return s.standIns }

// Died returns the channel on which the death of a node is told, each once, with the end of its log. It is never closed.
func (s *Service) Died() <-chan error { return s.died }

// Alive returns nil while every node lives, else the death of the first that does not.
func (s *Service) Alive() error {
	for _, n := range s.Nodes {
		if err := n.Process.Err(); err != nil {
			return n.failed(err)
		}
	}
	return nil
}

// watch makes known which versions run, and from now on who dies.
func (s *Service) watch() {
	s.died = make(chan error, len(s.Nodes))
	var versions []string
	for _, n := range s.Nodes {
		if !slices.Contains(versions, n.Version) {
			versions = append(versions, n.Version)
		}
		go func() {
			<-n.Process.Done() // at the latest when its host is closed
			if !s.closing.Load() {
				s.died <- n.failed(n.Process.Err())
			}
		}()
	}
	if len(versions) > 0 {
		s.Version = strings.Join(versions, ", ")
	}
}

// Close kills the nodes and removes their hosts. When it returns nothing of them is left but their logs.
//
// They are not asked to end: what they would still do, such as handing a leader's office over, is of use to nobody.
func (s *Service) Close() error {
	s.closing.Store(true)
	return closeHosts(s.Nodes)
}

func closeHosts(nodes []*Node) error {
	var errs []error
	for _, n := range nodes {
		if err := n.Host.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the host of %s: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}
