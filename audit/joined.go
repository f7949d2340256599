package audit

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/audit/times"
)

// A client may be told by two columns, such as the pod and the thread of it: client=pod+thread. The second one is the field fieldPart.

// named is how people call a field.
func (f field) named() string {
	if f == fieldPart {
		return Fields[fieldClient]
	}
	return Fields[f]
}

// splitClient takes a mapping of two columns apart.
func splitClient(named *[fieldCount]string) {
	if first, second, joined := strings.Cut(named[fieldClient], "+"); joined && first != "" && second != "" {
		named[fieldClient], named[fieldPart] = first, second
	}
}

// column is the column of a field as a mapping has it, of a client both columns.
func (g *guesser) column(f field) string {
	if second := g.chosen[fieldPart]; f == fieldClient && second != "" && second != noColumn {
		return g.chosen[f] + "+" + second
	}
	return g.chosen[f]
}

// joinedClient is the name of a client of which two columns tell.
func joinedClient(to, first, second []byte) []byte {
	return append(append(append(to, first...), '/'), second...)
}

// join looks for the second column of a client. It is one that tells apart who has a lock where the first one alone is granted what it has.
func (g *guesser) join() {
	if g.chosen[fieldPart] != "" {
		return
	}
	g.chosen[fieldPart] = noColumn
	first := g.chosen[fieldClient]
	if !g.exclusive || g.named[fieldClient] != "" || first == "" || g.chosen[fieldEvent] == "" {
		return
	}
	lines := g.inTime()
	nests, strays := g.nested(lines, first, "")
	if nests == 0 {
		return
	}
	best := ""
	for _, c := range g.unread {
		if p, ok := standingOf(c); !ok || p.field != fieldClient {
			continue
		} else if b, _ := standingOf(best); best != "" && b.rank <= p.rank {
			continue
		}
		if n, s := g.nested(lines, first, c); n == 0 && s <= strays {
			best = c
		}
	}
	if best == "" {
		return
	}
	g.chosen[fieldPart] = best
	g.unread = slices.DeleteFunc(g.unread, func(c string) bool { return c == best })
	g.Assume("One %s is granted a lock that it has, so its %s are clients of their own (--map client=%[1]s, or --reentrant).", first, best+"s")
}

// inTime are the lines of the sample in order of time, as far as that is known.
func (g *guesser) inTime() []map[string]string {
	stamps, way := g.stamps, times.Way{}
	type timed struct {
		at   int64
		line map[string]string
	}
	var all []timed
	for _, line := range g.log.lines {
		at, err := stamps.Parse(line[g.chosen[fieldTime]])
		if err != nil {
			return g.log.lines
		}
		way.Add(at)
		all = append(all, timed{at, line})
	}
	if way.NewestFirst() {
		slices.Reverse(all)
	}
	slices.SortStableFunc(all, func(a, b timed) int { return int(min(max(a.at-b.at, -1), 1)) })
	lines := make([]map[string]string, len(all))
	for i := range all {
		lines[i] = all[i].line
	}
	return lines
}

// nested counts the grants of what a client had and the releases of what it had not, by one column of the client or two.
func (g *guesser) nested(lines []map[string]string, first, second string) (nests, strays int) {
	event, granted := g.chosen[fieldEvent], false
	for _, line := range lines {
		granted = granted || g.words.of(line[event]) == grant
	}
	held := map[[3]string]bool{}
	for _, line := range lines {
		at := [3]string{line[g.chosen[fieldKey]], line[first], line[second]}
		if g.words.ending(line[g.chosen[fieldResult]]) != endedOK {
			continue
		}
		switch m := g.words.of(line[event]); {
		case m == grant || m == acquire && !granted:
			if held[at] {
				nests++
			}
			held[at] = true
		case m == release || m == lost:
			if !held[at] {
				strays++
			}
			delete(held, at)
		}
	}
	return nests, strays
}
