package scenarios

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
)

// RandomLock is a lock as the drawing of scenarios sees it.
type RandomLock struct {
	Nature Nature
	// Base is an undisturbed scenario of the lock: its workload, store, TTL,
	// clients and keys are kept.
	Base Scenario
	// Fits tells why a fault can't be drawn: it does not fit the lock's
	// service, or this machine can't do it; nil: it can.
	Fits func(Fault) error
	// Together tells why faults can't strike together; nil: they can.
	Together func([]Fault) error
}

// RandomPrefix begins the names of scenarios that are drawn.
const RandomPrefix = "random/"

// Of the faults that are drawn for a scenario: how many strike clients and links, and how
// many nodes, at most; and how often something is drawn in vain before it is given up.
const (
	mostOnClients = 5
	mostOnNodes   = 2
	mostVain      = 60
)

// Drawn reports whether Random has made the scenario. A saved plan has nothing
// but the name to tell.
func (s *Scenario) Drawn() bool { return strings.HasPrefix(s.Name, RandomPrefix) }

// baseSuite has an undisturbed scenario of every lock that is not broken on purpose, made for no
// special fault.
const baseSuite = "full"

// Undisturbed is a scenario of the lock without faults: a control of a suite, or else another one
// with its faults taken away.
func Undisturbed(suites []Suite, lock string) (base Scenario, ok bool) {
	if i := slices.IndexFunc(suites, func(s Suite) bool { return s.Name == baseSuite }); i > 0 {
		suites = append([]Suite{suites[i]}, suites...)
	}
	for _, disturbed := range []bool{false, true} {
		for _, suite := range suites {
			for _, s := range suite.Scenarios {
				// The requests that a stampede counts are those of an undisturbed service.
				if s.Lock == lock && (len(s.Faults) > 0) == disturbed && s.Workload.Kind != "stampede" {
					// what it is made into lasts as long as its maker says
					s.Faults, s.Enough = nil, 0
					return s, true
				}
			}
		}
	}
	return Scenario{}, false
}

// Random draws a scenario for the lock: a mix of faults that strike clients and links, and beside
// it one of faults that strike nodes, drawn by weight; the properties that it expects are those of
// theory (Nature.Expected). It is a pure function: the same seed, lock and duration draw the same.
func Random(seed uint64, l RandomLock, duration Duration) Scenario {
	s := l.Base
	s.Name = RandomPrefix + s.Lock
	s.About = "faults drawn at random, mixed and combined"
	s.Duration = duration
	s.Quiet = min(2*s.TTL, duration/4)
	plan := Plan{Seed: seed, Scenario: s}
	d := dice{Rand: plan.Stream("random"), TTL: s.TTL.Std(), Most: duration.Std() / 4}
	// of locks that can be asked, and are renewed so
	s.Workload.Ask, s.Workload.Renew = true, d.IntN(2) == 0
	s.Faults = nil
	clients := l.draws(d, false, mostOnClients)
	if both := l.combine(d, clients); both.Together != nil {
		clients = append(clients, both)
	}
	add := func(parts []Fault, after Duration, every Range) {
		if len(parts) == 0 {
			return
		}
		f := Fault{Mix: parts}
		if len(parts) == 1 {
			f = parts[0]
			f.Weight = 0
		}
		f.After, f.Every = after, every
		s.Faults = append(s.Faults, f)
	}
	const second = Duration(time.Second)
	add(clients, 200*second/1000, Range{min(s.TTL/2, duration/20).round(),
		min(max(s.TTL, second/2), duration/10).round()})
	add(l.draws(d, true, mostOnNodes), second/2, Range{min(max(2*s.TTL, second), duration/8).round(),
		min(max(4*s.TTL, 2*second), duration/4).round()})
	// A holder that is struck costs a TTL, so a run of few TTLs makes few grants.
	terms := int(duration / max(s.TTL, 1))
	least := l.Base.Needs
	s.Needs = Needs{Grants: min(max(terms, 3), 10, least.Grants), Handovers: min(max(terms/4, 1), 2, least.Handovers),
		Bites: min(max(terms/4, 1), 3)}
	s.Needs.complete(s.Faults)
	var singles []Fault
	for _, f := range s.Faults {
		singles = append(singles, f.Singles()...)
	}
	s.Expect = l.Nature.Expected(s.Store, singles)
	return s
}

// draws takes faults by weight, so many at most, no two of them alike, and
// gives each a weight in the mix.
func (l RandomLock) draws(d dice, service bool, most int) (all []Fault) {
	var from []nemesis.Draw
	total := 0
	for _, w := range nemesis.Draws() {
		if w.Beside == service {
			from = append(from, w)
			total += w.Weight
		}
	}
	seen := map[string]bool{}
	for vain := 0; len(all) < most && vain < mostVain; vain++ {
		f := faultOf(from[byWeight(d.Rand, from, total)].Of(d))
		f.Weight = 1 + d.IntN(3)
		label := f.Label()
		// a guarded store lies on the nodes, and the ledger is read there
		if seen[label] || l.Fits(f) != nil || l.Base.Store.Guarded() && !f.strikesClients() {
			continue
		}
		seen[label] = true
		all = append(all, f)
	}
	return all
}

func byWeight(rng *rand.Rand, from []nemesis.Draw, total int) int {
	at := rng.IntN(total)
	for i, w := range from {
		if at -= w.Weight; at < 0 {
			return i
		}
	}
	return len(from) - 1
}

// onLinks reports whether the fault lies on links for a while.
func (f *Fault) onLinks() bool { return f.Spec().OnLinks() && !f.momentary() }

// disjoint reports whether at most one of the faults lies on links: of two, one
// might leave nothing for the other to meet.
func disjoint(parts []Fault) bool {
	n := 0
	for _, f := range parts {
		if f.onLinks() {
			n++
		}
	}
	return n < 2
}

// outlast lets faults of links last until a client that is stopped sends again:
// else they might meet nothing.
func outlast(parts []Fault) {
	for _, stop := range parts {
		for i := range parts {
			if stop.Spec().Stops() && parts[i].onLinks() {
				parts[i].For = max(parts[i].For, stop.For+Duration(nemesis.LinkFloor))
			}
		}
	}
}

// combine combines two or three of the faults on the holder, at the moment of
// the first, if some can be.
func (l RandomLock) combine(d dice, all []Fault) Fault {
	var parts []Fault
	for _, i := range d.Perm(len(all)) {
		f := all[i]
		if f.Target != "holder" || f.When == "acquiring" {
			continue
		}
		f.Weight, f.Target, f.When = 0, "", ""
		if with := append(parts[:len(parts):len(parts)], f); len(with) == 1 || l.Together(with) == nil &&
			disjoint(with) {
			parts = with
		}
		if len(parts) == 3 {
			break
		}
	}
	if len(parts) < 2 {
		return Fault{}
	}
	outlast(parts)
	whole := Fault{Together: parts, Target: "holder", When: "between-read-and-write", Weight: 2}
	for _, p := range whole.Singles() {
		if l.Fits(p) != nil {
			return Fault{}
		}
	}
	return whole
}
