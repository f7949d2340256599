package backends

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

// Spec says what to start.
type Spec struct {
	// Service is the name of the service: one of Names, or "" for a lock that needs none.
	Service string
	// Prefix begins the names of its nodes, so that two services of one kind
	// can stand side by side: "store-".
	Prefix string
	// Logs is the folder for the nodes' logs; it is made if it does not exist.
	Logs string
	// Durable: a node that is killed and started again knows all that it had answered for.
	Durable bool
	// Attached are the service's nodes where they run already, in containers
	// say: nothing is then launched, and nothing of it closed.
	Attached []agent.Attached
	// Members are the names of the nodes where these are others than the recipe's: those of a
	// cluster that runs already.
	Members []string
	// Lent: the attached nodes are somebody else's, set up as they like.
	Lent bool
	// OwnLogin: the lock logs in as it likes. A server that refuses the user of
	// our locks serves, then.
	OwnLogin bool
}

// Service is a lock service that is up.
type Service struct {
	Name string
	// Nodes are in the order of their recipe.
	Nodes []*Node
	// Version is what the nodes say of themselves, each version once.
	Version string
	// Notes says in full sentences how the service was set up where that matters to a lock.
	Notes []string

	standIns []string
	died     chan error
	closing  atomic.Bool
	operator operator
}

// startLimit bounds how long a service may take to answer, when the context sets no earlier limit.
// A process that ends is noticed at once. Where forty processes wanted two processors, initdb alone
// took over 30 s, as three Java machines do that start side by side.
const startLimit = 2 * time.Minute

// starting is a context that ends when a service has had its time to start.
func starting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it did not answer within %v", startLimit))
}

// Start brings a service up on hosts that it adds to the network, and returns when it answers.
func Start(ctx context.Context, network *hosts.Network, spec Spec) (*Service, error) {
	ctx, cancel := starting(ctx)
	defer cancel()
	s := &Service{Name: spec.Service}
	if spec.Service == "" {
		s.Version = "none"
	} else if err := s.start(ctx, network, spec); err != nil {
		return nil, errors.Join(fmt.Errorf("start service %q: %w", spec.Service, err), closeHosts(s.Nodes))
	}
	s.watch()
	return s, nil
}

func (s *Service) start(ctx context.Context, network *hosts.Network, spec Spec) (err error) {
	k, ok := Lookup(spec.Service)
	if !ok {
		return fmt.Errorf("no such service; there are %s", strings.Join(Names(), ", "))
	}
	k = k.of(spec.Members).WithPrefix(spec.Prefix)
	if len(spec.Attached) > 0 {
		s.Nodes, err = attach(k, spec)
	} else {
		s.Nodes, err = launcher{network: network, logs: spec.Logs, durable: spec.Durable}.start(ctx, k)
	}
	if err != nil {
		return err
	}
	s.standIns = standIns(s.Nodes)
	if len(s.standIns) == 0 && !spec.Lent {
		s.Notes = k.Notes
	}
	return k.ready(ctx, s.Nodes)
}

// attach takes the nodes that run already, in the service's order.
func attach(k Kind, spec Spec) (nodes []*Node, err error) {
	for _, a := range spec.Attached {
		if k.index(a.Name) < 0 {
			return nil, fmt.Errorf("it has no node named %s", a.Name)
		}
	}
	for _, n := range k.Nodes {
		i := slices.IndexFunc(spec.Attached, func(a agent.Attached) bool { return a.Name == n.Name })
		if i < 0 {
			return nil, fmt.Errorf("its node %s is not among those that run already", n.Name)
		}
		a := spec.Attached[i]
		node := &Node{Name: n.Name, Process: a.Process, spec: n, guest: true, lent: spec.Lent, ownLogin: spec.OwnLogin}
		node.settle(a.Host, spec.Logs)
		node.Addr = cmp.Or(a.Address, node.Addr)
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// Addrs returns the addresses that clients connect to, each once, in the order
// of the nodes. Those that clients find through others are left out.
func (s *Service) Addrs() []string {
	var addrs []string
	for _, n := range s.Nodes {
		if !n.spec.Behind && !slices.Contains(addrs, n.Addr) {
			addrs = append(addrs, n.Addr)
		}
	}
	return addrs
}

// StandIns says in full sentences what is not the real thing; empty when all is real.
func (s *Service) StandIns() []string { return s.standIns }

// Died returns the channel on which the death of a node is told, each once, with
// the end of its log. It is never closed. A death by Node.Kill is not told.
func (s *Service) Died() <-chan error { return s.died }

// Alive returns nil while every node lives, else the death of the first that does not.
func (s *Service) Alive() error {
	for _, n := range s.Nodes {
		if err := n.process().Err(); err != nil {
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
		n.watch(s.watchOne)
	}
	if len(versions) > 0 {
		s.Version = strings.Join(versions, ", ")
	}
}

// watchOne makes known that a process of a node dies, unless that is meant.
func (s *Service) watchOne(n *Node, p *hosts.Process) {
	<-p.Done() // at the latest when its host is closed
	if s.closing.Load() || n.meant(p) {
		return
	}
	select {
	case s.died <- n.failed(p.Err()):
	default: // nobody asks for those before
	}
}

// Close kills the nodes and removes their hosts. When it returns nothing of
// them is left but their logs.
//
// Nodes that ran already are left alone. The others are not asked to end: what they
// would still do, such as handing a leader's office over, is of use to nobody.
func (s *Service) Close() error {
	s.closing.Store(true)
	s.operator.close()
	return closeHosts(s.Nodes)
}

func closeHosts(nodes []*Node) error {
	var errs []error
	for _, n := range nodes {
		if n.guest {
			continue
		}
		if err := n.Host.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the host of %s: %w", n.Name, err))
		} else if p := n.process(); p != nil {
			<-p.Done() // it is dead; that this is known may take a moment more
		}
	}
	return errors.Join(errs...)
}
