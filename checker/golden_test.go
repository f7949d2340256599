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

// The verdict on every hand-written history, in full: what was found, on what
// evidence, in what words. The tests beside the histories say what matters
// about each; this holds all the rest, so that nothing of a verdict changes
// unnoticed. After a change that is meant, look at the difference of:
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
	// with -run, only some of it is written anew; a test that is gone leaves
	// its verdict until the file is deleted
	maps.Copy(g.got, g.want)
	return g
})

type goldenVerdicts struct {
	want, got map[string]string
}

// holdToGolden compares a verdict with the one that is kept. A test that judges
// several histories has them told apart by what they say.
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

// written is a verdict for a reader: what was judged and what was found, and
// the figures that are not zero. What is alike stands on one line.
func written(v Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, %v\n", v.Outcome, v.Severity)
	alike, told := map[string][]string{}, []string{}
	for _, r := range v.Properties {
		if r.Outcome == NotJudged {
			continue
		}
		how := r.Outcome.String()
		if r.Why != "" {
			how += " (" + r.Why + ")"
		}
		if r.Outcome != Violated {
			if alike[how] == nil {
				told = append(told, how)
			}
			alike[how] = append(alike[how], r.Name)
			continue
		}
		fmt.Fprintf(&b, "%s: %s ×%d", r.Name, how, r.Count)
		for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
			fmt.Fprintf(&b, " %s=%d", kind, r.Kinds[kind])
		}
		b.WriteByte('\n')
		for _, x := range r.Violations {
			fmt.Fprintf(&b, "  %s [%s %v %s] at %s, %s to %s, A %s, B %s, ops %v, faults %v\n", x.Text, x.Kind,
				x.Severity, x.Pattern, inMS(x.At), inMS(x.From), inMS(x.To),
				writtenRef(x.A), writtenRef(x.B), x.Ops, x.Faults)
		}
	}
	for _, how := range told {
		fmt.Fprintf(&b, "%s: %s\n", strings.Join(alike[how], ", "), how)
	}
	for _, reason := range v.Reasons {
		if name, why, _ := strings.Cut(reason, ": "); !slices.ContainsFunc(v.Properties,
			func(r PropertyResult) bool { return r.Name == name && r.Why == why }) {
			fmt.Fprintf(&b, "- %s\n", reason)
		}
	}
	for _, g := range v.Patterns {
		fmt.Fprintf(&b, "pattern %s: %v\n", g.Pattern, g.Counts)
	}
	b.WriteString(figuresIn(v.Stats))
	return b.String()
}

// figuresIn are those of a run, one line, and one for each fault. What is zero is
// left out; the times stand as a sum, since none of them decides anything.
func figuresIn(s Stats) string {
	var b strings.Builder
	for _, n := range []struct {
		count int64
		what  string
	}{{int64(s.Ops), "ops"}, {int64(s.Grants), "grants"}, {int64(s.Busy), "busy"}, {int64(s.Indefinite), "indefinite"},
		{int64(s.Handovers), "hand-overs"},
		{int64(s.Accepted), "accepted"}, {int64(s.Refused), "refused"}, {int64(s.Conflicts), "in conflict"},
		{int64(s.Bites), "bites"}, {int64(s.OpenMax), "grants at once"},
		{int64(s.WaitersMax), "waited at once"}, {int64(s.Stale), "stale"}, {int64(s.Overlapped.Count), "overlapped"}} {
		if n.count != 0 {
			fmt.Fprintf(&b, "%d %s, ", n.count, n.what)
		}
	}
	times := fnv.New32a()
	fmt.Fprint(times, s.Recovered, s.AcquireP50, s.AcquireP99, s.Overlapped.Of, s.Timings)
	fmt.Fprintf(&b, "times %08x\n", times.Sum32())
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "fault %s (injected: %v): begun %d, bit %d, met a holder %d, %v to %v\n", f.Kind, f.Injected,
			f.Begun, f.Bit, f.MetHolder, f.Shortest, f.Longest)
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
