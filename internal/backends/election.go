package backends

import "strings"

// Election is how the nodes of a service tell in their logs of their leader, by
// parts of lines. The zero value: they have none.
type Election struct {
	Lost, Led string // a node has no leader any more; it has one, it may be itself
	Changed   string // both at once
}

// LeaderIn reports what a line of the node's log says: that it has lost its
// leader, or that it has one.
func (n *Node) LeaderIn(line string) (lost, led bool) {
	says := func(part string) bool { return part != "" && strings.Contains(line, part) }
	e := n.kind.election
	return says(e.Lost) || says(e.Changed), says(e.Led) || says(e.Changed)
}

// Elects reports whether the node tells of its leader.
func (n *Node) Elects() bool { return n.kind.election != Election{} }
