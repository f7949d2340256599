package audit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/times"
	"github.com/lockchaos/lockchaos/history"
)

// guesser finds the columns of a log that the user did not name: by their names, and where these leave it open by
// what the columns hold. It never decides between two that differ: that is an Ambiguous.
type guesser struct {
	remarks.Remarks
	named     [fieldCount]string // what the user said
	chosen    [fieldCount]string // the columns; "" or noColumn: there is none
	unread    []string           // columns that are no field's
	whole     bool               // each record is a whole hold, and has no event
	exclusive bool               // a client can't have a lock twice
	stamps    times.Reader
	words     vocabulary
	log       *sample
}

var errHeaderless = errors.New("the first line holds a time and no names of columns: a log in CSV begins with a line of names, such as time,client,event,key")

// choose finds the columns of all fields.
func (g *guesser) choose(s *sample) error {
	g.log = s
	if two := g.named[fieldClient] + "+" + g.named[fieldPart]; g.named[fieldPart] != "" && slices.Contains(s.names, two) {
		g.named[fieldClient], g.named[fieldPart] = two, ""
	}
	for f, name := range g.named {
		if name != "" && name != noColumn && name != fileColumn && s.fixed && !slices.Contains(s.names, name) {
			return fmt.Errorf("there is no column %q for the field %q; the columns are %s", name, field(f).named(), strings.Join(s.names, ", "))
		}
		g.chosen[f] = name
	}
	if g.whole { // what came of the work says nothing about the lock
		g.chosen[fieldEvent], g.chosen[fieldResult] = noColumn, noColumn
	}
	if g.named[fieldTime] == "" && !slices.ContainsFunc(s.names, namesTime) && slices.ContainsFunc(s.names, g.isTime) {
		return errHeaderless
	}
	for _, step := range []struct {
		find   func(field) error
		fields []field
	}{
		{g.byName, []field{fieldTime, fieldEnd, fieldEvent, fieldToken, fieldResult, fieldClient, fieldKey}},
		{g.byContent, []field{fieldTime, fieldEvent, fieldClient, fieldKey, fieldToken}},
	} {
		for _, f := range step.fields {
			if g.chosen[f] != "" {
				continue
			}
			if err := step.find(f); err != nil {
				return err
			}
		}
	}
	for _, c := range s.names {
		if !slices.Contains(g.chosen[:], c) {
			g.unread = append(g.unread, c)
		}
	}
	g.join()
	return nil
}

// byName chooses among the columns with a usual name.
func (g *guesser) byName(f field) error {
	rank := map[string]int{}
	var found []string
	for _, c := range g.log.names {
		if p, ok := standingOf(c); ok && p.field == f && !slices.Contains(g.chosen[:], c) && !slices.Contains(found, c) {
			rank[c] = p.rank
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return rank[a] - rank[b] })
	if f == fieldEvent {
		found = g.speaking(found)
	}
	found = g.fitting(f, found)
	if f == fieldToken && len(found) > 0 && rank[found[0]] >= second && !g.holds(f, found[0]) && len(g.log.values(found[0])) > 0 {
		g.Leave("The column %q holds other things than whole numbers, so it is no fencing token.", found[0])
		g.chosen[f] = noColumn
		return nil
	}
	if len(found) > 1 && rank[found[0]] < second {
		found = slices.DeleteFunc(found, func(c string) bool { return rank[c] >= second })
	}
	return g.take(f, found)
}

// speaking leaves those columns of events in which a lock is granted. Where none of them is one, it takes others: what a column holds says more than its name.
func (g *guesser) speaking(columns []string) []string {
	for _, among := range [...][]string{columns, g.log.names} {
		var speak []string
		for _, c := range among {
			if g.like(fieldEvent, c) && !slices.Contains(g.chosen[:], c) && !slices.Contains(speak, c) {
				speak = append(speak, c)
			}
		}
		if len(speak) > 0 {
			return speak
		}
	}
	return columns
}

// fitting leaves those columns whose values are a field's; all of them where none is. What is the same on every line
// names no client and no key where another column does.
func (g *guesser) fitting(f field, columns []string) []string {
	if fit := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return !g.holds(f, c) }); len(fit) > 0 {
		return fit
	}
	return columns
}

// holds reports whether what a column holds is what a field does.
func (g *guesser) holds(f field, column string) bool {
	values := g.log.values(column)
	all := func(is func(string) bool) bool {
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !is(v) })
	}
	switch f {
	case fieldTime, fieldEnd:
		return all(func(v string) bool { _, err := g.stamps.Parse(v); return err == nil })
	case fieldEvent:
		return all(func(v string) bool { return g.words.of(v) != unknown })
	case fieldToken:
		return all(isToken)
	case fieldResult:
		return all(func(v string) bool { return g.words.ending(v) != endedSomehow })
	}
	return distinct(values) > 1
}

func isToken(v string) bool {
	n, err := strconv.ParseInt(v, 10, 64)
	return v == "-" || err == nil && n >= 0
}

// isTime reports whether a text is a time and nothing else, whatever number it is.
func (g *guesser) isTime(text string) bool {
	n, err := g.stamps.Parse(text)
	return err == nil && (strings.ContainsAny(text, ":T") || n > 100e6*1e9)
}

// take chooses a column, if all that are left would tell the same.
func (g *guesser) take(f field, columns []string) error {
	if len(columns) == 0 {
		return nil
	}
	alike := g.equal
	if f == fieldClient || f == fieldKey || f == fieldResult {
		alike = g.log.same
	}
	columns = slices.DeleteFunc(columns, func(c string) bool { return c != columns[0] && alike(c, columns[0]) })
	if len(columns) > 1 {
		return g.ambiguous(f, columns)
	}
	g.chosen[f] = columns[0]
	return nil
}

// equal reports whether two columns hold the same on every line: the same words, or others that mean the same.
func (g *guesser) equal(a, b string) bool {
	return !slices.ContainsFunc(g.log.lines, func(line map[string]string) bool {
		x, y := line[a], line[b]
		return x != y && (g.words.of(x) == unknown || g.words.of(x) != g.words.of(y))
	})
}

// byContent looks for a field among the columns that are none yet.
func (g *guesser) byContent(f field) error {
	var found []string
	for _, c := range g.log.names {
		if p, ok := standingOf(c); slices.Contains(g.chosen[:], c) || slices.Contains(found, c) || ok && p.field != f {
			continue
		}
		if g.like(f, c) {
			found = append(found, c)
		}
	}
	switch {
	case f == fieldToken && len(found) != 1, len(found) == 0:
		return nil
	case f == fieldKey: // a wrong one would hide two holders of a lock, and none would accuse those of two locks
		return g.ambiguous(f, found)
	}
	return g.take(f, g.fitting(f, found))
}

// like reports whether a column without a usual name may be a field's.
func (g *guesser) like(f field, column string) bool {
	values := g.log.values(column)
	switch f {
	case fieldTime:
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !g.isTime(v) })
	case fieldEvent:
		return slices.ContainsFunc(values, func(v string) bool { m := g.words.of(v); return m == acquire || m == grant })
	case fieldToken:
		return g.rises(column)
	}
	return g.log.varied(column) && !slices.Contains(notKeys, plain(column)) && !slices.ContainsFunc(values, g.isTime)
}

// fewestGrants is how many grants must have rising numbers for these to be taken for tokens.
const fewestGrants = 3

// rises reports whether a column's numbers rise with every grant of a key and stay the same until the next one. A
// number of the line, or of the write, does not.
func (g *guesser) rises(column string) bool {
	if !g.holds(fieldToken, column) || g.chosen[fieldEvent] == "" || g.chosen[fieldClient] == "" {
		return false
	}
	last, under, grants, others := map[string]int64{}, map[[2]string]int64{}, 0, 0
	for _, line := range g.log.lines {
		v, err := strconv.ParseInt(line[column], 10, 64)
		if err != nil {
			continue
		}
		key := line[g.chosen[fieldKey]]
		by := [2]string{line[g.chosen[fieldClient]], key}
		if m := g.words.of(line[g.chosen[fieldEvent]]); m == grant || m == acquire {
			if was, ok := last[key]; ok && v <= was {
				return false
			}
			last[key], under[by] = v, v
			grants++
		} else if held, ok := under[by]; ok {
			if v != held {
				return false
			}
			others++
		}
	}
	return grants >= fewestGrants && others > 0
}

// ambiguous asks the user which column it is, with a complete answer to choose from.
func (g *guesser) ambiguous(f field, columns []string) error {
	a := &Ambiguous{Field: Fields[f], Columns: columns}
	for _, c := range columns {
		var shown []string
		for _, v := range g.log.values(c) {
			if v = strconv.QuoteToGraphic(remarks.Excerpt(v)); !slices.Contains(shown, v) && len(shown) < 2 {
				shown = append(shown, v)
			}
		}
		a.Values = append(a.Values, strings.Join(shown, ", "))
	}
	g.chosen[f] = columns[0]
	for _, rest := range [...]field{fieldTime, fieldEvent, fieldClient, fieldKey, fieldToken} {
		if g.chosen[rest] == "" {
			_ = g.byName(rest) // what is ambiguous besides is asked next
		}
	}
	a.Map = g.mapping()
	return a
}

// missing says that a line lacks a field.
func (g *guesser) missing(f field) error {
	pairs := slices.DeleteFunc(g.mapping(), func(pair string) bool { return strings.HasPrefix(pair, Fields[f]+"=") })
	return &Missing{Field: Fields[f], Map: append(pairs, Fields[f]+"=COLUMN")}
}

// mapping is what was found, as Options.Map has it.
func (g *guesser) mapping() (pairs []string) {
	for f := range Fields {
		if column := g.column(field(f)); column != "" && (column != noColumn || g.named[f] != "" || f == int(fieldToken)) {
			pairs = append(pairs, Fields[f]+"="+column)
		}
	}
	return pairs
}

// keyless says that no column is the field key.
const keyless = "No column names the lock, so all lines are taken to be about one."

// tell says what was found, now that the whole log has been read.
func (g *guesser) tell(l *log, read rows, found *found) error {
	l.Add(&g.Remarks)
	if _, ok := read.(*jsonRows); ok { // a column may come late
		for f, name := range found.used {
			if g.named[f] != "" && g.named[f] != noColumn && g.named[f] != fileColumn && name == "" {
				return &history.SyntaxError{File: l.file, Line: 1, Err: fmt.Errorf("no line has the column %q, which --map gives the field %q", g.named[f], field(f).named())}
			}
			if g.chosen[f] == "" {
				g.chosen[f] = name
			}
		}
	}
	if _, text := read.(*textRows); found.skipped > 0 && text {
		l.Leave("Lines that --pattern does not match: %d, the first is line %d; they are left out (--skip-unmatched).", found.skipped, found.first)
	} else if found.skipped > 0 {
		l.Leave("Lines that are no JSON: %d, the first is line %d; they are left out.", found.skipped, found.first)
	}
	l.Doubt(found.telling, "it is left out, and seems to tell of a lock.")
	if found.other > 0 {
		l.Leave("Lines that say nothing about a lock: %d, the first is line %d; they are left out.", found.other, found.strange.Line)
	}
	if !read.has(fieldKey, found) {
		l.Leave(keyless)
	}
	l.columns = g
	return nil
}

// indexes are the places of the chosen columns among names; -1: there is none.
func (g *guesser) indexes(names []string) (index [fieldCount]int) {
	for f, column := range g.chosen {
		index[f] = -1
		if column != "" {
			index[f] = slices.Index(names, column)
		}
	}
	return index
}
