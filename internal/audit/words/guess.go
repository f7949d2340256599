package words

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
)

// Columns finds the columns of a log that the user did not name: by their
// names, and where these leave it open by what the columns hold. It never
// decides between two that differ: that is an Ambiguous.
type Columns struct {
	remarks.Remarks
	Named     [FieldCount]string // what the user said
	Chosen    [FieldCount]string // the columns; "" or noColumn: there is none
	Unread    []string           // columns that are no field's
	whole     bool               // each record is a whole hold, and has no event
	exclusive bool               // a client can't have a lock twice
	permits   int                // how many clients may have it at once
	settled   bool               // nothing is asked about how acquires ended
	told      bool               // acquires say that they were granted, so one that says nothing was not
	stamps    times.Reader
	words     Vocabulary
	log       *Sample
}

var errHeaderless = errors.New("the first line holds a time and no names of columns: a log in CSV begins with a line of names, such as time,client,event,key")

// Choose finds the columns of all fields.
func (g *Columns) Choose(s *Sample) error {
	g.log = s
	for f, second := range seconds { // a column may have such a name
		if two := g.Named[f] + "+" + g.Named[second]; g.Named[second] != "" && slices.Contains(s.Names, two) {
			g.Named[f], g.Named[second] = two, ""
		}
	}
	for f, name := range g.Named {
		if name != "" && name != NoColumn && name != FileColumn && s.Fixed && !slices.Contains(s.Names, name) {
			return fmt.Errorf("there is no column %q for the field %q; the columns are %s", name, Field(f).Named(),
				strings.Join(s.Names, ", "))
		}
		g.Chosen[f] = name
	}
	if g.whole { // what came of the work says nothing about the lock
		g.Chosen[FieldEvent], g.Chosen[fieldResult] = NoColumn, NoColumn
	}
	if g.Named[FieldTime] == "" && !slices.ContainsFunc(s.Names, NamesTime) && slices.ContainsFunc(s.Names, g.isTime) {
		return errHeaderless
	}
	for _, step := range []struct {
		find   func(Field) error
		fields []Field
	}{
		{g.byName, []Field{FieldTime, FieldEnd, FieldEvent, FieldToken, fieldResult, fieldMode, FieldError, FieldClient,
			FieldKey}},
		{g.byContent, []Field{FieldTime, FieldEvent, fieldResult, FieldClient, FieldKey, FieldToken}},
	} {
		for _, f := range step.fields {
			if g.Chosen[f] != "" {
				continue
			}
			if err := step.find(f); err != nil {
				return err
			}
		}
	}
	for _, c := range s.Names {
		if !slices.Contains(g.Chosen[:], c) {
			g.Unread = append(g.Unread, c)
		}
	}
	if err := g.askNumbers(); err != nil {
		return err
	}
	g.told = g.told || slices.ContainsFunc(s.Lines, g.tellsGrant)
	g.join()
	if err := g.scoped(); err != nil {
		return err
	}
	return g.askResult()
}

// tellsGrant reports whether a line is an acquire that says by the result that it was granted.
func (g *Columns) tellsGrant(line map[string]string) bool {
	return g.words.of(line[g.Chosen[FieldEvent]]) == Acquire && line[g.Chosen[fieldResult]] != "" && g.ended(line) == EndedOK
}

// TellsGrants reports whether acquires say that they were granted: one that says nothing was not.
func (g *Columns) TellsGrants() bool { return g.told }

// SetTellsGrants says that some acquire said so, which may not be among the lines that are read.
func (g *Columns) SetTellsGrants(told bool) { g.told = g.told || told }

// AssumeAsked says what some acquires are taken for that say nothing of how they ended.
func (g *Columns) AssumeAsked() {
	if g.Chosen[fieldResult] == "" {
		g.Assume("An acquire without a result asks for the lock, and is not granted it: other acquires say that they are.")
		return
	}
	g.Assume("An acquire with an empty column %q asks for the lock, and is not granted it: other acquires say there that they are.", g.Chosen[fieldResult])
}

// byName chooses among the columns with a usual name.
func (g *Columns) byName(f Field) error {
	rank := map[string]int{}
	var found []string
	for _, c := range g.log.Names {
		if p, ok := FieldMatchOf(c); ok && p.Field == f && !slices.Contains(g.Chosen[:], c) &&
			!slices.Contains(found, c) {
			rank[c] = p.Rank
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return rank[a] - rank[b] })
	switch f {
	case FieldEvent:
		found = g.speaking(found)
	case fieldResult: // "acquired" may also say when
		found = slices.DeleteFunc(found, func(c string) bool { return slices.ContainsFunc(g.log.values(c), g.isTime) })
	case FieldError:
		found = g.covering(found)
	case fieldMode:
		g.mode(found)
		return nil
	}
	found = g.fitting(f, found)
	if f == FieldToken && len(found) > 0 && rank[found[0]] >= second && !g.holds(f, found[0]) &&
		len(g.log.values(found[0])) > 0 {
		g.Leave("The column %q holds other things than whole numbers, so it is no fencing token.", found[0])
		g.Chosen[f] = NoColumn
		return nil
	}
	if len(found) > 1 && rank[found[0]] < second {
		found = slices.DeleteFunc(found, func(c string) bool { return rank[c] >= second })
	}
	return g.take(f, found)
}

// covering leaves the columns of errors that tell of each error that another one tells of: a first
// one of several that tell of the same.
func (g *Columns) covering(columns []string) []string {
	covers := func(a, b string) bool {
		return !slices.ContainsFunc(g.log.Lines, func(line map[string]string) bool {
			return failing(line[b]) != EndedOK && failing(line[a]) == EndedOK
		})
	}
	for _, a := range columns {
		if !slices.ContainsFunc(columns, func(b string) bool { return !covers(a, b) }) {
			return []string{a}
		}
	}
	return columns
}

// speaking leaves those columns of events in which a lock is granted. Where none
// of them is one, it takes others: what a column holds says more than its name.
func (g *Columns) speaking(columns []string) []string {
	for _, among := range [...][]string{columns, g.log.Names} {
		var speak []string
		for _, c := range among {
			if g.like(FieldEvent, c) && !slices.Contains(g.Chosen[:], c) && !slices.Contains(speak, c) {
				speak = append(speak, c)
			}
		}
		if len(speak) > 0 {
			return speak
		}
	}
	return columns
}

// fitting leaves those columns whose values are a field's; all of them where none is.
// What is the same on every line names no client and no key where another column does, but
// for a column of numbers of holds, which would be the keys of one client each.
func (g *Columns) fitting(f Field, columns []string) []string {
	fit := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return !g.holds(f, c) })
	if len(fit) == 0 || f == FieldKey && !slices.ContainsFunc(fit, g.shared) {
		return columns
	}
	return fit
}

// shared reports whether a value of a column comes with two clients.
func (g *Columns) shared(column string) bool {
	by, client := map[string]string{}, g.Chosen[FieldClient]
	return slices.ContainsFunc(g.log.Lines, func(line map[string]string) bool {
		first, met := by[line[column]]
		by[line[column]] = line[client]
		return met && line[column] != "" && first != line[client]
	})
}

// holds reports whether what a column holds is what a field does.
func (g *Columns) holds(f Field, column string) bool {
	values := g.log.values(column)
	all := func(is func(string) bool) bool {
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !is(v) })
	}
	switch f {
	case FieldTime, FieldEnd:
		return all(func(v string) bool { _, err := g.stamps.Parse(v); return err == nil })
	case FieldEvent:
		return all(func(v string) bool { return g.words.of(v) != unknown })
	case FieldToken:
		return all(isToken)
	case fieldResult:
		return all(func(v string) bool { return g.words.ending(v) != EndedSomehow })
	}
	return f == fieldMode || f == FieldError || distinct(values) > 1
}

func isToken(v string) bool {
	n, err := strconv.ParseInt(v, 10, 64)
	return v == "-" || err == nil && n >= 0
}

// isTime reports whether a text is a time and nothing else, whatever number it is.
func (g *Columns) isTime(text string) bool {
	n, err := g.stamps.Parse(text)
	return err == nil && (strings.ContainsAny(text, ":T") || n > 100e6*1e9)
}

// take chooses a column, if all that are left would tell the same.
func (g *Columns) take(f Field, columns []string) error {
	if len(columns) == 0 {
		return nil
	}
	alike := g.equal
	if f == FieldClient || f == FieldKey || f == fieldResult {
		alike = g.log.same
	}
	columns = slices.DeleteFunc(columns, func(c string) bool { return c != columns[0] && alike(c, columns[0]) })
	if len(columns) > 1 {
		return g.ambiguous(f, columns)
	}
	g.Chosen[f] = columns[0]
	return nil
}

// equal reports whether two columns hold the same on every line: the same
// words, or others that mean the same.
func (g *Columns) equal(a, b string) bool {
	return !slices.ContainsFunc(g.log.Lines, func(line map[string]string) bool {
		x, y := line[a], line[b]
		return x != y && (g.words.of(x) == unknown || g.words.of(x) != g.words.of(y))
	})
}

// byContent looks for a field among the columns that are none yet.
func (g *Columns) byContent(f Field) error {
	var found []string
	for _, c := range g.log.Names {
		if p, ok := FieldMatchOf(c); slices.Contains(g.Chosen[:], c) || slices.Contains(found, c) || ok && p.Field != f {
			continue
		}
		if g.like(f, c) {
			found = append(found, c)
		}
	}
	switch {
	case f == FieldToken && len(found) != 1, len(found) == 0:
		return nil
	case f == FieldKey, f == fieldResult: // a wrong one would hide two holders of a lock, and none would accuse those of two locks
		return g.ambiguous(f, found)
	}
	return g.take(f, g.fitting(f, found))
}

// means is what a line's event means, by the columns chosen so far.
func (g *Columns) means(line map[string]string) Meaning {
	m, ended := g.words.of(line[g.Chosen[FieldEvent]]), g.ended(line)
	if ended == EndedNotYet {
		return m.begun()
	}
	return m.inRecord(line[g.Chosen[fieldResult]] != "" || ended != EndedOK, g.told)
}

// ended is how a line's op ended, by the columns chosen so far.
func (g *Columns) ended(line map[string]string) Ending {
	return g.words.ended(line[g.Chosen[fieldResult]], line[g.Chosen[FieldError]])
}

// like reports whether a column without a usual name may be a field's.
func (g *Columns) like(f Field, column string) bool {
	values := g.log.values(column)
	switch f {
	case FieldTime:
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !g.isTime(v) })
	case FieldEvent:
		return slices.ContainsFunc(values, func(v string) bool {
			m := g.words.of(v)
			return m == Acquire || m == attempt || m == Grant
		})
	case FieldToken:
		return g.rises(column)
	case fieldResult:
		return g.answers(column)
	}
	// A lock may have one record only where each is a whole hold.
	return (g.log.varied(column) || g.whole && f == FieldKey && distinct(values) > 1) &&
		!slices.Contains(notKeys, Plain(column)) && !slices.ContainsFunc(values, g.isTime)
}

// answers reports whether a column seems to say how acquires ended that may be requests as well as
// grants: by words of which some are of success, and some are not. Yes and no may answer anything,
// so what they explain counts (askResult).
func (g *Columns) answers(column string) bool {
	var good, bad bool
	for _, line := range g.log.Lines {
		text := line[column]
		m := g.words.of(line[g.Chosen[FieldEvent]])
		if _, answer := yesNo[Plain(text)]; answer || m == Grant || strings.Trim(text, "0123456789.-") == "" && text != "" {
			return false
		}
		if m != Acquire && m != attempt || text == "" {
			continue
		}
		switch e := g.words.ending(text); e {
		case EndedSomehow:
			return false
		case EndedOK, EndedFail:
			good, bad = good || e == EndedOK, bad || e == EndedFail
		}
	}
	return good && bad && g.Chosen[FieldError] == "" && !slices.Contains(notKeys, Plain(column))
}

// fewestGrants is how many grants must have rising numbers for these to be taken for tokens.
const fewestGrants = 3

// rises reports whether a column's numbers rise with every grant of a key and stay
// the same until the next one. A number of the line, or of the write, does not.
func (g *Columns) rises(column string) bool {
	if !g.holds(FieldToken, column) || g.Chosen[FieldEvent] == "" || g.Chosen[FieldClient] == "" {
		return false
	}
	last, under, grants, others := map[string]int64{}, map[[2]string]int64{}, 0, 0
	for _, line := range g.log.Lines {
		v, err := strconv.ParseInt(line[column], 10, 64)
		if err != nil {
			continue
		}
		key := line[g.Chosen[FieldKey]]
		by := [2]string{line[g.Chosen[FieldClient]], key}
		if m := g.means(line); m == Grant || m == Acquire {
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
func (g *Columns) ambiguous(f Field, columns []string) error {
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
	g.Chosen[f] = columns[0]
	for _, rest := range [...]Field{FieldTime, FieldEvent, FieldClient, FieldKey, FieldToken} {
		if g.Chosen[rest] == "" {
			_ = g.byName(rest) // what is ambiguous besides is asked next
		}
	}
	a.Map = g.Mapping()
	return a
}

// missing says that a line lacks a field.
func (g *Columns) missing(f Field) error {
	pairs := slices.DeleteFunc(g.Mapping(), func(pair string) bool { return strings.HasPrefix(pair, Fields[f]+"=") })
	return &Missing{Field: Fields[f], Map: append(pairs, Fields[f]+"=COLUMN")}
}

// Mapping is what was found, as Options.Map has it.
func (g *Columns) Mapping() (pairs []string) {
	for f := range Fields {
		if column := g.Column(Field(f)); column != "" &&
			(column != NoColumn || g.Named[f] != "" || f == int(FieldToken)) {
			pairs = append(pairs, Fields[f]+"="+column)
		}
	}
	return pairs
}

// Indexes are the places of the chosen columns among names; -1: there is none.
func (g *Columns) Indexes(names []string) (index [FieldCount]int) {
	for f, column := range g.Chosen {
		index[f] = -1
		if column != "" {
			index[f] = slices.Index(names, column)
		}
	}
	return index
}
