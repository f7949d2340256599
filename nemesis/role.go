package nemesis

import (
	"fmt"
	"slices"
)

// Targets that are a role: the node that leads, or is primary, when the fault strikes.

// The nodes that the lock service itself is asked for, at the moment of the strike.
const (
	// Leader is the member that leads the ensemble: of etcd, of ZooKeeper.
	Leader Target = "leader"
	// Primary is the server that takes the writes: of redis-failover as the
	// sentinels say, of PostgreSQL.
	Primary Target = "primary"
)

// The traits of services with such nodes.
const (
	HasLeader  Trait = "a leader (etcd, zookeeper)"
	HasPrimary Trait = "a primary (redis-failover, postgres)"
)

// IsRole reports whether the lock service has to be asked whom the word means.
func (t Target) IsRole() bool { return t == Leader || t == Primary }

// existsWhere reports whether a service that has such traits has such a node.
func (t Target) existsWhere(has []Trait) bool {
	return t == Leader && slices.Contains(has, HasLeader) || t == Primary && slices.Contains(has, HasPrimary)
}

// withNode puts the name of a node in the place of each word that the service is asked about.
func (s Spec) withNode(node string) Spec {
	if s.Target.IsRole() {
		s.Target = Target(node)
	}
	if Target(s.Peers).IsRole() {
		s.Peers = Peers(node)
	}
	return s
}

// withSampleNode is the fault as it may be when the service has been asked. It is an
// error if a service with such traits has no such node.
func (s Spec) withSampleNode(nodes []string, has []Trait) (Spec, error) {
	for _, t := range []Target{s.Target, Target(s.Peers)} {
		if t.IsRole() && (!t.existsWhere(has) || len(nodes) == 0) {
			return s, fmt.Errorf("the lock service has no %s", t)
		}
	}
	if len(nodes) == 0 {
		return s, nil
	}
	return s.withNode(nodes[0]), nil
}

// Answer asks the service, if the fault has a word that it must be asked about,
// and puts the answer in its place.
func (s Spec) Answer(ask func() (node string, err error)) (Spec, error) {
	if !s.Target.IsRole() && !Target(s.Peers).IsRole() {
		return s, nil
	}
	node, err := ask()
	if err != nil {
		return s, err
	}
	return s.withNode(node), nil
}
