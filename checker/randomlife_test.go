package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// lifeCase is a kind of random history, made so that one property is at stake,
// and the two judges' counts of it.
type lifeCase struct {
	name   string
	header func(*rand.Rand, *history.Header)
	lines  func(*generator)
	sweep  func(v Verdict) int
	slow   func(s *slow, h *history.History) int
}

func countOf(p *Property) func(Verdict) int {
	return func(v Verdict) int { return v.Properties[p.place].Count }
}

var lifeCases = []lifeCase{
	{"dead-grant", func(r *rand.Rand, h *history.Header) {
		h.Stall, h.Claims.Validity = int64(r.IntN(4))*ms, [...]string{"library", "from_invocation"}[r.IntN(2)]
	}, (*generator).lateAnswers, countOf(&deadGrant),
		func(s *slow, h *history.History) int { return s.slowDead(h, history.Acquire) }},
	{"dead-grant of a session", func(r *rand.Rand, h *history.Header) {
		h.Stall, h.Claims.Validity, h.Claims.NoExpiry, h.Slack = int64(r.IntN(4))*ms, "session", false, int64(1+r.IntN(4))*ms
	}, (*generator).frozenWaiters, countOf(&deadGrant), (*slow).slowEnded},
	{"false-busy", func(r *rand.Rand, h *history.Header) {
		h.Claims.NoExpiry, h.Slack, h.Claims.Abandons = r.IntN(6) == 0, int64(r.IntN(2))*600*ms, int64(r.IntN(3))*200*ms
	}, (*generator).refusals, countOf(&falseBusy), (*slow).slowFalse},
	{"dead-renewal", func(r *rand.Rand, h *history.Header) {
		h.Stall, h.Claims.Validity = int64(r.IntN(4))*ms, [...]string{"library", "from_invocation"}[r.IntN(2)]
		h.Claims.Confirms = []string{"renew"}
	}, (*generator).lateRenewals, countOf(&deadRenewal), func(s *slow, h *history.History) int { return s.slowDead(h, history.Renew) }},
	{"stolen-release", func(*rand.Rand, *history.Header) {}, (*generator).lateReleases, countOf(&stolenRelease),
		func(s *slow, h *history.History) int {
			broken := map[history.KeyID]bool{}
			fencing := s.header.Claims.Token == "fencing"
			if fencing {
				for _, key := range s.tokenViolations() {
					broken[key] = true
				}
			}
			return s.slowStolen(h, func(key history.KeyID) bool { return fencing && !broken[key] })
		}},
	{"starvation", func(r *rand.Rand, h *history.Header) { h.Clients, h.Claims.Fair = r.IntN(2), true },
		(*generator).longWaits, countOf(&starvation),
		func(s *slow, h *history.History) int { return s.slowStarved(h) }},
	{"duplicate-effect", func(r *rand.Rand, h *history.Header) {
		h.Workload = [...]string{"payment",
			"leader"}[r.IntN(2)]
	}, func(g *generator) {
		g.keys, g.store = 2, true
		g.script(2 + g.rng.IntN(3))
		for i, line := range g.lines {
			if strings.Contains(line, " write ") {
				g.lines[i] += fmt.Sprintf(" value=%d", 1+g.rng.IntN(4))
			}
		}
	}, countOf(&duplicateEffect), func(s *slow, _ *history.History) int { return s.slowRepeated() }},
	{"deadlock", func(r *rand.Rand, h *history.Header) { h.Bound = int64(r.IntN(2)) * 6 * ms }, (*generator).crossings,
		func(v Verdict) int { return grade(cyclesIn(v.Properties[deadlock.place])) },
		func(s *slow, h *history.History) int { return grade(s.slowCycles(h)) }},
	{"stuck-lock", func(r *rand.Rand, h *history.Header) {
		h.Claims.Validity, h.Claims.NoExpiry = [...]string{"from_invocation", "session"}[r.IntN(2)], r.IntN(8) == 0
		h.Claims.Abandons = int64([...]int{0, 0, 1, 800}[r.IntN(4)]) * ms
		onQuorum(r, h)
	}, (*generator).vainWaits, countOf(&stuckLock), func(s *slow, h *history.History) int { return s.slowStuck(h) }},
	{"herd", func(r *rand.Rand, h *history.Header) {
		h.Clients, h.Claims.WakesOne, h.Workload = 38+r.IntN(20), true, workloadStampede
		h.TTL = 20_000 * ms
	}, (*generator).stampede, countOf(&herd), func(s *slow, h *history.History) int { return s.slowHerds(h) }},
	lateNews,
}

// grade numbers the outcomes: 0 is a pass, 1 a violation, 2 neither.
func grade(o Outcome) int { return slices.Index([]Outcome{Pass, Violated, Inconclusive}, o) }

// cyclesIn is what a verdict says of cycles alone, whatever else leaves it open.
func cyclesIn(r PropertyResult) Outcome {
	if r.Outcome == Inconclusive && !strings.Contains(r.Why, "of waiting clients") {
		return Pass
	}
	if r.Outcome == NotJudged {
		return Pass
	}
	return r.Outcome
}

// faults adds up to n faults of all sorts.
func (g *generator) faults(n, until int) {
	for range g.rng.IntN(n + 1) {
		from := g.rng.IntN(until)
		who := [...]string{"pause A", "stall A", "delay A", "pause B", "stall B", "service x"}[g.rng.IntN(6)]
		g.add("%s [%d,%d]", who, from, from+g.rng.IntN(20))
	}
}

// lateAnswers writes acquires whose leases may be over before they return.
func (g *generator) lateAnswers() {
	for c := range 2 {
		t := 1 + g.rng.IntN(10)
		for range 1 + g.rng.IntN(3) {
			when := g.interval(&t, 60)
			g.add("%c acquire %s key=k%d attempt=%d valid=%d", 'A'+c, when, g.rng.IntN(2), max(1, t-g.rng.IntN(50)), g.rng.IntN(30)-12)
			if g.rng.IntN(4) == 0 {
				g.lines[len(g.lines)-1] = fmt.Sprintf("%c acquire %s key=k0", 'A'+c, when)
			}
		}
	}
	g.faults(3, 100)
}

// frozenWaiters writes acquires whose clients may be stopped for longer than a session lives.
func (g *generator) frozenWaiters() {
	for c := range 2 {
		from := g.rng.IntN(20)
		to := from + 20 + g.rng.IntN(60)
		g.add("%c acquire [%d,%d] attempt=%d", 'A'+c, from, to, from+g.rng.IntN(20))
		if g.rng.IntN(2) == 0 {
			g.lines[len(g.lines)-1] += fmt.Sprintf(" enq=%d", from+g.rng.IntN(20))
		}
		stop := from + g.rng.IntN(20)
		awake := stop + 15 + g.rng.IntN(25)
		g.add("pause %c [%d,%d] to=%d", 'A'+c, stop, awake+g.rng.IntN(10), awake)
	}
	if g.rng.IntN(2) == 0 {
		g.faults(2, 100)
	}
}

// refusals writes acquires that are told busy, early or late, beside grants and
// attempts of all sorts.
func (g *generator) refusals() {
	for c := range 2 {
		t := 1 + g.rng.IntN(10)
		for round := range 1 + g.rng.IntN(4) {
			name, grant := string(rune('A'+c)), fmt.Sprintf("%c%d", 'A'+c, round)
			if t += g.rng.IntN(8); g.rng.IntN(6) == 0 {
				t += 400 + g.rng.IntN(500)
			}
			switch when := g.interval(&t, 6); g.rng.IntN(8) {
			case 0:
				g.add("%s acquire %s info %s", name, when, [...]string{"", fmt.Sprintf("start=%d", t)}[g.rng.IntN(2)])
			case 1, 2, 3:
				g.add("%s acquire %s busy", name, when)
			case 4:
				g.add("%s exit [%d]", name, t)
				return
			default:
				g.add("%s=%s acquire %s attempt=%d first=%d", grant, name, when, t, t-g.rng.IntN(5)/4)
				g.add("%s release %s g=%s %s", name, g.interval(&t, 4), grant,
					[...]string{"", "", "", "", "info", "notheld"}[g.rng.IntN(6)])
			}
		}
	}
	if g.rng.IntN(3) == 0 {
		g.faults(2, 100)
	}
}

// lateRenewals writes grants that are renewed when their leases may be over.
func (g *generator) lateRenewals() {
	for c := range 2 {
		t := 1 + g.rng.IntN(10)
		g.add("%c acquire %s valid=20", 'A'+c, g.interval(&t, 6))
		for range 1 + g.rng.IntN(3) {
			when := g.interval(&t, 60)
			g.add("%c renew %s attempt=%d valid=%d %s", 'A'+c, when, max(1, t-g.rng.IntN(50)), g.rng.IntN(30)-12,
				[...]string{"", "", "", "info", "notheld"}[g.rng.IntN(5)])
			if g.rng.IntN(4) == 0 {
				g.lines[len(g.lines)-1] = fmt.Sprintf("%c renew %s", 'A'+c, when)
			}
		}
	}
	g.faults(3, 100)
}

// lateReleases writes grants that are given up when their leases may be over.
func (g *generator) lateReleases() {
	for c := range 3 {
		t := g.rng.IntN(30)
		for round := range 1 + g.rng.IntN(3) {
			name, grant := string(rune('A'+c)), fmt.Sprintf("%c%d", 'A'+c, round)
			when := g.interval(&t, 6)
			g.add("%s=%s acquire %s key=k0%s", grant, name, when, g.grantExtras(t))
			if g.rng.IntN(4) == 0 {
				g.add("%s renew %s g=%s %s", name, g.interval(&t, 4), grant, [...]string{"", "", "info"}[g.rng.IntN(3)])
			}
			if t += g.rng.IntN(30); g.rng.IntN(3) == 0 {
				g.add("%s lost [%d] g=%s", name, t, grant)
			}
			if g.rng.IntN(5) > 0 {
				g.add("%s release %s g=%s %s", name, g.interval(&t, 4), grant, [...]string{"", "", "", "info", "notheld"}[g.rng.IntN(5)])
			}
		}
	}
	if g.rng.IntN(2) == 0 {
		g.faults(2, 100)
	}
}

// longWaits writes a client or two that wait while others are granted the key over and over.
func (g *generator) longWaits() {
	t := 2
	for range 9 + g.rng.IntN(20) {
		name := string(rune('C' + g.rng.IntN(2)))
		g.add("%s acquire %s key=k%d", name, g.interval(&t, 2), g.rng.IntN(10)/9)
		g.add("%s release %s", name, g.interval(&t, 2))
	}
	for c := range 1 + g.rng.IntN(2) {
		from, to := g.rng.IntN(t/3), t-g.rng.IntN(t/3)
		g.add("%c acquire [%d,%d] %s", 'A'+c, from, to,
			[...]string{"", "busy", "fail", "info", fmt.Sprintf("info start=%d", from+1)}[g.rng.IntN(5)])
	}
	if g.rng.IntN(2) == 0 {
		g.faults(1, t)
	}
}

// crossings writes clients that ask for a second key while they have a first.
func (g *generator) crossings() {
	keys := 2 + g.rng.IntN(2)
	for c := range 2 + g.rng.IntN(3) {
		t := g.rng.IntN(8)
		name := string(rune('A' + c))
		for round := range 1 + g.rng.IntN(2) {
			one := g.rng.IntN(keys)
			g.add("%s%d=%s acquire %s key=k%d valid=25", name, round, name, g.interval(&t, 4), one)
			if g.rng.IntN(3) == 0 {
				g.add("%s renew %s key=k%d", name, g.interval(&t, 4), one)
			}
			other := (one + 1 + g.rng.IntN(keys-1)) % keys
			from := t + g.rng.IntN(3)
			t = from + 3 + g.rng.IntN(22)
			g.add("%s acquire [%d,%d] key=k%d %s", name, from, t, other,
				[...]string{"", "busy", "busy", "info", fmt.Sprintf("info start=%d", from+1)}[g.rng.IntN(5)])
			if g.rng.IntN(8) == 0 {
				g.lines[len(g.lines)-1] = fmt.Sprintf("%s acquire [%d,] key=k%d", name, from, other)
				if g.rng.IntN(2) == 0 {
					g.add("%s exit [%d]", name, t)
				}
				break
			}
			if g.rng.IntN(2) == 0 {
				g.add("%s release %s key=k%d g=%s%d", name, g.interval(&t, 4), one, name, round)
			}
		}
	}
	if g.rng.IntN(3) == 0 {
		g.faults(2, 60)
	}
}

// vainWaits writes long acquires of a key that is mostly free.
func (g *generator) vainWaits() {
	for c := range 2 + g.rng.IntN(3) {
		name, t := string(rune('A'+c)), g.rng.IntN(50)
		impatient := 1 + g.rng.IntN(4)
		for t < 14_000 {
			took := [...]int{3, 300, 900, 2600, 5000, 11_000}[g.rng.IntN(2+impatient)]
			answer := [...]string{"busy", "busy", "busy", "busy", "busy", "busy", fmt.Sprintf("info start=%d", t+1),
				"info", "fail", ""}[g.rng.IntN(10)]
			if took > 900 && g.rng.IntN(3) == 0 {
				answer = "busy"
			}
			g.add("%s acquire [%d,%d] %s", name, t, t+took, answer)
			t += took
			if answer == "" && g.rng.IntN(6) > 0 {
				g.add("%s release [%d,%d] %s", name, t+1, t+2, [...]string{"", "", "", "info", "notheld"}[g.rng.IntN(5)])
			} else if answer == "" && g.rng.IntN(2) == 0 {
				g.add("%s renew [%d,%d] %s", name, t+1, t+2, [...]string{"", "", "info"}[g.rng.IntN(3)])
			}
			t += 3 + g.rng.IntN([...]int{10, 400, 700}[g.rng.IntN(3)])
		}
		if g.rng.IntN(3) == 0 {
			g.add("%s exit [%d]", name, t+1)
		}
	}
	for range g.rng.IntN(4) {
		from := g.rng.IntN(14_000)
		who := [...]string{"pause A", "stall A", "delay A", "pause B", "stall B", "service x", "pause E"}[g.rng.IntN(7)]
		g.add("%s [%d,%d]", who, from, from+g.rng.IntN(1200))
	}
	if g.rng.IntN(3) == 0 {
		from := g.rng.IntN(14_000)
		g.add("fault clock-jump [%d,%d] on=%c", from, from+g.rng.IntN(1200), 'A'+g.rng.IntN(5))
	}
	g.nodeFaults(2, 14_000, 5000)
}

// stampede writes grants, and what the service counted meanwhile.
func (g *generator) stampede() {
	t, n := 1, g.rng.IntN(100)
	for i := range 8 + g.rng.IntN(10) {
		if i == 1 || g.rng.IntN(8) == 0 {
			g.add("S requests [%d] n=%d", t, n)
		}
		n += g.rng.IntN(45)
		name := string(rune('A' + g.rng.IntN(6)))
		g.add("%s acquire %s", name, g.interval(&t, 4))
		g.add("%s release %s", name, g.interval(&t, 4))
	}
	g.add("S requests [%d] n=%d", t+1, n)
	if g.rng.IntN(4) == 0 {
		g.faults(2, t)
	}
}

// TestSweepAgreesWithSlowCheckerOnTheRest does for each other property what
// TestSweepAgreesWithSlowChecker does for those of holds.
func TestSweepAgreesWithSlowCheckerOnTheRest(t *testing.T) {
	for _, c := range lifeCases {
		t.Run(c.name, func(t *testing.T) {
			found, clean, n := 0, 0, rounds(400)
			for seed := range n {
				rng := rand.New(rand.NewPCG(uint64(seed), 13))
				lock := randomLock(rng)
				for lock.header.Claims.Validity == "" {
					lock.header.Claims.Validity = [...]string{"library", "from_invocation", "session"}[rng.IntN(3)]
				}
				lock.header.Claims.Fair = false
				c.header(rng, &lock.header)
				g := &generator{rng: rng, keys: 1, wild: rng.IntN(3) == 0}
				c.lines(g)
				both := func(lines []string) (sweep, slow int) {
					h := lock.history(strings.Join(lines, "\n"))
					return c.sweep(Judge(h, Options{Keep: 1})), c.slow(newSlow(h), h)
				}
				differ := func(lines []string) bool { sweep, slow := both(lines); return sweep != slow }
				if differ(g.lines) {
					few, file := shrunk(t, lock, g.lines,
						func(h *history.History) bool { return c.sweep(Judge(h, Options{Keep: 1})) != c.slow(newSlow(h), h) })
					sweep, slow := both(few)
					t.Fatalf("seed %d: the slow checker counts %d, the sweep %d; %+v\n%s\nas a history file:\n%s", seed,
						slow, sweep, lock.header.Claims, strings.Join(few, "\n"), file)
				}
				if sweep, _ := both(g.lines); sweep > 0 {
					found++
				} else {
					clean++
				}
			}
			t.Logf("agreed on %d histories that violate it and %d that do not", found, clean)
			if found < n/20 || clean < n/20 {
				t.Error("they are too much alike to compare")
			}
		})
	}
}
