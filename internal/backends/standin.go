package backends

import (
	"fmt"
	"slices"
)

// standIn is what runs in place of a real server.
type standIn struct {
	name, number string
	of           string // the real one
	why          string // it does not run, or was found to be missing
	fix          string // what to do to have the real one; "": nothing helps
}

// version is what lists of versions show; "" where nothing stands in.
func (s *standIn) version() string {
	if s == nil {
		return ""
	}
	return s.name + " " + s.number
}

// standIns says what is not the real thing. Nodes of a service that are not are
// all the same, and what stands in for them is told in the same words whatever
// their number: a run of many services says it once.
func standIns(nodes []*Node) []string {
	i := slices.IndexFunc(nodes, func(n *Node) bool { return n.standIn != nil })
	if i < 0 {
		return nil
	}
	of := nodes[i].standIn
	text := fmt.Sprintf("%s stands in for %s, because %s; what it shows of a lock's logic holds, what it shows of %s itself does not.", of.name, of.of, of.why, of.of)
	if of.fix != "" {
		text += toHave + of.fix + "."
	}
	return []string{text}
}
