package backends

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/store"
)

const storePort = 7070

// StorePrefix begins the names of an engine's own servers.
const StorePrefix = "store-"

// sqliteEngine is the engine that needs no server.
const sqliteEngine = "sqlite"

// StoreSpec says which store to start.
type StoreSpec struct {
	// Engine is one of store.Engines.
	Engine  string
	Fencing store.Fencing
	// At are the addresses of the engine's servers where they run already: those
	// of the lock's own service, for a guarded store. Else the engine's servers
	// are started, each on a host of its own, with names that begin with "store-".
	At []string
	// Logs is the folder for the nodes' logs.
	Logs string
	// Name begins all that the engine keeps on its servers; "": the node's own.
	// Servers that have seen other runs need a new one.
	Name string
	// Attached are the engine's own servers where they run already, as in Spec.
	Attached []agent.Attached
}

// Store is a store that is up: the node that clients talk to.
type Store struct {
	*Node
	// Servers are those of the engine, nil where none were started.
	Servers *Service
}

// StartStore starts the protected resource on a host of its own, after its
// engine, and returns when it answers.
func StartStore(ctx context.Context, network *hosts.Network, spec StoreSpec) (*Store, error) {
	ctx, cancel := starting(ctx)
	defer cancel()
	s := &Store{}
	if spec.Engine != sqliteEngine && len(spec.At) == 0 {
		var err error
		if s.Servers, err = Start(ctx, network, Spec{Service: spec.Engine, Prefix: StorePrefix, Logs: spec.Logs,
			Attached: spec.Attached}); err != nil {
			return nil, fmt.Errorf("start the store's engine: %w", err)
		}
		spec.At = s.Servers.Addrs()
	}
	nodes, err := launcher{network: network, logs: spec.Logs}.start(ctx, storeKind(spec))
	if err == nil {
		s.Node = nodes[0]
		err = s.awaitStore(ctx, spec.Fencing)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the store: %w", err), closeHosts(nodes), s.closeServers())
	}
	return s, nil
}

// Died returns the channel on which the death of a server of the engine is
// told, as Service.Died does.
func (s *Store) Died() <-chan error {
	if s.Servers == nil {
		return nil
	}
	return s.Servers.Died()
}

// StandIns says in full sentences what is not the real thing.
func (s *Store) StandIns() []string {
	if s.Servers == nil {
		return nil
	}
	return s.Servers.StandIns()
}

// Err returns nil while the store and its engine live, else the death that
// explains why it does not answer.
func (s *Store) Err() error {
	if s.Servers != nil {
		if err := s.Servers.Alive(); err != nil {
			return err
		}
	}
	return s.Process.Err()
}

// Close kills the store and its engine, and removes their hosts.
func (s *Store) Close() error { return errors.Join(closeHosts([]*Node{s.Node}), s.closeServers()) }

func (s *Store) closeServers() error {
	if s.Servers == nil {
		return nil
	}
	return s.Servers.Close()
}

// storeKind is the recipe of the store's node. It is no lock service, so it is not among Kinds.
func storeKind(spec StoreSpec) Kind {
	return Kind{
		Name:  "store",
		Nodes: []NodeSpec{{Name: "store", Port: storePort}},
		task: func(_ Kind, n NodeSpec, p Place) (Task, error) {
			if err := spec.Fencing.Validate(); err != nil {
				return Task{}, err
			}
			args := []string{"store", "--listen", fmt.Sprintf("%s:%d", p.Listen, n.Port), "--fence",
				spec.Fencing.String(), "--engine", spec.Engine}
			if spec.Engine == sqliteEngine {
				return Task{Args: self(append(args, "--data", p.Data)...)}, nil
			}
			if spec.Name != "" {
				args = append(args, "--name", spec.Name)
			}
			return Task{Args: self(args...), Env: []string{storeAtVar + "=" + strings.Join(spec.At, ",")}}, nil
		},
	}
}

func (n *Node) awaitStore(ctx context.Context, fencing store.Fencing) error {
	return n.await(ctx, func(ctx context.Context) error {
		c, err := store.Dial(ctx, n.Addr)
		if err != nil {
			return err
		}
		defer c.Close()
		info, err := c.Info(ctx)
		if err != nil {
			return err
		}
		if info.Fencing != fencing.String() {
			return fmt.Errorf("it fences %q, wanted %q", info.Fencing, fencing)
		}
		n.Version = info.Version
		return nil
	})
}

// storeAtVar is the environment variable with the addresses of the engine's servers, with commas
// between. They may hold a password, which has no place on a command line.
const storeAtVar = "LOCKCHAOS_STORE_AT"

// storeNode is the node: "store --listen ADDR --fence KIND --data DIR", or "…
// --engine ENGINE".
func storeNode(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("node store", flag.ContinueOnError)
	listen := flags.String("listen", "", "address to serve on, `host:port`")
	fence := flags.String("fence", "none", "kind of store: none, writes, all, equal or guarded")
	engine := flags.String("engine", sqliteEngine, "what keeps the ledger: "+strings.Join(store.Engines(), ", "))
	name := flags.String("name", "lockchaos_store", "what begins all that the engine keeps there")
	data := flags.String("data", "", "folder for the ledger")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fencing, err := store.ParseFencing(*fence)
	if err != nil {
		return err
	}
	spec := store.Spec{Engine: *engine, Fencing: fencing, File: filepath.Join(*data, "ledger.db"), Name: *name}
	if at := os.Getenv(storeAtVar); at != "" {
		spec.Addrs = strings.Split(at, ",")
	}
	ledger, err := store.Open(ctx, spec)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *listen)
	if err == nil {
		err = store.Serve(ctx, l, ledger)
	}
	return errors.Join(err, ledger.Close())
}
