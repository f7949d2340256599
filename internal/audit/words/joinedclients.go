package words

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
)

// A client may be told by two columns, such as the pod and the thread of it: client=pod+thread.
// So may a key: key=lock+namespace.

// Column is the column of a field as a mapping has it, of a client or a key both columns.
func (g *Columns) Column(f Field) string {
	if of, two := seconds[f]; two && g.Chosen[of] != "" && g.Chosen[of] != NoColumn {
		return g.Chosen[f] + "+" + g.Chosen[of]
	}
	return g.Chosen[f]
}

// scopes are columns within whose value alone a name of a lock may mean one lock.
var scopes = []string{"namespace", "ns", "tenant", "database", "db", "schema", "environment", "env", "stage", "cluster",
	"bucket", "shard", "partition", "queue", "topic", "account", "customer", "organization", "org", "workspace", "project"}

// isScope reports whether a column has a name of scopes, such as cluster or k8s.cluster_name.
func isScope(column string) bool {
	name := Plain(column[strings.LastIndexByte(column, '.')+1:])
	return slices.Contains(scopes, strings.TrimSuffix(strings.TrimSuffix(name, "id"), "name"))
}

// scoped asks whether a column is part of the key where one key has several of its values. If it is
// one, two holders in two namespaces hold two locks.
func (g *Columns) scoped() error {
	key := g.Chosen[FieldKey]
	if g.Chosen[FieldScope] != "" {
		return nil
	}
	g.Chosen[FieldScope] = NoColumn
	if g.Named[FieldKey] != "" || key == "" || key == NoColumn {
		return nil
	}
	for _, c := range g.Unread {
		if !isScope(c) {
			continue
		}
		if name, one, other := g.within(c); name != "" {
			shown := func(text string) string { return strconv.QuoteToGraphic(remarks.Excerpt(text)) }
			return &Ambiguous{Field: Fields[FieldKey], Columns: []string{key, key + "+" + c}, Map: g.Mapping(),
				Values: []string{shown(name), shown(name+"/"+one) + ", " + shown(name+"/"+other)}}
		}
	}
	return nil
}

// within finds a key of which lines about the lock tell two values of a column; "": there is none.
func (g *Columns) within(column string) (key, one, other string) {
	values := map[string]string{}
	for _, line := range g.log.Lines {
		name, value := line[g.Chosen[FieldKey]], line[column]
		if name == "" || value == "" || !slices.Contains(ofLock, g.means(line)) {
			continue
		}
		if was, known := values[name]; known && was != value {
			return name, was, value
		}
		values[name] = value
	}
	return "", "", ""
}

// join looks for the second column of a client. It is one that tells apart who
// has a lock where the first one alone is granted what it has.
func (g *Columns) join() {
	if g.Chosen[FieldPart] != "" {
		return
	}
	g.Chosen[FieldPart] = NoColumn
	first := g.Chosen[FieldClient]
	if !g.exclusive || g.Named[FieldClient] != "" || first == "" || g.Chosen[FieldEvent] == "" {
		return
	}
	lines := g.inTime()
	nests, strays := g.nested(lines, first, "")
	if nests == 0 {
		return
	}
	best := ""
	for _, c := range g.Unread {
		if p, ok := FieldMatchOf(c); !ok || p.Field != FieldClient {
			continue
		} else if b, _ := FieldMatchOf(best); best != "" && b.Rank <= p.Rank {
			continue
		}
		if n, s := g.nested(lines, first, c); n == 0 && s <= strays {
			best = c
		}
	}
	if best == "" {
		return
	}
	g.Chosen[FieldPart] = best
	g.Unread = slices.DeleteFunc(g.Unread, func(c string) bool { return c == best })
	g.Assume("One %s is granted a lock that it has, so its %s are clients of their own (--map client=%[1]s, or --reentrant).", first, best+"s")
}

// inTime are the lines of the sample in order of time, as far as that is known.
func (g *Columns) inTime() []map[string]string {
	stamps, way := g.stamps, times.Direction{}
	type timed struct {
		at   int64
		line map[string]string
	}
	var all []timed
	for _, line := range g.log.Lines {
		at, err := stamps.Parse(line[g.Chosen[FieldTime]])
		if err != nil {
			return g.log.Lines
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

// nested counts the grants of what a client had and the releases of what it had
// not, by one column of the client or two.
func (g *Columns) nested(lines []map[string]string, first, second string) (nests, strays int) {
	granted := slices.ContainsFunc(lines, func(line map[string]string) bool { return g.means(line) == Grant })
	held := map[[3]string]bool{}
	for _, line := range lines {
		at := [3]string{line[g.Chosen[FieldKey]], line[first], line[second]}
		if g.ended(line) != EndedOK {
			continue
		}
		switch m := g.means(line); {
		case m == Grant || m == Acquire && !granted:
			if held[at] {
				nests++
			}
			held[at] = true
		case m == Release || m == Lost:
			if !held[at] {
				strays++
			}
			delete(held, at)
		}
	}
	return nests, strays
}
