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
	"github.com/lockchaos/lockchaos/internal/redact"
)

// Attached is a node on the private network: the host and the process of its relay. Its Address is
// one that leads to the relay from every host.
type Attached struct {
	Node
	Host    *hosts.Host
	Process *hosts.Process
}

// Given reports whether outer has handed nodes over.
func Given() bool { return os.Getenv(handedVar) != "" }

// Join puts a relay for each node that outer has handed over on a host of a new
// network. It may be called once. The logs of relays go to NAME.log in the folder.
func Join(ctx context.Context, logs string) (network *hosts.Network, joined []Attached, err error) {
	var nodes []Node
	err = json.Unmarshal([]byte(os.Getenv(handedVar)), &nodes)
	os.Unsetenv(handedVar) // what we start has not been handed anything
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", handedVar, err)
	}
	if network, err = hosts.NewNetwork(hosts.DefaultPrefix); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, network.Close())
			network = nil
		}
	}()
	for i, n := range nodes {
		a, err := n.join(ctx, network, os.NewFile(firstFile+uintptr(i), n.Name), logs)
		if err != nil {
			return network, nil, fmt.Errorf("relay to %s at %s: %w", n.Name, n.Shown, err)
		}
		joined = append(joined, a)
	}
	return network, joined, name(joined)
}

// name has the names of servers lead to their relays, so that clients find them under the names
// that their certificates are for. An IP address in a URL gives way to that of the relay.
func name(joined []Attached) error {
	names := map[string]netip.Addr{}
	for i, a := range joined {
		if a.Address == "" {
			continue
		}
		redact.Addresses(a.Address)
		at, err := endpoint.Parse(a.Address)
		if err != nil {
			return err
		}
		called := strings.ToLower(at.Name())
		if called == "" {
			joined[i].Address = at.At(net.JoinHostPort(a.Host.Addr.String(), at.Port())).Address()
			continue
		}
		if _, taken := names[called]; !taken { // of one server that is several nodes: any relay leads to it
			names[called] = a.Host.Addr
		}
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
func (n Node) join(ctx context.Context, network *hosts.Network, outer *os.File, logs string) (Attached, error) {
	defer outer.Close()
	host, err := network.AddHost(n.Name)
	if err == nil {
		err = network.Await(ctx, host)
	}
	if err != nil {
		return Attached{}, err
	}
	log, err := os.OpenFile(filepath.Join(logs, n.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Attached{}, err
	}
	defer log.Close() // the relay has its own descriptor
	cmd := exec.Command("/proc/self/exe", "node", "relay", "--listen",
		net.JoinHostPort(host.Addr.String(), strconv.Itoa(n.Port)))
	cmd.ExtraFiles = []*os.File{outer}
	cmd.Stdout, cmd.Stderr = log, log
	if n.Port < firstFree {
		if err := host.Do(anyPort); err != nil {
			return Attached{}, err
		}
	}
	process, err := host.Start(cmd)
	return Attached{Node: n, Host: host, Process: process}, err
}
