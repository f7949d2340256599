package checker

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The verdict on every hand-written history, in full: what was found, on what evidence, in what words. The tests beside the histories say what matters
// about each; this holds all the rest, so that nothing of a verdict changes unnoticed. After a change that is meant, look at the difference of:
//
//	go test ./checker -run . -update

var update = flag.Bool("update", false, "write testdata/verdicts.golden anew")

const goldenFile = "testdata/verdicts.golden"

var golden = sync.OnceValue(func() *goldenVerdicts {
	g := &goldenVerdicts{want: map[string]string{}, got: map[string]string{}}
	text, err := os.ReadFile(goldenFile)
	if err != nil && !*update {
		panic(err)
	}
	for _, entry := range strings.Split("\n"+string(text), "\n== ")[1:] {
		name, lines, _ := strings.Cut(entry, "\n")
		g.want[name] = strings.TrimSpace(lines)
	}
	maps.Copy(g.got, g.want) // with -run, only some of it is written anew; a test that is gone leaves its verdict until the file is deleted
	return g
})

type goldenVerdicts struct {
	want, got map[string]string
}

// holdToGolden compares a verdict with the one that is kept. A test that judges several histories has them told apart by what they say.
func (s script) holdToGolden(t *testing.T, text string, v Verdict) {
	t.Helper()
	g := golden()
	c := s.header.Claims
	sum := fnv.New32a()
	fmt.Fprint(sum, text, c.Permits, c.Validity, c.Token, s.header.Workload)
	name := fmt.Sprintf("%s %08x", t.Name(), sum.Sum32())
	got := strings.TrimSpace(written(v))
	if *update {
		g.got[name] = got
		var out strings.Builder
		for _, n := range slices.Sorted(maps.Keys(g.got)) {
			fmt.Fprintf(&out, "== %s\n%s\n", n, g.got[n])
		}
		if err := os.WriteFile(goldenFile, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, known := g.want[name]; !known {
		t.Errorf("%s has no verdict of %q; if this one is right, write it there (go test ./checker -run . -update):\n%s", goldenFile, name, got)
	} else if got != want {
		t.Errorf("the verdict is not the one in %s (write it anew with go test ./checker -run . -update, if the change is meant):\n%s\nwant\n%s", goldenFile, got, want)
	}
}

// written is a verdict for a reader: what was judged, what was found, and the figures.
func written(v Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, %v\n", v.Outcome, v.Severity)
	for _, r := range v.Reasons {
		fmt.Fprintf(&b, "- %s\n", r)
	}
	for _, r := range v.Properties {
		if r.Outcome == NotJudged {
			continue
		}
		fmt.Fprintf(&b, "%s: %v", r.Name, r.Outcome)
		if r.Count > 0 {
			fmt.Fprintf(&b, " ×%d", r.Count)
		}
		if r.Why != "" {
			fmt.Fprintf(&b, " (%s)", r.Why)
		}
		for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
			fmt.Fprintf(&b, " %s=%d", kind, r.Kinds[kind])
		}
		b.WriteByte('\n')
		for _, x := range r.Violations {
			fmt.Fprintf(&b, "  %s [%s %v %s] at %s, %s to %s, A %s, B %s, ops %v, faults %v\n", x.Text, x.Kind, x.Severity, x.Pattern, inMS(x.At), inMS(x.From), inMS(x.To),
				writtenRef(x.A), writtenRef(x.B), x.Ops, x.Faults)
		}
	}
	for _, g := range v.Patterns {
		fmt.Fprintf(&b, "pattern %s: %v\n", g.Pattern, g.Counts)
	}
	s := v.Stats
	fmt.Fprintf(&b, "%d ops, %d grants, %d busy, %d indefinite, %d hand-overs, %d accepted, %d refused, %d in conflict, %d bites, recovered after %v, %d grants at once, acquires %v and %v\n",
		s.Ops, s.Grants, s.Busy, s.Indefinite, s.Handovers, s.Accepted, s.Refused, s.Conflicts, s.Bites, s.Recovered, s.OpenMax, s.AcquireP50, s.AcquireP99)
	fmt.Fprintf(&b, "%d stale, %d overlapped of %d, %d waited at once", s.Stale, s.Overlapped.Count, s.Overlapped.Of, s.WaitersMax)
	for _, x := range s.Timings {
		fmt.Fprintf(&b, ", %s ×%d %v %v %v %v", x.What, x.Count, x.P50, x.P95, x.P99, x.Max)
	}
	b.WriteByte('\n')
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "fault %s (injected: %v): begun %d, bit %d, met a holder %d, %v to %v\n", f.Kind, f.Injected, f.Begun, f.Bit, f.MetHolder, f.Shortest, f.Longest)
	}
	return b.String()
}

func inMS(ns int64) string {
	if ns == 0 {
		return "-"
	}
	return fmt.Sprintf("%g", float64(ns)/ms-base)
}

func writtenRef(r *GrantRef) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d %s..%s promise %s", r.Client, r.Grant, inMS(r.Acquired), inMS(r.LastAct), inMS(r.Promise))
}
