package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// Doubts: what another reading of the stamps would make a violation, or what the history does not say how it ended.

// How long a hold is taken to last: to its last act, to the end of its promise too, and where it was never given up and nothing is promised, for ever.
const (
	acts = iota
	promises
	openEnds
)

// item is what carries a token, and when.
type item struct {
	token      int64
	begin, end int64
}

// overtaken counts the items that began more than margin after one with a greater token had ended.
func overtaken(items []item, margin int64) int {
	byEnd := slices.Clone(items)
	slices.SortFunc(byEnd, func(a, b item) int { return cmp.Compare(a.end, b.end) })
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.begin, b.begin) })
	n, at, highest := 0, 0, int64(0)
	for _, x := range items {
		for at < len(byEnd) && byEnd[at].end+margin < x.begin {
			highest = max(highest, byEnd[at].token)
			at++
		}
		if x.token < highest {
			n++
		}
	}
	return n
}

// loosest is how far a stamp may lie from its instant by the loosest reading. Stamps of whole seconds leave open what came first within one.
func (t *tracer) loosest() int64 {
	return max(int64(t.options.ClockError), (int64(grains[t.log.grain.at])-1)/2)
}

// blame says what leaves it open.
func (t *tracer) blame() string {
	if t.loosest() > int64(t.options.ClockError) {
		return fmt.Sprintf("the stamps, which tell the %s and nothing finer, can't tell", t.log.grain)
	}
	return fmt.Sprintf("the clocks, which err by up to %s, can't tell", t.options.ClockError)
}

// possible is how many more are overtaken by the loosest reading of the stamps than by the strictest.
// With crossing, an op may also take effect as late as its end: its client may freeze on the way.
func (t *tracer) possible(items [][]item, crossing bool) (sum int) {
	for _, list := range items {
		loose := slices.Clone(list)
		for i, x := range list {
			if crossing { // as late as may be, beside the others as early as may be
				loose[i] = item{x.token, x.end, x.begin}
			}
		}
		sum += max(0, overtaken(loose, -2*t.loosest())-overtaken(list, 2*int64(t.options.ClockError)))
	}
	return sum
}

// doubtHolds says what is in doubt about holds; empty when nothing is.
func (t *tracer) doubtHolds() string {
	err := int64(t.options.ClockError)
	certain, clocks, open := 0, 0, 0
	begun := t.begun()
	strict, loose, widest := t.spans(begun, err, acts), t.spans(begun, -t.loosest(), promises), t.spans(begun, -t.loosest(), openEnds)
	for key := range strict {
		a, b, c := crowded(strict[key], t.options.Permits), crowded(loose[key], t.options.Permits), crowded(widest[key], t.options.Permits)
		certain += a
		if t.loosest() > 0 { // else the stamps are taken at their word, and judged by it
			clocks += max(0, b-a)
		}
		if c > max(a, b) {
			open += endless(widest[key])
		}
	}
	more := ""
	if certain > 0 {
		more = "more "
	}
	var why []string
	if open > 0 {
		why = append(why, fmt.Sprintf("%s never given up in the history, so nobody knows whether it lasted into a later grant (if grants expire, --ttl tells when).",
			counted(open, "hold")+was(open)))
	}
	if clocks > 0 {
		why = append(why, fmt.Sprintf("%s may have been made while others still held the key: %s.",
			counted(clocks, more+"grant"), t.blame()))
	}
	return strings.Join(why, " ")
}

// endless counts the holds that may have lasted into a later grant, for all that the history tells.
func endless(spans []span) int {
	n := 0
	for i, s := range spans { // in order of their begins, as crowded left them
		if s.open && i+1 < len(spans) && s.last > spans[i+1].begin {
			n++
		}
	}
	return n
}

// tokenItems are the tokens that were granted, by key.
func (t *tracer) tokenItems() [][]item {
	items := make([][]item, len(t.log.keys.list))
	for i := range t.holds {
		if h := &t.holds[i]; h.token != 0 && !h.inferred {
			a := &t.log.ops[h.acquire]
			items[h.key] = append(items[h.key], item{h.token, a.begin(), a.finish()})
		}
	}
	return items
}

// doubtTokens says what is in doubt about the order of tokens.
func (t *tracer) doubtTokens() string {
	if n := t.possible(t.tokenItems(), false); n > 0 {
		return fmt.Sprintf("%s may have come after one with a greater token: %s.", counted(n, "grant"), t.blame())
	}
	return ""
}

// doubtWrites says what is in doubt about the order of writes.
func (t *tracer) doubtWrites(holds string) string {
	items, grants, tokens := t.writeItems()
	switch n, crossed := t.possible(items, false), t.possible(items, true); {
	case t.loose > 0:
		return fmt.Sprintf("%s were made under no grant that the history has.", counted(t.loose, "write"))
	case n > 0:
		return fmt.Sprintf("%s may have come after one with a greater token: %s.", counted(n, "write"), t.blame())
	case tokens && crossed > 0:
		return fmt.Sprintf("%s under way while one with a greater token was: the history does not tell which the store took first.", counted(crossed, "write")+was(crossed))
	case t.unordered > 0:
		return fmt.Sprintf("%s too close to one of another grant to tell which came first.", counted(t.unordered, "write")+was(t.unordered))
	case !tokens && (holds != "" || t.close(grants) > 0):
		return "Without tokens, writes are judged by whose grant came first, and that is not certain of all."
	}
	return ""
}

// writeItems are the accepted writes and their grants, by key. tokens: they order all of them.
func (t *tracer) writeItems() (writes, grants [][]item, tokens bool) {
	writes, grants = make([][]item, len(t.log.keys.list)), make([][]item, len(t.log.keys.list))
	tokens = true
	wrote := map[int32]bool{}
	for i := range t.log.ops {
		o := &t.log.ops[i]
		if o.kind != history.Write || o.outcome != history.OK || o.grant == 0 {
			continue
		}
		a := &t.log.ops[o.grant-1]
		tokens = tokens && a.token != 0 && !t.broken[o.key] && t.options.Tokens == "fencing"
		writes[o.key] = append(writes[o.key], item{a.token, o.begin(), o.finish()})
		if !wrote[o.grant] {
			wrote[o.grant] = true
			grants[o.key] = append(grants[o.key], item{a.token, a.begin(), a.finish()})
		}
	}
	return writes, grants, tokens
}

// close counts the grants that the clocks can't put in order with an earlier one.
func (t *tracer) close(grants [][]item) int {
	n, margin := 0, 2*t.loosest()
	if margin == 0 {
		return 0 // the stamps are taken at their word
	}
	for _, list := range grants {
		slices.SortFunc(list, func(a, b item) int { return cmp.Compare(a.begin, b.begin) })
		end := int64(math.MinInt64 / 2)
		for _, g := range list {
			if end+margin >= g.begin {
				n++
			}
			end = max(end, g.end)
		}
	}
	return n
}

// counted writes a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
