package audit

import (
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
)

// What stays uncertain of a log: what another reading of the stamps would make a violation, or what
// the history does not say how it ended.

// whyUncertain says what leaves it open.
func (t *tracer) whyUncertain() string {
	if t.loosest() > int64(t.options.ClockError) {
		of := ""
		if len(t.cutters) > 0 {
			of = " of " + t.cutClients()
		}
		return fmt.Sprintf("the stamps%s, which tell the %s and nothing finer, can't tell", of, t.vague())
	}
	return fmt.Sprintf("the clocks, which err by up to %s, can't tell", t.options.ClockError)
}

// possible is how many more are overtaken by the loosest reading of the stamps
// than by the strictest. With crossing, an op may also take effect as late as
// its end: its client may freeze on the way.
func (t *tracer) possible(items *tokenOrder, crossing bool) (sum int) {
	if t.loosest() == 0 && !crossing {
		return 0 // there is only one reading
	}
	keys := len(t.log.Keys.List)
	strict := items.overtaken(keys, 2*int64(t.options.ClockError), false)
	if items.short != nil && !crossing {
		items = items.short
	}
	for grain := range t.vague() + 1 {
		loose := items.overtaken(keys, -2*t.slack(grain), crossing)
		for k := range loose {
			if t.log.grains.key(int32(k)) == grain {
				sum += max(0, loose[k]-strict[k])
			}
		}
	}
	return sum
}

// unsaid says what is open of holds: of so many (1), where the first one is told (2), and that so
// many were (3), or grants (4).
var unsaid = [whys]string{
	unasked:     "No line says when %[1]s began that ended with a release%[2]s. If a word of the log says that the lock was granted: --events grant=WORD.",
	waited:      "%[4]s waited for%[2]s. Nobody knows when the attempt that succeeded began, so the hold may have lasted into a later grant.",
	unconfirmed: "Nobody confirmed the release of %[1]s%[2]s, so nobody knows whether the lock was still held then.",
	endless:     "%[3]s never given up in the history%[2]s, so nobody knows whether the lock was still held at a later grant (if grants expire, --ttl tells when).",
}

// holdDoubts is what is in doubt about holds.
type holdDoubts struct {
	open   lasting
	clocks int // grants that the stamps can't put behind the holds of others
	more   bool
}

// uncertainHolds finds what is in doubt about holds, by three readings of them.
func (t *tracer) uncertainHolds() (d holdDoubts) {
	strict, _ := t.crowded(t.readings[acts])
	loose, _ := t.crowded(t.readings[promises])
	widest, lasted := t.crowded(t.readings[openEnds])
	for key := range strict {
		a, b, c := strict[key], loose[key], widest[key]
		d.more = d.more || a > 0
		if t.loosest() > 0 { // else the stamps are taken at their word, and judged by it
			d.clocks += max(0, b-a)
		}
		if l := lasted[key]; l != nil && c > max(a, b) {
			for why, n := range l.holds {
				if n > 0 {
					d.open.add(l.first[why], n)
				}
			}
		}
	}
	return d
}

// sayHolds says what is in doubt about holds; empty: nothing is.
func (t *tracer) sayHolds(d holdDoubts) string {
	var why []string
	for i, n := range d.open.holds {
		if n > 0 {
			why = append(why, fmt.Sprintf(unsaid[i], remarks.Count(n, "hold"), t.where(d.open.first[i], n),
				remarks.Were(n, "hold"), remarks.Were(n, "grant")))
		}
	}
	if d.clocks > 0 {
		noun := "grant"
		if d.more {
			noun = "more grant"
		}
		why = append(why, fmt.Sprintf("%s may have been made while others still held the key: %s.",
			remarks.Count(d.clocks, noun), t.whyUncertain()))
	}
	return strings.Join(why, " ")
}

// where says which line tells of the first of so many open holds.
func (t *tracer) where(first span, n int) string {
	switch line := t.options.number(int(t.lineOf(first))); {
	case line == 0:
		return ""
	case n == 1:
		return fmt.Sprintf(" (line %d)", line)
	default:
		return fmt.Sprintf(" (the first: line %d)", line)
	}
}

// lineOf is the line that leaves a hold open: of its release, or else of its grant; 0: none.
func (t *tracer) lineOf(s span) int32 {
	la := t.order[s.lane-1]
	begin, least, found := s.begin+int64(t.options.ClockError)+t.width(la), int64(never), int32(-1)
	for n := la.newest; n >= 0; n = t.holds.See(n).before {
		h := t.holds.See(n)
		began := [...]int64{h.finish, t.early[n], h.since}
		for _, at := range began {
			if off := max(at-begin, begin-at); at != 0 && off < least {
				least, found = off, n
			}
		}
	}
	if found < 0 {
		return 0
	}
	h := t.holds.See(found)
	if s.open == unasked || s.open == unconfirmed {
		return t.log.ops.See(h.use).EndLine
	}
	return t.log.ops.See(h.acquire).EndLine
}

// uncertainTokens says what is in doubt about the order of tokens.
func (t *tracer) uncertainTokens() string {
	if n := t.possible(t.grants, false); n > 0 {
		return fmt.Sprintf("%s may have come after one with a greater token: %s.", remarks.Count(n, "grant"), t.whyUncertain())
	}
	return ""
}

// uncertainWrites says what is in doubt about the order of writes.
func (t *tracer) uncertainWrites(holds string) string {
	if t.loose > 0 {
		return fmt.Sprintf("%s made under no grant that the history has.", remarks.Were(t.loose, "write"))
	}
	if n := t.possible(t.writes, false); n > 0 {
		return fmt.Sprintf("%s may have come after one with a greater token: %s.", remarks.Count(n, "write"), t.whyUncertain())
	}
	if t.carried {
		if crossed := t.possible(t.writes, true); crossed > 0 {
			return fmt.Sprintf("%s under way while one with a greater token was: the history does not tell which the store took first.", remarks.Were(crossed, "write"))
		}
	}
	switch {
	case t.unordered > 0:
		return fmt.Sprintf("%s too close to one of another grant to tell which came first.",
			remarks.Were(t.unordered, "write"))
	case !t.carried && (holds != "" || t.closeGrants() > 0):
		return byGrants
	}
	return ""
}

const byGrants = "Without tokens, writes are judged by whose grant came first, and that is not certain of all."

// wrote notes an accepted write of a grant.
func (t *tracer) wrote(o *op) {
	a := t.log.ops.See(o.grant - 1)
	t.carried = t.carried && a.Token != 0 && !t.broken[o.Key] && t.options.Tokens == "fencing"
	x := item{a.Token, o.begin(), o.finish(), o.Key}
	t.writes.add(x)
	t.writes.addShort(x, o.cut)
}

// closeGrants counts the grants with writes that the clocks can't put in order with an earlier one.
func (t *tracer) closeGrants() int {
	if t.loosest() == 0 {
		return 0 // the stamps are taken at their word
	}
	grants := newTokenOrder(t.log.room)
	defer grants.close()
	for i := range t.log.ops.Each(0, t.lines) {
		o := t.log.ops.See(i)
		if o.Kind != history.Write || o.Outcome != history.OK || o.grant == 0 {
			continue
		}
		if a := t.log.ops.At(o.grant - 1); !a.wrote {
			a.wrote = true
			grants.byBegin.Add(item{a.Token, a.begin(), a.finish(), a.Key})
		}
	}
	return grants.closer(len(t.log.Keys.List), func(key int32) int64 {
		if margin := 2 * t.slack(t.log.grains.key(key)); margin > 0 {
			return margin
		}
		return -1 // equal stamps that are exact are taken at their word
	})
}
