package backends

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"path/filepath"

	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/store"
)

const storePort = 7070

// StartStore starts the protected resource on a host of its own, and returns when it answers.
func StartStore(ctx context.Context, network *hosts.Network, fencing store.Fencing, logs string) (*Node, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it did not answer within %v", startLimit))
	defer cancel()
	nodes, err := launcher{network: network, logs: logs}.start(ctx, storeKind(fencing))
	if err == nil {
		err = nodes[0].awaitStore(ctx, fencing)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the store: %w", err), closeHosts(nodes))
	}
	return nodes[0], nil
}

// storeKind is the recipe of the store's node. It is no lock service, so it is not among Kinds.
func storeKind(fencing store.Fencing) Kind {
	return Kind{
		Name:  "store",
		Nodes: []NodeSpec{{Name: "store", Port: storePort}},
		task: func(_ Kind, n NodeSpec, p Place) (Task, error) {
			if err := fencing.Validate(); err != nil {
				return Task{}, err
			}
			return Task{Args: self("store", "--listen", fmt.Sprintf("%s:%d", p.Listen, n.Port), "--fence", fencing.String(), "--data", p.Data)}, nil
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

// storeNode is the node: "store --listen ADDR --fence KIND --data DIR".
func storeNode(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("node store", flag.ContinueOnError)
	listen := flags.String("listen", "", "address to serve on, `host:port`")
	fence := flags.String("fence", "none", "what raises the fence: none, writes or all")
	data := flags.String("data", "", "folder for the ledger")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fencing, err := store.ParseFencing(*fence)
	if err != nil {
		return err
	}
	ledger, err := store.OpenSQLite(ctx, filepath.Join(*data, "ledger.db"), fencing)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *listen)
	if err == nil {
		err = store.Serve(ctx, l, ledger)
	}
	return errors.Join(err, ledger.Close())
}
