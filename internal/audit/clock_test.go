package audit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// logLine is a line of a random log: ms, and who did what with which token.
type logLine struct {
	at     int
	client int
	event  string
	token  int
}

// randomLog draws the log of a lock that is mostly right: clients are granted
// it in turn, and sometimes too early; they write, give it up or don't.
func randomLog(r *rand.Rand, clients, grants int) []logLine {
	var lines []logLine
	token, now := 30, 100
	asked := r.IntN(3) == 0
	for range grants {
		c := r.IntN(clients)
		token++
		mine := token
		if r.IntN(12) == 0 {
			mine -= 1 + r.IntN(2)
		}
		if asked && r.IntN(4) > 0 {
			lines = append(lines, logLine{now - r.IntN(15), c, "request", 0})
		}
		at := now + r.IntN(4)
		lines = append(lines, logLine{at, c, "granted", mine})
		for range r.IntN(4) {
			at += r.IntN(12)
			event := "write"
			if r.IntN(6) == 0 {
				event = []string{"renew", "read", "refused", "lost"}[r.IntN(4)]
			}
			lines = append(lines, logLine{at, c, event, mine})
		}
		if r.IntN(5) > 0 {
			at += r.IntN(6)
			lines = append(lines, logLine{at, c, "released", 0})
		}
		if now = at + r.IntN(8); r.IntN(5) == 0 {
			now = max(100, at-r.IntN(25))
		}
	}
	slices.SortStableFunc(lines, func(a, b logLine) int { return a.at - b.at })
	return lines
}

// reread is the log as clocks that err by up to err could have written it: each
// client's lines keep their order.
func reread(r *rand.Rand, lines []logLine, clients, err int) []logLine {
	out := slices.Clone(lines)
	for c := range clients {
		offset := 0
		whole := r.IntN(2) == 0 // the clock is off all the time, or now so and now so
		if whole {
			offset = r.IntN(2*err+1) - err
		}
		var times []int
		for _, l := range lines {
			if l.client == c {
				if !whole {
					offset = r.IntN(2*err+1) - err
				}
				times = append(times, l.at+offset)
			}
		}
		slices.Sort(times)
		for i := range out {
			if out[i].client == c {
				out[i].at, times = times[0], times[1:]
			}
		}
	}
	// Lines of a client at one instant keep their order, for sorting is stable.
	slices.SortStableFunc(out, func(a, b logLine) int { return a.at - b.at })
	return out
}

func csvOf(lines []logLine, tokens bool) string {
	var b strings.Builder
	b.WriteString("ts,pod,action,lock,fence\n")
	for _, l := range lines {
		token := ""
		if tokens && l.token != 0 {
			token = fmt.Sprint(l.token)
		}
		fmt.Fprintf(&b, "%d,p%d,%s,k,%s\n", 1_700_000_000_000+l.at, l.client, l.event, token)
	}
	return b.String()
}

// TestClockErrorIsSound: what is violated with clocks that err is violated
// under every reading of the stamps, and what passes is violated under none.
func TestClockErrorIsSound(t *testing.T) {
	logs := 200
	if os.Getenv("LOCKCHAOS_SOAK") != "" {
		logs = 60000
	}
	outcomes := map[string]map[checker.Outcome]int{}
	for seed := range uint64(logs) {
		r := rand.New(rand.NewPCG(seed, 11))
		clients, tokens := 2+r.IntN(2), r.IntN(3) > 0
		lines := randomLog(r, clients, 2+r.IntN(4))
		err := 1 + r.IntN(6)
		o := audit.Options{Tokens: "fencing"}
		if r.IntN(3) == 0 {
			o.Validity = &audit.Validity{TTL: time.Duration(8+r.IntN(30)) * time.Millisecond}
		}
		wide := o
		wide.ClockError = time.Duration(err) * time.Millisecond
		text := csvOf(lines, tokens)
		verdict, _ := judgeText(t, text, "a.csv", formats.CSV, wide)
		for range 6 {
			reading := csvOf(reread(r, lines, clients, err), tokens)
			as, _ := judgeText(t, reading, "a.csv", formats.CSV, o)
			if why := contradiction(verdict, as); why != "" {
				t.Fatalf("seed %d, an error of %d ms: %s\n%s\n%s", seed, err, why, text, reading)
			}
		}
		for _, p := range verdict.Properties {
			if outcomes[p.Name] == nil {
				outcomes[p.Name] = map[checker.Outcome]int{}
			}
			outcomes[p.Name][p.Outcome]++
		}
	}
	for _, name := range []string{checker.MutualExclusion, checker.UnfencedWrite, checker.TokenOrder} {
		for _, o := range []checker.Outcome{checker.Pass, checker.Violated, checker.Inconclusive} {
			if outcomes[name][o] < logs/100 {
				t.Errorf("%s was %s in %d of %d logs: the generator is of no use", name, o, outcomes[name][o], logs)
			}
		}
	}
}

// contradiction says what is certain by a verdict and not so under one reading of the stamps.
func contradiction(verdict, as checker.Verdict) string {
	if a, b := verdict.Outcome, as.Outcome; a == checker.Violated && b != a || a == checker.Pass && b == checker.Violated {
		return fmt.Sprintf("%s, and %s under this reading", a, b)
	}
	// Tokens that are out of order under this reading order nothing there.
	distrust := as.Property(checker.TokenOrder).Outcome == checker.Violated
	for _, name := range []string{checker.MutualExclusion, checker.UnfencedWrite, checker.TokenOrder} {
		p, q := verdict.Property(name), as.Property(name)
		switch {
		case distrust && name != checker.TokenOrder:
		case p.Outcome == checker.Violated && q.Outcome != checker.Violated:
			return fmt.Sprintf("%s is violated, and not under this reading: %s\n%s", name, p.Violations[0].Text, q.Why)
		case p.Outcome == checker.Pass && q.Outcome == checker.Violated:
			return fmt.Sprintf("%s passes, and is violated under this reading: %s", name, q.Violations[0].Text)
		}
	}
	return ""
}
