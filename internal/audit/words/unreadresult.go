package words

import (
	"slices"
)

// An acquire may be refused, or only begin, and a column with a strange name may say so: reply=0,
// phase=call. Where it goes unread, a correct lock looks like one with two holders. So if acquires
// clash when each counts as a grant, and a column explains clashes, the user is asked.
//
// Let some value of the column say "not granted". The column explains clashes if
//
//	fewer acquires clash when those with that value are no grants,
//	each of these was made while the lock was held, or its client asked again or did nothing more,
//	and no client gives up what it then was not granted.
//
// Columns that merely differ from line to line, such as a thread or an attempt, fail one of these.

// act is what a line of the sample says of a hold: its client gets it, leaves it, or acts in it.
type act struct {
	line         map[string]string
	who, key     string
	gets, leaves bool
	again        bool // of an acquire: the next act of its client on the key, if any, is another one
}

// askResult asks for the result if acquires clash and columns that are not read explain it.
func (g *Columns) askResult() error {
	if g.settled || g.whole || g.Named[fieldResult] != "" {
		return nil
	}
	acts := g.acts()
	all, strays := g.clashes(acts, func(act) bool { return false }, false)
	if all == 0 {
		return nil
	}
	var found []string // those that leave the fewest clashes
	least := all
	for _, c := range g.Unread {
		p, named := FieldMatchOf(c)
		if named && p.Field != FieldEvent && p.Field != fieldResult && p.Field != FieldError || isScope(c) ||
			slices.Contains(unspoken, Plain(c)) {
			continue
		}
		switch n := g.unexplained(c, acts, all, strays); {
		case n < least:
			least, found = n, []string{c}
		case n == least && n < all:
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return nil
	}
	if result := g.Chosen[fieldResult]; result != "" {
		found = append(found, result)
	}
	return g.ambiguous(fieldResult, found)
}

// acts are the lines of the sample about holds; none if some say "granted", so that an acquire
// is no grant.
func (g *Columns) acts() (acts []act) {
	next := map[[2]string]int{}
	for _, line := range g.inTime() {
		m := g.words.of(line[g.Chosen[FieldEvent]])
		says := line[g.Chosen[fieldResult]] != ""
		a := act{line: line, key: line[g.Chosen[FieldKey]] + "/" + line[g.Chosen[FieldScope]],
			who: line[g.Chosen[FieldClient]] + "/" + line[g.Chosen[FieldPart]]}
		switch {
		case m == Grant:
			return nil
		case g.ended(line) != EndedOK:
			continue
		case m == Acquire, m == attempt:
			if a.gets = says || !g.told; !a.gets {
				continue
			}
		case m == Release, m == Lost:
			a.leaves = true
		case m != Renew && m != Read && m != Write:
			continue
		}
		at := [2]string{a.key, a.who}
		if last, ok := next[at]; ok {
			acts[last].again = a.gets
		}
		a.again, next[at] = true, len(acts)
		acts = append(acts, a)
	}
	return acts
}

// unexplained is how many of all clashes are left if a value of a column explains some.
func (g *Columns) unexplained(column string, acts []act, all, strays int) int {
	var values []string
	times := map[string]int{}
	of, varies, known := map[string]string{}, false, true
	for i := range acts {
		a, text := &acts[i], acts[i].line[column]
		if !a.gets {
			continue
		}
		if g.words.of(text) == Release {
			return all // it says what happened, and not how it ended
		}
		if !slices.Contains(values, text) {
			values = append(values, text)
		}
		times[text]++
		was, met := of[a.who]
		of[a.who], varies = text, varies || met && was != text
		_, answer := yesNo[Plain(text)]
		known = known && (answer || g.words.ending(text) != EndedSomehow)
	}
	const most = 4 // values of a column that says how acquires ended, or that they begin
	switch {
	case len(values) < 2, !varies && !known: // a client's own property, such as its host
		return all
	case len(values) > most:
		if !slices.Contains(values, "") {
			return all
		}
		values = []string{""}
	}
	least := all
	for _, v := range values {
		if len(times) > 2 && times[v] < 2 && v != "" { // of several words one that comes once says nothing
			continue
		}
		for _, other := range [...]bool{false, true} {
			no := func(a act) bool { return (a.line[column] == v) != other }
			if n, more := g.clashes(acts, no, varies && known); n >= 0 && n < least && more <= strays {
				least = n
			}
		}
	}
	return least
}

// clashes counts the acquires of what others hold, or their own client, where those of which no is
// true are no grants, and the releases of what is not held. What no is true of may be left out of
// the latter. It returns -1 if such an acquire has no reason.
func (g *Columns) clashes(acts []act, no func(act) bool, lenient bool) (clashes, strays int) {
	ends, nested, open := make([]int, len(acts)), make([]bool, len(acts)), map[[2]string]int{}
	for i, a := range acts {
		at := [2]string{a.key, a.who}
		from, held := open[at]
		nested[i] = held
		switch {
		case a.gets && no(a):
		case a.gets:
			open[at], ends[i] = i, i
		case held:
			if ends[from] = i; a.leaves {
				delete(open, at)
			}
		case a.leaves && !(lenient && no(a)):
			strays++
		}
	}
	until := map[string]map[string]int{} // when each client's last hold of a key ends
	for i, a := range acts {
		if !a.gets {
			continue
		}
		if until[a.key] == nil {
			until[a.key] = map[string]int{}
		}
		others := 0
		for who, end := range until[a.key] {
			if who != a.who && end > i {
				others++
			}
		}
		full := others >= g.permits
		switch {
		case !no(a):
			if until[a.key][a.who] = ends[i]; full || nested[i] && g.exclusive {
				clashes++
			}
		case !full && !nested[i] && !a.again:
			return -1, 0
		}
	}
	return clashes, strays
}

// vague are columns of results whose names do not say that 1 is success. Nor does the name of a
// column that only the user calls a result.
var vague = []string{"result", "outcome", "status", "statuscode", "httpstatus"}

// askNumbers asks what 0 and 1 mean in a result that holds nothing else and has a vague name: of an
// exit status 0 is success. Words that are yet to come are not known, either.
func (g *Columns) askNumbers() error {
	c := g.Chosen[fieldResult]
	if p, ok := FieldMatchOf(c); c == NoColumn || ok && p.Field == fieldResult && !slices.Contains(vague, lastName(c)) {
		return nil
	}
	met := map[string]bool{}
	for _, line := range g.log.Lines {
		if m := g.words.of(line[g.Chosen[FieldEvent]]); m != unknown && m != Ignore && line[c] != "" {
			met[line[c]] = true
		}
	}
	for v := range met {
		if v != "0" && v != "1" {
			return nil
		}
	}
	for _, v := range [...]string{"0", "1"} {
		if _, taught := g.words.results[v]; taught {
			continue
		}
		if met[v] {
			return &UnknownResult{Word: v}
		}
		g.words.results[v] = EndedSomehow
	}
	return nil
}
