package reports

import (
	"slices"
	"strings"
)

// faultWords are how a report speaks of one kind of fault.
type faultWords struct {
	// did completes "was …", for bands, bars and ledes.
	did string
	// client and nodes complete "client 2 …" and "redis-2 …"; of a fault of links, links completes "Packets between … and …" instead.
	client, nodes, links string
	// bar is did for a narrow place; "": did itself is short.
	bar string
	// over completes "client 2 …" when it is over; "": goes on.
	over string
	// sudden: it is over as soon as it has struck, whatever follows from it, and how long it took is of no interest.
	sudden bool
}

// wordsOfFaults are those of the kinds that have words of their own; every other kind is told in general words.
var wordsOfFaults = map[string]faultWords{
	"pause":          {did: "frozen", client: "is frozen, as by a stop-the-world collection", nodes: "is frozen, as a suspended machine is", over: "wakes up"},
	"kill":           {did: "killed", client: "is killed", nodes: "is killed"},
	"crash-restart":  {did: "crashed", client: "crashes", nodes: "crashes, to be started again", over: "answers again"},
	"failover":       {did: "failed over", bar: "failover", nodes: "is killed before its replica has everything, and the replica takes over"},
	"throttle":       {did: "throttled", client: "gets only a share of its processor time", nodes: "gets only a share of its processor time"},
	"stall":          {did: "stalled", client: "stops working while its lock goes on renewing"},
	"renewer-stall":  {did: "not renewing", bar: "starved", client: "goes on working while its lock's renewal stands still", over: "renews again"},
	"clock-jump":     {did: "off by a clock jump", bar: "skewed", client: "reads a clock that jumps", nodes: "reads a clock that jumps", over: "reads a clock that runs right again"},
	"clock-rate":     {did: "off by a clock's rate", bar: "skewed", client: "reads a clock that runs wrong", nodes: "reads a clock that runs wrong", over: "reads a clock that runs right again"},
	"clock-strobe":   {did: "off by a clock's strobe", bar: "skewed", client: "reads a clock that jumps to and fro", nodes: "reads a clock that jumps to and fro", over: "reads a clock that runs right again"},
	"partition":      {did: "cut off", links: "are dropped", over: "is reached again"},
	"delay":          {did: "delayed", links: "are delayed", over: "is reached at once again"},
	"loss":           {did: "on a lossy link", bar: "lossy", links: "are lost now and then", over: "loses no packets any more"},
	"duplicate":      {did: "sent duplicates", bar: "doubled", links: "arrive twice", over: "gets each packet once again"},
	"reorder":        {did: "sent packets out of order", bar: "reordered", links: "arrive out of order", over: "gets its packets in order again"},
	"rate":           {did: "on a slow link", bar: "slowed", links: "get only so much bandwidth", over: "has all its bandwidth again"},
	"hold":           {did: "held up", links: "are held back", over: "gets what was held back"},
	"cut":            {did: "cut short", links: "are cut at one request"},
	"expire-session": {did: "deprived of its session", bar: "expired", client: "loses its session, which the lock service is made to end", sudden: true},
	"reset":          {did: "reset", links: "are cut short: their connections are reset", sudden: true},
}

// faultDid says what a fault of the kind did to its target, as "was …".
func faultDid(kind string, injected bool) string {
	switch w := wordsOfFaults[kind]; {
	case !injected:
		return "stalled"
	case w.did != "":
		return w.did
	}
	return "hit by " + clip(kind, clipName)
}

// suddenly bounds a fault of a kind that may last or not, such as a cut, which was over at once.
const suddenly = int64(50e6)

// sudden tells whether the fault was over as soon as it had struck.
func (f *fault) sudden() bool {
	return wordsOfFaults[f.Kind].sudden || f.Kind == "cut" && f.To-f.From < suddenly
}

// bar is faultDid in ten letters at most.
func (f *fault) bar() string {
	if short := wordsOfFaults[f.Kind].bar; f.Injected && short != "" {
		return short
	}
	return cut(faultDid(f.Kind, f.Injected), 10)
}

// begins tells the beginning of a fault: whom it strikes and how.
func (f *fault) begins() prose {
	w := wordsOfFaults[f.Kind]
	who, many := f.who()
	switch {
	case !f.Injected:
		return prose{}.b(who + " is stalled").t(" by the machine itself; nobody injected this.")
	case w.links != "":
		return prose{}.t("Packets between ").b(who).t(" and " + f.peers()).b(" " + w.links).t(".")
	case f.client() != 0 && w.client != "":
		return strong(who + " " + agree(w.client, many))
	case f.client() == 0 && w.nodes != "":
		return strong(who + " " + agree(w.nodes, many))
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
	over := wordsOfFaults[f.Kind].over
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
