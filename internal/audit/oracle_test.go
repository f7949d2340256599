package audit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// step is one op of a random history of a lock.
type step struct {
	owner    int
	acquire  bool
	outcome  string // ok, fail, info; empty: open at the end
	inv, ret int
}

// randomSteps draws a history of up to n ops on one key: owners that acquire and release in
// turn, with what may get lost on the way. What the lock answers is drawn, too, so most of these
// histories are no lock's; half of the time the answers follow a lock that is almost right.
func randomSteps(r *rand.Rand, owners, n, depth int) []step {
	type state struct {
		held int // granted and not released, may: perhaps
		may  int
		open *step
	}
	var steps []*step
	states := make([]state, owners)
	for now := 1; len(steps) < n || now < 4*n; now++ {
		o := r.IntN(owners)
		s := &states[o]
		if s.open == nil {
			if len(steps) == n {
				continue
			}
			s.open = &step{owner: o, acquire: s.held == 0 || s.held < depth && r.IntN(2) == 0, inv: now, ret: math.MaxInt}
			if r.IntN(8) == 0 {
				s.open.acquire = !s.open.acquire
			}
			steps = append(steps, s.open)
			continue
		}
		s.open.ret = now
		switch k := r.IntN(12); {
		case k == 0:
			s.open.outcome = "info"
			if s.open.acquire {
				s.may++
			}
		case k == 1 || s.open.acquire && k < 5 || !s.open.acquire && s.may == 0:
			// an ok to who never had it proves nothing about the others
			s.open.outcome = "fail"
		default:
			s.open.outcome = "ok"
			if s.open.acquire {
				s.held++
				s.may++
			} else {
				s.held = max(0, s.held-1)
				s.may--
			}
		}
		s.open = nil
	}
	out := make([]step, len(steps))
	for i, s := range steps {
		out[i] = *s
	}
	return out
}

// jepsenOf writes steps as Jepsen does: a process ends with an info, and its
// client goes on under another one.
func jepsenOf(steps []step) string {
	lines := map[int]string{}
	process := map[int]int{}
	last := 0
	for i, s := range steps {
		f := "release"
		if s.acquire {
			f = "acquire"
		}
		p := s.owner + 10*process[s.owner]
		lines[s.inv] = fmt.Sprintf("{:type :invoke, :f :%s, :process %d, :time %d, :value \"u%d\", :debug {:client \"c%d\"}}\n", f, p, s.inv, i, s.owner)
		if s.outcome == "" {
			continue
		}
		lines[s.ret] = fmt.Sprintf("{:type :%s, :f :%s, :process %d, :time %d, :value {:client \"c%d\", :uid \"u%d\"}}\n", s.outcome, f, p, s.ret, s.owner, i)
		if s.outcome == "info" {
			process[s.owner]++
		}
		last = max(last, s.ret)
	}
	var text strings.Builder
	for t, left := 0, len(lines); left > 0; t++ {
		if l, ok := lines[t]; ok {
			text.WriteString(l)
			left--
		}
	}
	return text.String()
}

// legal asks Porcupine whether the ops are those of a lock with so many
// permits, or of a reentrant one. State: how deep each owner is in it.
func legal(steps []step, owners, permits int, reentrant bool) bool {
	type depths [6]int
	total := func(d depths) (sum int) {
		for _, n := range d {
			sum += n
		}
		return sum
	}
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{depths{}} },
		Step: func(state, input, _ any) []any {
			d, s := state.(depths), input.(step)
			var next []any
			if s.outcome != "ok" {
				next = append(next, d) // it may not have happened
			}
			switch {
			case s.acquire && (total(d) < permits || reentrant && d[s.owner] > 0):
				d[s.owner]++
				next = append(next, d)
			case !s.acquire && d[s.owner] > 0:
				d[s.owner]--
				next = append(next, d)
			}
			return next
		},
	}
	var ops []porcupine.Operation
	for _, s := range steps {
		if s.outcome == "fail" {
			continue
		}
		op := porcupine.Operation{ClientId: s.owner, Input: s, Call: int64(s.inv), Return: int64(s.ret)}
		if s.outcome != "ok" {
			op.Return = math.MaxInt64
		}
		ops = append(ops, op)
	}
	return porcupine.CheckOperations(model.ToModel(), ops)
}

func judgeText(t testing.TB, text, name string, format formats.Format, o audit.Options) (checker.Verdict, *audit.Source) {
	t.Helper()
	s, err := audit.Read(strings.NewReader(text), name, format, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return judge(t, s), s
}

// driftsOn reports whether an owner acquires after a release of unknown fate. That
// may still happen, and end any one of the owner's later holds; the translation
// lets it excuse them all, so it may say less than Porcupine, but nothing else.
func driftsOn(steps []step) bool {
	for i, s := range steps {
		for _, later := range steps[i+1:] {
			if !s.acquire && s.outcome == "info" && later.acquire && later.owner == s.owner {
				return true
			}
		}
	}
	return false
}

// TestAgreesWithPorcupine: on random histories of an owner-aware mutex, a
// reentrant one and a semaphore, what was translated from Jepsen's format is
// violated if and only if the ops are no such lock's.
func TestAgreesWithPorcupine(t *testing.T) {
	for _, c := range []struct {
		name      string
		options   audit.Options
		depth     int
		histories int
	}{
		{"mutex", audit.Options{}, 1, 300},
		{"reentrant", audit.Options{Reentrant: true}, 2, 300},
		{"semaphore", audit.Options{Permits: 2}, 2, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			illegal := 0
			if os.Getenv("LOCKCHAOS_SOAK") != "" {
				c.histories *= 40
			}
			for seed := range uint64(c.histories) {
				r := rand.New(rand.NewPCG(seed, 7))
				owners := 2 + r.IntN(3)
				steps := randomSteps(r, owners, 3+r.IntN(7), c.depth)
				text := jepsenOf(steps)
				if !strings.Contains(text, ":acquire") {
					continue
				}
				want := legal(steps, owners, max(1, c.options.Permits), c.options.Reentrant)
				v, _ := judgeText(t, text, "random.edn", formats.Jepsen, c.options)
				got := v.Property(checker.MutualExclusion).Outcome != checker.Violated
				if !want {
					illegal++
				}
				if got != want && (want || !driftsOn(steps)) {
					t.Errorf("seed %d: legal %v, judged %v\n%s", seed, want, v.Property(checker.MutualExclusion), text)
					return
				}
			}
			if illegal < c.histories/20 || illegal > c.histories*19/20 {
				t.Errorf("%d of %d histories are illegal: the generator is of no use", illegal, c.histories)
			}
		})
	}
}
