package story

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// words are how a report speaks of the fault: those of its history, which may
// come from anywhere. A fault that has none is told in general words.
func words(f *history.FaultSpan) history.FaultWords {
	w := f.Touches().Words
	for _, text := range []*string{&w.Did, &w.Bar, &w.Client, &w.Nodes, &w.Links, &w.Over} {
		*text = phrase.Clip(*text, phrase.MostName)
	}
	return w
}

// Did says what the fault did to its target, as "was …".
func Did(f *history.FaultSpan) string {
	switch did := words(f).Did; {
	case !f.Injected:
		return history.MachineStall.Words.Did
	case did != "":
		return did
	}
	return "hit by " + phrase.Clip(f.Kind, phrase.MostName)
}

// Bar is did in ten letters at most.
func Bar(f *history.FaultSpan) string {
	if short := words(f).Bar; f.Injected && short != "" {
		return phrase.Cut(short, 10)
	}
	return phrase.Cut(Did(f), 10)
}

// begins tells the beginning of a fault: whom it strikes and how.
func begins(f *history.FaultSpan) Prose {
	w := words(f)
	who, many := victimName(f)
	switch {
	case !f.Injected:
		return Prose{}.b(who + " is stalled").t(" by the machine itself; nobody injected this.")
	case w.Links != "":
		return Prose{}.t("Packets between ").b(who).t(" and " + peers(f)).b(" " + w.Links).t(".")
	case client(f) != 0 && w.Client != "":
		return boldBeginning(who + " " + conjugate(w.Client, many))
	case client(f) == 0 && w.Nodes != "":
		return boldBeginning(who + " " + conjugate(w.Nodes, many))
	}
	return Prose{}.b(phrase.Clip(f.Kind, phrase.MostName) + " strikes " + who).t(".")
}

// boldBeginning makes a sentence of a text, and what stands before its first comma bold.
func boldBeginning(text string) Prose {
	main, rest, more := strings.Cut(text, ", ")
	p := Prose{}.b(main)
	if more {
		p = p.t(", " + rest)
	}
	return p.t(".")
}

// ends tells that a fault is over, without a full stop.
func ends(f *history.FaultSpan) Prose {
	who, many := victimName(f)
	over := words(f).Over
	if over == "" || !f.Injected {
		over = "goes on"
	}
	return Prose{}.b(who + " " + conjugate(over, many)).t(" after " + phrase.Span(f.To-f.From))
}

// victimName names whom the fault strikes; many: they are more than one.
func victimName(f *history.FaultSpan) (name string, many bool) {
	var names []string
	for _, c := range f.Struck() {
		names = append(names, phrase.Client(c))
	}
	if len(names) > 0 {
		return phrase.Clip(phrase.List(names), phrase.MostName), len(names) > 1
	}
	return nodes(f)
}

// conjugate makes the verb at the beginning of a predicate agree with its subject.
func conjugate(predicate string, many bool) string {
	verb, rest, _ := strings.Cut(predicate, " ")
	switch {
	case !many:
		return predicate
	case verb == "is":
		verb = "are"
	case verb == "has":
		verb = "have"
	case verb == "goes" || strings.HasSuffix(verb, "shes"):
		verb = verb[:len(verb)-2]
	default:
		verb = strings.TrimSuffix(verb, "s")
	}
	return verb + " " + rest
}

// client is the client that the fault strikes first; 0: nodes.
func client(f *history.FaultSpan) int32 {
	if struck := f.Struck(); len(struck) > 0 {
		return struck[0]
	}
	return 0
}

// peers says where the links of a client lead that a fault lies on.
func peers(f *history.FaultSpan) string {
	switch {
	case client(f) == 0:
		return "its peers"
	case len(f.Clients) > 0 && f.Store:
		return "its servers"
	case f.Store:
		return "the store"
	}
	return "the lock service"
}

// nodes names the nodes that a fault strikes: as the history resolved them, as
// the readings of their clocks do, else as the plan does.
func nodes(f *history.FaultSpan) (name string, many bool) {
	hosts := slices.Clone(f.Hosts)
	for _, c := range f.Clocks {
		if len(f.Hosts) == 0 && !slices.Contains(hosts, c.Host) {
			hosts = append(hosts, c.Host)
		}
	}
	if len(hosts) > 0 && f.Target != "service" {
		return phrase.Clip(phrase.List(hosts), phrase.MostName), len(hosts) > 1
	}
	switch f.Target {
	case "", "service":
		return "the lock service", false
	case "minority", "majority":
		return "a " + f.Target + " of the nodes", false
	case "leader", "primary":
		return "the " + f.Target, false
	}
	if n, counted := strings.CutPrefix(f.Target, "nodes:"); counted {
		return phrase.Clip(n+" of the nodes", phrase.MostName), n != "1"
	}
	return phrase.Clip(f.Target, phrase.MostName), false
}

// MostProof is how much of one proof is repeated where it stands for many, in characters.
const MostProof = 200
