package reports

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// words are how a report speaks of the fault: those of its history, which may come from anywhere. A fault that has none is told in general words.
func (f *fault) words() history.FaultWords {
	w := f.Touches().Words
	for _, text := range []*string{&w.Did, &w.Bar, &w.Client, &w.Nodes, &w.Links, &w.Over} {
		*text = clip(*text, clipName)
	}
	return w
}

// did says what the fault did to its target, as "was …".
func (f *fault) did() string {
	switch did := f.words().Did; {
	case !f.Injected:
		return history.MachineStall.Words.Did
	case did != "":
		return did
	}
	return "hit by " + clip(f.Kind, clipName)
}

// suddenly bounds a fault that ends connections and may last or not: it is over at once where it leaves them broken.
const suddenly = int64(50e6)

// kills tells whether nobody goes on after the fault.
func (f *fault) kills() bool { return f.Touches().Ends == history.EndsProcess }

// sudden tells whether the fault was over as soon as it had struck.
func (f *fault) sudden() bool {
	t := f.Touches()
	return t.Sudden || t.Ends == history.EndsConnection && f.To-f.From < suddenly
}

// bar is did in ten letters at most.
func (f *fault) bar() string {
	if short := f.words().Bar; f.Injected && short != "" {
		return cut(short, 10)
	}
	return cut(f.did(), 10)
}

// begins tells the beginning of a fault: whom it strikes and how.
func (f *fault) begins() prose {
	w := f.words()
	who, many := f.who()
	switch {
	case !f.Injected:
		return prose{}.b(who + " is stalled").t(" by the machine itself; nobody injected this.")
	case w.Links != "":
		return prose{}.t("Packets between ").b(who).t(" and " + f.peers()).b(" " + w.Links).t(".")
	case f.client() != 0 && w.Client != "":
		return strong(who + " " + agree(w.Client, many))
	case f.client() == 0 && w.Nodes != "":
		return strong(who + " " + agree(w.Nodes, many))
	}
	return prose{}.b(clip(f.Kind, clipName) + " strikes " + who).t(".")
}

// strong makes a sentence of a text, and what stands before its first comma bold.
func strong(text string) prose {
	main, rest, more := strings.Cut(text, ", ")
	p := prose{}.b(main)
	if more {
		p = p.t(", " + rest)
	}
	return p.t(".")
}

// ends tells that a fault is over, without a full stop.
func (f *fault) ends() prose {
	who, many := f.who()
	over := f.words().Over
	if over == "" || !f.Injected {
		over = "goes on"
	}
	return prose{}.b(who + " " + agree(over, many)).t(" after " + span(f.To-f.From))
}

// who names whom the fault strikes; many: they are more than one.
func (f *fault) who() (name string, many bool) {
	var names []string
	for _, c := range f.struck() {
		names = append(names, client(c))
	}
	if len(names) > 0 {
		return clip(list(names), clipName), len(names) > 1
	}
	return f.nodes()
}

// agree makes the verb at the beginning of a predicate agree with its subject.
func agree(predicate string, many bool) string {
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
func (f *fault) client() int32 {
	if struck := f.struck(); len(struck) > 0 {
		return struck[0]
	}
	return 0
}

// peers says where the links of a client lead that a fault lies on.
func (f *fault) peers() string {
	switch {
	case f.client() == 0:
		return "its peers"
	case len(f.Clients) > 0 && f.Store:
		return "its servers"
	case f.Store:
		return "the store"
	}
	return "the lock service"
}

// nodes names the nodes that a fault strikes: as the history resolved them, as the readings of their clocks do, else as the plan does.
func (f *fault) nodes() (name string, many bool) {
	hosts := slices.Clone(f.Hosts)
	for _, c := range f.Clocks {
		if len(f.Hosts) == 0 && !slices.Contains(hosts, c.Host) {
			hosts = append(hosts, c.Host)
		}
	}
	if len(hosts) > 0 && f.Target != "service" {
		return clip(list(hosts), clipName), len(hosts) > 1
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
		return clip(n+" of the nodes", clipName), n != "1"
	}
	return clip(f.Target, clipName), false
}
