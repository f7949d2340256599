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
		return fmt.Sprintf("the stamps, which tell the %s and nothing finer, can't tell", t.log.grain)
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
	strict, loose := items.overtaken(keys, 2*int64(t.options.ClockError), false),
		items.overtaken(keys, -2*t.loosest(), crossing)
	for k := range loose {
		sum += max(0, loose[k]-strict[k])
	}
	return sum
}

// unsaid says what is open of so many holds.
var unsaid = [whys]func(n int) string{
	unasked: func(n int) string {
		return fmt.Sprintf("No line says when %s began that ended with a release (if a word of the log says that the lock was granted: --events grant=WORD).",
			remarks.Count(n, "hold"))
	},
	waited: func(n int) string {
		return fmt.Sprintf("%s waited for. Nobody knows when the attempt that succeeded began, so the hold may have lasted into a later grant.",
			remarks.Were(n, "grant"))
	},
	unconfirmed: func(n int) string {
		return fmt.Sprintf("Nobody confirmed the release of %s, so nobody knows whether the lock was still held then.",
			remarks.Count(n, "hold"))
	},
	endless: func(n int) string {
		return fmt.Sprintf("%s never given up in the history, so nobody knows whether the lock was still held at a later grant (if grants expire, --ttl tells when).",
			remarks.Were(n, "hold"))
	},
}

// uncertainHolds says what is in doubt about holds, by three readings of them; empty: nothing is.
func (t *tracer) uncertainHolds() string {
	certain, clocks, open := 0, 0, [whys]int{}
	strict, _ := t.crowded(t.readings[acts])
	loose, _ := t.crowded(t.readings[promises])
	widest, lasted := t.crowded(t.readings[openEnds])
	for key := range strict {
		a, b, c := strict[key], loose[key], widest[key]
		certain += a
		if t.loosest() > 0 { // else the stamps are taken at their word, and judged by it
			clocks += max(0, b-a)
		}
		if c > max(a, b) {
			for why, n := range lasted[key] {
				open[why] += n
			}
		}
	}
	more := ""
	if certain > 0 {
		more = "more "
	}
	var doubts []string
	for why, n := range open {
		if n > 0 {
			doubts = append(doubts, unsaid[why](n))
		}
	}
	if clocks > 0 {
		doubts = append(doubts, fmt.Sprintf("%s may have been made while others still held the key: %s.",
			remarks.Count(clocks, more+"grant"), t.whyUncertain()))
	}
	return strings.Join(doubts, " ")
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
		return "Without tokens, writes are judged by whose grant came first, and that is not certain of all."
	}
	return ""
}

// wrote notes an accepted write of a grant.
func (t *tracer) wrote(o *op) {
	a := t.log.ops.See(o.grant - 1)
	t.carried = t.carried && a.Token != 0 && !t.broken[o.Key] && t.options.Tokens == "fencing"
	t.writes.add(item{a.Token, o.begin(), o.finish(), o.Key})
}

// closeGrants counts the grants with writes that the clocks can't put in order with an earlier one.
func (t *tracer) closeGrants() int {
	margin := 2 * t.loosest()
	if margin == 0 {
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
	return grants.closer(len(t.log.Keys.List), margin)
}
