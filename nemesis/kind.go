package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The kinds of faults.
const (
	KindPause = "pause"
	KindKill  = "kill"
)

// Kind is what there is to know of one kind of fault before it is injected.
type Kind struct {
	Name, About string
	// Nodes tells whether it can strike nodes too, not only clients.
	Nodes bool
}

// Kinds lists every kind of fault.
func Kinds() []Kind {
	return []Kind{
		{KindPause, "stops every thread of a client's process group, or of all that runs on a node's host (SIGSTOP), as a stop-the-world collection " +
			"or a suspended virtual machine does", true},
		{KindKill, "kills a client's process group (SIGKILL); a fresh process takes its place", false},
	}
}

// Targets says in words whom and when the kind can strike.
func (k Kind) Targets() string {
	var moments []string
	for _, m := range Moments() {
		moments = append(moments, string(m))
	}
	text := "holder at " + strings.Join(moments, ", ")
	if k.Nodes {
		text += "; nodes (redis-2, nodes:3, minority, majority) at acquiring, random"
	}
	return text
}

// Check tells whether the kind of fault can strike the target at the moment, if these are the names of the lock service's nodes.
func Check(kind string, target Target, when Moment, nodes []string) error {
	i := slices.IndexFunc(Kinds(), func(k Kind) bool { return k.Name == kind })
	switch {
	case i < 0:
		return fmt.Errorf("unknown fault %q", kind)
	case target.Client():
		return nil
	}
	if _, err := target.Nodes(nodes, rand.New(rand.NewPCG(0, 0))); err != nil {
		return err
	}
	if !Kinds()[i].Nodes {
		return fmt.Errorf("a %s strikes clients only: target holder, not %q", kind, target)
	}
	if when != Random && when != Acquiring {
		return fmt.Errorf("nodes are struck at %s or %s, not %s, which is a step of a holder", Acquiring, Random, when)
	}
	return nil
}
