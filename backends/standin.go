package backends

import (
	"fmt"
	"strings"
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

// standIns says which nodes are not the real thing. Those of one service that are not are all the same.
func standIns(nodes []*Node) []string {
	var names []string
	var of *standIn
	for _, n := range nodes {
		if n.standIn != nil {
			names, of = append(names, n.Name), n.standIn
		}
	}
	if len(names) == 0 {
		return nil
	}
	are := "is"
	if len(names) > 1 {
		are = "are"
	}
	text := fmt.Sprintf("%s %s %s, a stand-in for %s, because %s; what it shows of a lock's logic holds, what it shows of %s itself does not.",
		strings.Join(names, ", "), are, of.name, of.of, of.why, of.of)
	if of.fix != "" {
		text += toHave + of.fix + "."
	}
	return []string{text}
}
