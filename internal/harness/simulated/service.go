package simulated

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
)

// standIn is what stands in virtual time in the place of a service.
type standIn struct {
	name, version string
	start         func(hosts []*sim.Host) ([]*sim.Node, error)
}

// standInOf finds the one of a service; false: it cannot be simulated.
func standInOf(service string) (standIn, bool) {
	switch service {
	case "redis", "redis-five":
		return standIn{"miniredis", backends.MiniredisVersion(), eachRedis}, true
	case "etcd":
		return standIn{"a model of etcd", sim.EtcdVersion, func(hosts []*sim.Host) ([]*sim.Node, error) {
			return sim.Etcd(sim.Timing{Heartbeat: backends.EtcdHeartbeat, Election: backends.EtcdElection}, hosts...)
		}}, true
	}
	return standIn{}, false
}

func eachRedis(hosts []*sim.Host) (nodes []*sim.Node, err error) {
	for _, h := range hosts {
		n, err := h.Redis()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// Nodes are the hosts of a service's servers.
func Nodes(service string) (names []string) {
	kind, _ := backends.Lookup(service)
	for _, n := range kind.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// serve starts the service.
func (s *simulation) serve() (err error) {
	var hosts []*sim.Host
	for _, name := range Nodes(s.cfg.Lock.Service) {
		hosts = append(hosts, s.addHost(name))
	}
	s.standIn, _ = standInOf(s.cfg.Lock.Service)
	s.nodes, err = s.standIn.start(hosts)
	return err
}

// said is what every history says of the service of a lock.
func (s standIn) said(lock string) string {
	return fmt.Sprintf("Simulated: the client library (%s) ran in virtual time against %s %s. No real service, network or clock took part.", lock, s.name, s.version)
}

// part is the stand-in among the versions in a history's header.
func (s standIn) part() history.Part { return history.Part{Name: s.name, Version: s.version} }
