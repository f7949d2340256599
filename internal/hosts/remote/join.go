package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/redact"
)

// Given reports whether outer has handed nodes over.
func Given() bool { return os.Getenv(handedVar) != "" }

// Join puts a relay for each node that outer has handed over on a host of a new network, which the
// caller closes. It may be called once. The logs of relays go to NAME.log in the folder.
//
// ask asks outer for what it does when it is asked; nil: nothing.
func Join(ctx context.Context, logs string) (joined agent.Joined, ask func(context.Context) ([]byte, error), err error) {
	var nodes []Node
	err = json.Unmarshal([]byte(os.Getenv(handedVar)), &nodes)
	os.Unsetenv(handedVar) // what we start has not been handed anything
	if err != nil {
		return joined, nil, fmt.Errorf("%s: %w", handedVar, err)
	}
	if joined.Network, err = hosts.NewNetwork(hosts.DefaultPrefix); err != nil {
		return joined, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, joined.Network.Close())
			joined = agent.Joined{}
		}
	}()
	for i, n := range nodes {
		a, err := n.join(ctx, joined.Network, os.NewFile(firstFile+uintptr(i), n.Name), logs)
		if err != nil {
			return joined, nil, fmt.Errorf("relay to %s at %s: %w", n.Name, n.Shown, err)
		}
		joined.Nodes = append(joined.Nodes, a)
		joined.Facts = append(joined.Facts, agent.Fact{Name: n.Name, Version: "at " + n.Shown + ", through a relay"})
	}
	if ask, err = asker(len(nodes)); err != nil {
		return joined, nil, err
	}
	return joined, ask, name(nodes, joined)
}

// name has the names of servers lead to their relays, so that clients find them under the names
// that their certificates are for. An IP address in a URL gives way to that of the relay.
func name(nodes []Node, joined agent.Joined) error {
	names := map[string]netip.Addr{}
	for i, a := range joined.Nodes {
		if a.Address == "" {
			continue
		}
		redact.Addresses(a.Address)
		if len(nodes[i].Leads) > 0 {
			continue // it is led to by all of them
		}
		at, err := endpoint.Parse(a.Address)
		if err != nil {
			return err
		}
		called := strings.ToLower(at.Name())
		if called == "" {
			joined.Nodes[i].Address = at.At(net.JoinHostPort(a.Host.Addr.String(), at.Port())).Address()
			continue
		}
		if _, taken := names[called]; !taken { // of one server that is several nodes: any relay leads to it
			names[called] = a.Host.Addr
		}
	}
	if err := lead(nodes, joined, names); err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	return hosts.Names(names)
}

// firstFree is the first port that any program may listen on.
const firstFree = 1024

// anyPort lets the programs of a host listen on any port: the server's may be 443.
func anyPort() error {
	return os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0)
}

// join starts the relay of one node. outer is closed.
func (n Node) join(ctx context.Context, network *hosts.Network, outer *os.File, logs string) (agent.Attached, error) {
	defer outer.Close()
	host, err := network.AddHost(n.Name)
	if err == nil {
		err = network.Await(ctx, host)
	}
	if err != nil {
		return agent.Attached{}, err
	}
	log, err := os.OpenFile(filepath.Join(logs, n.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return agent.Attached{}, err
	}
	defer log.Close() // the relay has its own descriptor
	cmd := exec.Command("/proc/self/exe", "node", "relay", "--listen",
		net.JoinHostPort(host.Addr.String(), strconv.Itoa(n.Port)))
	cmd.ExtraFiles = []*os.File{outer}
	cmd.Stdout, cmd.Stderr = log, log
	if n.Port < firstFree {
		if err := host.Do(anyPort); err != nil {
			return agent.Attached{}, err
		}
	}
	process, err := host.Start(cmd)
	return agent.Attached{Name: n.Name, Host: host, Process: process, Address: n.Address}, err
}
