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

// TestCoarseClients: a client that writes whole seconds, where others write fractions, is accused
// of nothing that the cut fraction may explain, and passes nothing that it may hide.
func TestCoarseClients(t *testing.T) {
	const w1 = "00.250 w1 acquired k, 05.800 w1 released k, "
	for _, c := range []struct {
		name, lines string
		err         time.Duration
		want        checker.Outcome
	}{
		{"the cut fraction may be after the release", w1 + "05 w2 acquired k, 07 w2 released k", 0, checker.Inconclusive},
		{"and before the next grant or not", w1 + "06 w2 acquired k, 07 w2 released k, 07.900 w1 acquired k, 09.100 w1 released k", 0, checker.Inconclusive},
		{"far enough apart", w1 + "06 w2 acquired k, 07 w2 released k, 08.000 w1 acquired k, 09.100 w1 released k", 0, checker.Pass},
		{"well within another hold", w1 + "02 w2 acquired k, 04 w2 released k", 0, checker.Violated},
		{"a fraction of zero, once", w1 + "05 w2 acquired k, 07.250 w2 released k", 0, checker.Violated},
		{"a fraction of zeros", w1 + "05.000 w2 acquired k, 07.000 w2 released k", 0, checker.Violated},
		{"one line", w1 + "05 w2 acquired k", 0, checker.Inconclusive},
		{"fine clients beside a coarse one", w1 + "05.700 w3 acquired k, 06.100 w3 released k, 20 w2 acquired k, 22 w2 released k", 0, checker.Violated},
		{"fine clients close to each other", w1 + "05.801 w3 acquired k, 06.100 w3 released k, 20 w2 acquired k, 22 w2 released k", 0, checker.Pass},
		{"a coarse client of another key", w1 + "05.801 w3 acquired k, 06.100 w3 released k, 05 w2 acquired j, 06 w2 released j", 0, checker.Pass},
		{"coarse clients of another key", w1 + "05.801 w3 acquired k, 06.100 w3 released k, 04 w2 acquired j, 06 w2 released j, 06 w4 acquired j, 07 w4 released j", 0, checker.Inconclusive},
		{"and a certain violation there", w1 + "04 w2 acquired j, 06 w2 released j, 05 w4 acquired j, 05 w4 released j", 0, checker.Violated},
		{"all are coarse", "01 w1 acquired k, 05 w1 released k, 05 w2 acquired k, 07 w2 released k", 0, checker.Inconclusive},
		{"the same client within a second", "01 w1 acquired k, 03 w1 released k, 03 w1 acquired k, 05 w1 released k, 07 w2 acquired k, 09 w2 released k", 0, checker.Pass},
		{"the same client within a second, and others are fine", "01 w1 acquired k, 03 w1 released k, 03 w1 acquired k, 05 w1 released k, 07.250 w2 acquired k, 09.100 w2 released k", 0, checker.Pass},
		{"the error of the clocks covers it", w1 + "07 w2 acquired k, 09 w2 released k", time.Second, checker.Inconclusive},
		{"and what is farther apart", w1 + "08 w2 acquired k, 09 w2 released k", time.Second, checker.Pass},
	} {
		text := "ts,pod,event,lock\n"
		for line := range strings.SplitSeq(c.lines, ", ") {
			at, rest, _ := strings.Cut(line, " ")
			text += "2026-03-01T10:00:" + at + "Z," + strings.ReplaceAll(rest, " ", ",") + "\n"
		}
		v, s := judgeText(t, text, "a.csv", formats.CSV, audit.Options{ClockError: c.err})
		if v.Outcome != c.want {
			t.Errorf("%s: %s, want %s: %v\n%s", c.name, v.Outcome, c.want, v.Property(checker.MutualExclusion), text)
		}
		if told := strings.Contains(strings.Join(s.Assumed, "\n"), "The stamps of w2 tell the second"); c.name == "one line" && !told {
			t.Errorf("%s: %q", c.name, s.Assumed)
		}
	}
}

// TestKeysAlike: two names of one lock, perhaps, pass with a remark, if they were in use at once.
func TestKeysAlike(t *testing.T) {
	const log = "ts,pod,event,lock\n1.5,a,acquired,inv\n2.5,%s,acquired,%s\n3.5,%[1]s,released,%[2]s\n4.5,a,released,inv\n5.5,b,acquired,inv\n6.5,b,released,inv\n"
	for key, want := range map[string]bool{"Inv": true, "other": false} {
		v, s := judgeText(t, fmt.Sprintf(log, "b", key), "a.csv", formats.CSV, audit.Options{})
		if told := strings.Contains(strings.Join(s.Assumed, "\n"), `"inv" and "Inv" are two locks`); told != want || v.Outcome != checker.Pass {
			t.Errorf("%s: %s, %q", key, v.Outcome, s.Assumed)
		}
	}
	const after = "ts,pod,event,lock\n1.5,a,acquired,inv\n2.5,a,released,inv\n3.5,b,acquired,Inv\n4.5,b,released,Inv\n5.5,a,acquired,k\n"
	if _, s := judgeText(t, after, "a.csv", formats.CSV, audit.Options{}); strings.Contains(strings.Join(s.Assumed, "\n"), "two locks") {
		t.Errorf("one after the other: %q", s.Assumed)
	}
}

// cutTo are the lines as clients write them of which some cut their stamps to seconds.
func cutTo(lines []logLine, coarse []bool) []logLine {
	out := slices.Clone(lines)
	for i := range out {
		if coarse[out[i].client] {
			out[i].at -= out[i].at % 1000
		}
	}
	slices.SortStableFunc(out, func(a, b logLine) int { return a.at - b.at })
	return out
}

// uncut are the lines at instants that the cut stamps leave possible. A client's lines keep their
// order.
func uncut(r *rand.Rand, lines []logLine, coarse []bool) []logLine {
	out := cutTo(lines, coarse)
	for c := range coarse {
		var times []int
		for i := range out {
			if out[i].client == c {
				if coarse[c] {
					out[i].at += 40*r.IntN(25) + 7
				}
				times = append(times, out[i].at)
			}
		}
		slices.Sort(times)
		for i := range out {
			if out[i].client == c {
				out[i].at, times = times[0], times[1:]
			}
		}
	}
	slices.SortStableFunc(out, func(a, b logLine) int { return a.at - b.at })
	return out
}

// TestCutStampsAreSound: what is violated by stamps of which some are cut is violated at all
// instants that they leave possible, and what passes is violated at none.
func TestCutStampsAreSound(t *testing.T) {
	logs := 300
	if os.Getenv("LOCKCHAOS_SOAK") != "" {
		logs = 60000
	}
	outcomes := map[string]int{}
	for seed := range uint64(logs) {
		r := rand.New(rand.NewPCG(seed, 29))
		coarse, tokens := make([]bool, 2+r.IntN(2)), r.IntN(3) > 0
		coarse[r.IntN(len(coarse))] = true
		if r.IntN(3) == 0 {
			coarse[r.IntN(len(coarse))] = true
		}
		lines := randomLog(r, len(coarse), 2+r.IntN(4))
		for i := range lines { // seconds apart, and no stamp is whole by chance
			lines[i].at = []int{40, 120}[seed%2]*lines[i].at + 7
		}
		o := audit.Options{Tokens: "fencing"}
		if r.IntN(3) == 0 {
			o.Validity = &audit.Validity{TTL: time.Duration(1+r.IntN(4)) * time.Second}
		}
		text := strings.ReplaceAll(csvOf(cutTo(lines, coarse), tokens), "000,p", ",p") // milliseconds are exact
		verdict, _ := judgeText(t, text, "a.csv", formats.CSV, o)
		for range 6 {
			reading := csvOf(uncut(r, lines, coarse), tokens)
			as, _ := judgeText(t, reading, "a.csv", formats.CSV, o)
			if why := contradiction(verdict, as); why != "" {
				t.Fatalf("seed %d: %s\n%s\n%s", seed, why, text, reading)
			}
		}
		for _, p := range verdict.Properties {
			outcomes[p.Name+" "+fmt.Sprint(p.Outcome)]++
		}
	}
	for _, name := range []string{checker.MutualExclusion, checker.UnfencedWrite, checker.TokenOrder} {
		for _, o := range []checker.Outcome{checker.Pass, checker.Violated, checker.Inconclusive} {
			if outcomes[name+" "+fmt.Sprint(o)] < logs/100 {
				t.Errorf("%s was %s in %d of %d logs", name, o, outcomes[name+" "+fmt.Sprint(o)], logs)
			}
		}
	}
}
