package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestExamTableIsWhole: each attack names a lock that falls by it, and one that
// stands. Where no lease prevents the fall there may be none that stands; then
// one that falls without a defect may stand beside one that falls with one.
func TestExamTableIsWhole(t *testing.T) {
	table, known := attackTable(t), map[string]scenarios.Examinee{}
	for _, a := range table.Attacks {
		if len(a.Falls) > 1 || len(a.Falls) == 0 && a.Inherent == "" || len(a.Falls) == 1 && a.Inherent != "" && a.Stands != "" {
			t.Errorf("%s: falls %v, inherent %q, stands %q: one lock falls, with a defect or without", a.Name, a.Falls,
				a.Inherent, a.Stands)
		}
		if a.Stands == "" && a.Inherent == "" {
			t.Errorf("%s: no lock stands, though no lease excuses that", a.Name)
		}
		for lock, breaks := range a.Falls {
			if k, err := ours().Lock(lock); err != nil || k.Control == "" {
				t.Errorf("%s: %s is no lock that is broken on purpose", a.Name, lock)
			}
			if checker.Named(breaks).Name == "" && !slices.Contains(checker.Named(checker.MutualExclusion).Kinds, breaks) &&
				breaks != checker.KindEffectLost {
				t.Errorf("%s: %s is no property, and no kind of double-holds or of effects that never came", a.Name, breaks)
			}
		}
		for _, lock := range triedOn(a) {
			if k, err := ours().Lock(lock); err != nil || k.Control != "" && a.Falls[lock] == "" {
				t.Errorf("%s: %s is no correct lock", a.Name, lock)
				continue
			}
			if _, met := known[lock]; !met {
				var err error
				if known[lock], err = pick.Examinee(ours(), lock, 0); err != nil {
					t.Fatal(err)
				}
			}
			if all, not := (scenarios.Exam{Applications: table.Applications,
				Attacks: []scenarios.Attack{a}}).Of(known[lock]); len(all) != 1 {
				t.Errorf("%s can't be made on %s: %s", a.Name, lock, not[0].Why)
			}
		}
	}
}

// TestExamTable makes the attacks on the locks of the table, on real servers: those fall as
// it says, and these stand. Without LOCKCHAOS_SOAK=1 it is a sample, the same each time.
func TestExamTable(t *testing.T) {
	needed.WithoutRace(t) // exam.txtar is run with it
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	table := attackTable(t)
	attacks := map[string][]scenarios.Attack{}
	for _, a := range table.Attacks {
		for _, lock := range triedOn(a) {
			attacks[lock] = append(attacks[lock], a)
		}
	}
	names := slices.Sorted(maps.Keys(attacks))
	if os.Getenv(soakVar) == "" {
		rand := rand.New(rand.NewPCG(1, 1))
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:sampledLocks]
		for _, lock := range names {
			all := attacks[lock]
			rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			attacks[lock] = all[:min(len(all), sampledAttacks)]
		}
	}
	for _, lock := range names {
		t.Run(lock, func(t *testing.T) {
			if os.Getenv(soakVar) != "" { // some have one attack, which mostly waits
				t.Parallel()
			}
			tryAttacks(t, lock, attacks[lock])
		})
	}
}

// A sample is so many locks, with so many attacks on each.
const sampledLocks, sampledAttacks = 3, 4

// tryAttacks makes the attacks on the lock, side by side, and those again that are not decided.
func tryAttacks(t *testing.T, lock string, attacks []scenarios.Attack) {
	decided.Run(t, func() {
		var words, lacks []string
		for _, a := range attacks {
			words = append(words, a.Name)
		}
		dir := filepath.Join(t.TempDir(), "runs")
		var out, errs bytes.Buffer
		execute(t.Context(), []string{"exam", lock, "--attack", strings.Join(words, ","), "--no-mend", "--out", dir}, &out, &errs)
		_, suite, err := ours().JudgeRun(filepath.Join(dir, "latest"))
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
		}
		if len(suite.Scenarios) != len(attacks) {
			t.Fatalf("%d of %d attacks were made\n%s%s", len(suite.Scenarios), len(attacks), out.String(), errs.String())
		}
		attacks = slices.DeleteFunc(attacks, func(a scenarios.Attack) bool {
			s := suite.Scenarios[slices.IndexFunc(suite.Scenarios,
				func(s reports.Scenario) bool { return strings.Contains(s.Name, "/"+a.Name+"/") })]
			lack := lackOf(t, lock, a, s, out.String())
			if lack != "" {
				lacks = append(lacks, a.Name+": "+lack)
			}
			return lack == ""
		})
		if len(lacks) > 0 {
			decided.Lacks("decisions: %s", strings.Join(lacks, "; "))
		}
	})
}

// lackOf returns what an attack on a lock lacks of what the table says, "" if
// it was decided. What contradicts the table fails the test.
func lackOf(t *testing.T, lock string, a scenarios.Attack, s reports.Scenario, said string) string {
	t.Helper()
	fate, falls := s.Fate(), a.Falls[lock] != "" || a.Inherent == lock
	switch {
	case fate == reports.NotRun && !needed.All():
		t.Logf("%s: %s: this machine can't tell", s.Name, fate)
	case asTabled(a, lock, fate, s.OwnDefects()):
	case falls && fate == reports.FellDefect && known(t, lock, s.OwnDefects()):
		return "a run that shows " + a.Falls[lock] + " first"
	case fate == reports.NothingFollows, fate == reports.FellUnclear, falls && fate == reports.Stood,
		// a lease that ran out while a busy machine held up its holder, or an order that excuses it
		fate == reports.FellInherent, fate == reports.FellRelied:
		return fate.String()
	default:
		t.Errorf("%s: %s %s; the table says falls %v, inherent %q, stands %q\n%s", s.Name, fate, s.OwnDefects(),
			a.Falls, a.Inherent, a.Stands, said)
	}
	return ""
}

// known reports whether each of the defects is of a property that some suite lets the lock violate.
// A run on a loaded machine may show another of the flaws of a lock first.
func known(t *testing.T, lock string, defects []string) bool {
	t.Helper()
	flaws := map[string]bool{}
	for _, suite := range builtinSuites(t) {
		for _, sc := range suite.Scenarios {
			for property, want := range sc.Expect.Properties {
				flaws[property] = flaws[property] || sc.Lock == lock && (want == "violated" || want == "any")
			}
		}
	}
	return !slices.ContainsFunc(defects, func(d string) bool { return !flaws[reports.DefectProperty(d)] })
}

// asTabled reports whether the lock came to what the table says of it. Of its
// own defects the first must be that which is named.
func asTabled(a scenarios.Attack, lock string, fate reports.Fate, own []string) bool {
	switch {
	case a.Falls[lock] != "":
		return fate == reports.FellDefect && own[0] == a.Falls[lock]
	case a.Inherent == lock:
		return fate == reports.FellInherent || fate == reports.FellRelied
	}
	return fate == reports.Stood
}

// triedOn are the locks on which the attack is tried.
func triedOn(a scenarios.Attack) (locks []string) {
	for lock := range a.Falls {
		locks = append(locks, lock)
	}
	for _, lock := range []string{a.Inherent, a.Stands} {
		if lock != "" {
			locks = append(locks, lock)
		}
	}
	return locks
}

func attackTable(t *testing.T) scenarios.Exam {
	t.Helper()
	table, err := scenarios.Attacks()
	if err != nil {
		t.Fatal(err)
	}
	return table
}
