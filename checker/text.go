package checker

import (
	"fmt"
	"slices"
	"sort"
	"unicode"

	"github.com/lockchaos/lockchaos/history"
)

// The words of violations, and the ops and faults that prove them.

// seconds writes nanoseconds for a reader.
func seconds(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }

// count writes a number with its noun; "An injected fault" style singulars bring their own article.
func count(n int, one, many string) string {
	if n == 1 {
		if unicode.IsUpper(rune(one[0])) {
			return one
		}
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// clientName names a grant's client, with its token if it has one.
func clientName(g *grant) string {
	switch {
	case g.mode == history.ModeRead:
		return fmt.Sprintf("client %d (a reader)", g.client)
	case g.mode == history.ModeWrite:
		return fmt.Sprintf("client %d (a writer)", g.client)
	case g.ticked && g.token.Given():
		return fmt.Sprintf("client %d (tick %d)", g.client, g.token)
	case g.token.Given():
		return fmt.Sprintf("client %d (token %d)", g.client, g.token)
	}
	return fmt.Sprintf("client %d", g.client)
}

// evidence gathers the ops that prove a violation.
type evidence []act

func (e *evidence) add(op, start int64) {
	if op != 0 && !slices.ContainsFunc(*e, func(a act) bool { return a.op == op }) {
		*e = append(*e, act{op: op, start: start})
	}
}

// ops lists them in order of time, at most eight.
func (e evidence) ops() []int64 {
	sort.SliceStable(e, func(i, j int) bool { return e[i].start < e[j].start })
	ids := make([]int64, 0, len(e))
	for _, a := range e {
		ids = append(ids, a.op)
	}
	return ids[:min(len(ids), 8)]
}

// remembered is the acts that the grant still remembers, oldest first.
func (g *grant) remembered() []act {
	var list []act
	if g.nacts > 0 {
		list = append(list, g.act(0))
	}
	for i := max(1, g.nacts-keptActs); i < g.nacts; i++ {
		list = append(list, g.act(i))
	}
	return list
}

// addGrant adds the acquire of a grant, its last act up to t, the first after t, and the last of
// all.
func (e *evidence) addGrant(g *grant, t int64) {
	e.add(g.id, g.start)
	var before, after, last act
	for _, a := range g.remembered() {
		if a.start <= t {
			before = a
		} else if after.op == 0 {
			after = a
		}
		last = a
	}
	for _, a := range [...]act{before, after, last} {
		e.add(a.op, a.start)
	}
}

// faultsOf lists the faults that touched one of the grants' clients, its way to
// the store, or the service, while they were held, by their IDs.
func (fs *faults) faultsOf(until int64, grants ...*grant) []int {
	var ids []int
	for _, g := range grants {
		own := fs.troubles(g.client)
		for _, spans := range [4][]span{own[0], own[1], fs.service, fs.nodes} {
			for _, sp := range spans {
				if sp.from <= until && fs.rules.bearsOn(sp, g) {
					ids = append(ids, sp.id)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// deathsOf lists the kills that ended a grant's client.
func (fs *faults) deathsOf(g *grant) (ids []int) {
	for _, sp := range fs.clientSpans(g.client) {
		if sp.touch.EndsClient() && sp.to >= g.earliest {
			ids = append(ids, sp.id)
		}
	}
	return ids
}

// plight tells what a fault did to the client of a grant up to t; empty when nothing did.
func (fs *faults) plight(g *grant, t int64) string {
	var worst span
	for _, sp := range fs.clientSpans(g.client) {
		if sp.from <= t && fs.rules.bearsOn(sp, g) && (worst.to == 0 || sp.injected && !worst.injected ||
			sp.injected == worst.injected && sp.length() > worst.length()) {
			worst = sp
		}
	}
	if worst.to == 0 {
		return ""
	}
	did := worst.touch.Words.Plight
	if did == "" {
		did = fmt.Sprintf("met the fault %q", worst.kind)
	}
	switch {
	case worst.touch.Sudden:
		return did
	case worst.to == forever:
		return did + " to the end"
	}
	return did + " for " + seconds(worst.length())
}
