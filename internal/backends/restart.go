package backends

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// ErrGuest: the node was running before us, in a container say, and only who
// started it can start it again.
var ErrGuest = errors.New("lockchaos did not start it, and cannot start it again: --runtime local")

// Kill ends every process of the node by SIGKILL, and returns the one that was its server when all
// are gone. It is no death that Service.Died tells. That the server was gone already is an error.
func (n *Node) Kill(ctx context.Context) (*hosts.Process, error) {
	if n.guest {
		return nil, n.failed(ErrGuest)
	}
	n.mu.Lock()
	p := n.Process
	if err := p.Err(); err != nil {
		n.mu.Unlock()
		return nil, n.failed(err)
	}
	n.killed = p
	n.mu.Unlock()
	// All on the host, not the process's group alone: the sessions of
	// PostgreSQL have groups of their own.
	if err := n.Host.Kill(ctx); err != nil {
		return nil, n.failed(err)
	}
	select {
	case <-p.Done():
		return p, nil
	case <-ctx.Done():
		return nil, n.failed(fmt.Errorf("its output does not end: %w", ctx.Err()))
	}
}

// Start runs a node again that was killed, on its host and under its address: with
// the data that it left, or with none, as after its first start. It returns when the
// process runs; Await tells when it answers. Only nodes of a service that forgets
// (Kind.Forgets) can lose their data: a member of a cluster that came back without
// would be another machine under the same name, which no cluster is made for.
func (n *Node) Start(ctx context.Context, keep bool) (*hosts.Process, error) {
	if n.guest {
		return nil, n.failed(ErrGuest)
	}
	if !keep {
		if !n.kind.Forgets {
			return nil, n.failed(fmt.Errorf("a node of %s has written down what it answers for, and does not lose that",
				n.kind.Name))
		}
		if err := n.forget(ctx); err != nil {
			return nil, err
		}
	}
	p, err := n.begin(n.task.Args)
	if err != nil {
		return nil, n.failed(err)
	}
	n.mu.Lock()
	n.Process = p
	watched := n.watched
	n.mu.Unlock()
	if watched != nil {
		go watched(n, p)
	}
	return p, nil
}

// forget empties the node's folder and prepares it as for the first start.
func (n *Node) forget(ctx context.Context) error {
	entries, err := os.ReadDir(n.data)
	if err != nil {
		return n.failed(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(n.data, e.Name())); err != nil {
			return n.failed(err)
		}
	}
	return n.prepare(ctx)
}

// Await returns when a node that was started again answers as it did before: a Redis
// a PING, a member of etcd or ZooKeeper as one that has joined the others again,
// PostgreSQL a query after its recovery. It is bounded as the service's own start is.
func (n *Node) Await(ctx context.Context) error {
	ctx, cancel := starting(ctx)
	defer cancel()
	return n.kind.back(n, ctx)
}

// process is the one that runs now.
func (n *Node) process() *hosts.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Process
}

// watch has the processes of the node watched, the present one and those to come.
func (n *Node) watch(watched func(*Node, *hosts.Process)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watched = watched
	go watched(n, n.Process)
}

// meant reports whether the process's death was a kill of ours.
func (n *Node) meant(p *hosts.Process) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.killed == p
}
