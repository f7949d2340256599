package checker

import (
	"math/rand/v2"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// The slow checker on late news, word for word.

// slowNotices counts the double-holds of an exclusive lock without tokens that are late notices.
func (s *slow) slowNotices() (n int) {
	for i, a := range s.grants {
		for _, b := range s.grants[:i] {
			if a.key != b.key || s.oneHold(a, b) || !s.excluded(a, b, false) {
				continue
			}
			bLater, aLater := s.after(b, a, false), s.after(a, b, false)
			valid := func(x, y *slowGrant) bool { return x.client != y.client && s.promised(x, y.end) }
			switch {
			case bLater:
				n += number01(s.late(a, b))
			case aLater:
				n += number01(s.late(b, a))
			default: // in each order it is a defect, and in one of them a late notice
				n += number01((s.late(a, b) || s.late(b, a)) && (s.late(a, b) || valid(a, b)) && (s.late(b, a) || valid(b, a)))
			}
		}
	}
	return n
}

// number01 is 1 where something is so.
func number01(is bool) int {
	if is {
		return 1
	}
	return 0
}

// late reports whether a's lock told it too late that b had been granted the key.
func (s *slow) late(a, b *slowGrant) bool {
	untold := int64(0)
	for _, t := range a.starts {
		if a.told == 0 || t < a.told {
			untold = max(untold, t)
		}
	}
	if s.header.Claims.LostGrace == 0 || a.client != b.client && s.promised(a, b.end) {
		return false
	}
	since := b.end
	for _, f := range s.hits(a.client, true, 0, untold, anyOf) {
		since = max(since, min(f.To, untold))
	}
	if s.header.Claims.Notices == "alone" {
		since = min(since, s.overByOwnClock(a, b, untold))
	}
	return untold-since > s.header.Claims.LostGrace
}

func (s *slow) overByOwnClock(a, b *slowGrant, untold int64) int64 {
	over, rests, ttl := b.end, a.earliest, s.header.TTL
	if s.header.Claims.Validity == "session" {
		rests -= ttl
	}
	if len(s.hits(0, true, rests, b.end, anyOf)) > 0 {
		over = b.end + ttl
	}
	own := s.hits(a.client, false, 0, untold, anyOf)
	for _, f := range own {
		early := f.Kind == "expire-session" || f.Kind == "reset" || f.Kind == "cut"
		if early && f.From <= b.end && f.To >= a.earliest {
			over = max(over, b.end+ttl)
		}
		if strings.HasPrefix(f.Kind, "clock-") {
			over = max(over, min(f.To, untold)+ttl)
		}
	}
	stopped := int64(0)
	for _, f := range own {
		overlap := max(0, min(f.To, untold)-max(f.From, over))
		switch {
		case f.From > untold || f.To < over || over >= untold:
		case !f.Injected:
			stopped += overlap + 2*s.header.Stall
		case !f.Links:
			stopped += overlap
		}
	}
	return over + stopped
}

// lateNews writes clients that act on while another is granted the key, cut off, stopped or misled.
func (g *generator) lateNews() {
	for c := range 2 + g.rng.IntN(2) {
		t := g.rng.IntN(12) + 16*c
		name := string(rune('A' + c))
		g.add("%s acquire %s", name, g.interval(&t, 4))
		for range 1 + g.rng.IntN(3) {
			t += g.rng.IntN(25)
			if g.add("%s write %s refused", name, g.interval(&t, 3)); g.rng.IntN(8) == 0 {
				g.add("%s lost [%d.5]", name, t+g.rng.IntN(3))
			}
		}
		if g.rng.IntN(3) == 0 {
			g.add("%s release %s notheld", name, g.interval(&t, 3))
		}
	}
	g.faults(2, 70)
	for range g.rng.IntN(3) {
		g.trouble()
	}
	g.nodeFaults(2, 70, 20)
	if from := g.rng.IntN(20); g.rng.IntN(2) == 0 {
		g.add("delay A [%d,%d]", from, 60+g.rng.IntN(30))
	}
}

var lateNews = lifeCase{"late-notice", func(r *rand.Rand, h *history.Header) {
	c := &h.Claims
	c.Validity, c.Token, c.LostGrace, h.Stall = [...]string{"session", "session", "from_invocation"}[r.IntN(3)], "none",
		5*ms, int64(r.IntN(3))*ms
	c.Notices = [...]string{"", "undisturbed", "alone", "alone"}[r.IntN(4)]
	onQuorum(r, h)
}, (*generator).lateNews, func(v Verdict) int { return v.Property(MutualExclusion).CountOfKind(KindLateNotice) },
	func(s *slow, _ *history.History) int { return s.slowNotices() }}
