package scenarios

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/nemesis"
	"time"

	"github.com/lockchaos/lockchaos/checker"
)

var update = flag.Bool("update", false, "write docs/exam.md anew")

// TestExamPage: the page that tells of the attacks tells of these.
func TestExamPage(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join("..", "docs", "exam.md")
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(old), examMark)
	if !found {
		t.Fatalf("%s has no line %q, below which the attacks are listed", page, examMark)
	}
	text := head + examMark + "\n\n" + (&examPage{Exam: e}).render()
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != string(old) {
		t.Errorf("%s is not of this table of attacks: go test ./scenarios -run ExamPage -update", page)
	}
}

// TestEveryPairIsCovered: each pair of a step and a family of faults has an
// attack, or a reason why there is none, and never both.
func TestEveryPairIsCovered(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	steps, families := map[string]bool{}, map[string]bool{}
	for _, f := range e.Families {
		families[f.Name] = true
		for _, s := range e.Steps {
			steps[s.Name] = true
			attacks, why := e.covering(f.Name, s.Name)
			if len(attacks) == 0 && why == "" {
				t.Errorf("%s at %s: no attack, and no reason", f.Name, s.Name)
			} else if len(attacks) > 0 && why != "" {
				t.Errorf("%s at %s is said to make no sense, and is done by %s", f.Name, s.Name, attacks)
			}
		}
	}
	known := func(what string, words []string, of map[string]bool) {
		for _, w := range words {
			if !of[w] {
				t.Errorf("%s: unknown %q", what, w)
			}
		}
	}
	for _, s := range e.Senseless {
		known(s.Why, s.Steps, steps)
		known(s.Why, s.Families, families)
	}
	for _, a := range e.Attacks {
		known(a.Name, a.Steps, steps)
		if disturbs := a.disturbs(); disturbs != (len(a.Steps) > 0) || disturbs != families[a.Family] {
			t.Errorf("%s: fault %q of family %q at %s", a.Name, a.Fault.Kind, a.Family, a.Steps)
		}
	}
}

// examMark is the line below which docs/exam.md is made from the table.
const examMark = "<!-- below this line the page is made from scenarios/exam/attacks.yaml -->"

// anyLock can do everything.
func anyLock(ttl time.Duration, n Nature) Examinee {
	return Examinee{Base: Scenario{Lock: "any", TTL: Duration(ttl), Store: Store{Kind: storeUnfenced}}, Nature: n,
		Abilities: []Ability{CanRenew, CanBeAsked, KeepsAlive, RenewsItself, TellsLoss, ReadsAndWrites, TakesSets,
			WakesOne, NamesItself, InDatabase, IsExact, MakesUp, GivesUp, IsAsked}, Engine: "postgres", Fits: func(Fault) error { return nil }}
}

// TestFixedLease: an attack that takes a longer lease than one that can't be
// set is left out. Every other has that lease.
func TestFixedLease(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	lock := anyLock(3*time.Second, Nature{Permits: 1})
	e = e.For(lock)
	lock.Fixed = true
	all, not := e.Of(lock)
	if len(not) != 1 || not[0].Why != "it takes a lease of 7s or longer, and that of the lock can't be set" {
		t.Errorf("left out: %+v", not)
	}
	for _, s := range all {
		if s.TTL != lock.Base.TTL {
			t.Errorf("%s: a lease of %v", s.Attack, s.TTL)
		}
	}
}

// TestAttacksAreStretched: the aim of an attack is met with every lease, since
// work and faults keep their share of it.
func TestAttacksAreStretched(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	for _, nature := range []Nature{{Permits: 1}, {Job: true}} {
		areStretched(t, e.For(anyLock(time.Second, nature)), nature)
	}
}

func areStretched(t *testing.T, e Exam, nature Nature) {
	t.Helper()
	short, not := e.Of(anyLock(500*time.Millisecond, nature))
	if len(not) > 0 || len(short) != len(e.Attacks) {
		t.Fatalf("%d of %d attacks on a lock that can do everything; without %v", len(short), len(e.Attacks), not)
	}
	long, _ := e.Of(anyLock(10*time.Second, nature))
	for i, s := range short {
		l := long[i]
		if s.Attack != l.Attack || s.Attack != e.Attacks[i].Name || s.About == "" {
			t.Fatalf("%+v beside %+v", s, l)
		}
		if e.Attacks[i].Lease > 0 {
			if s.TTL != e.Attacks[i].Lease {
				t.Errorf("%s: a lease of %v, want %v", s.Attack, s.TTL, e.Attacks[i].Lease)
			}
			continue
		}
		if s.Workload.Every*20 != l.Workload.Every || nature.Job != (s.Workload.Every > 0) {
			t.Errorf("%s: a period of %v under a lease of 500ms, and of %v under one of 10s", s.Attack, s.Workload.Every, l.Workload.Every)
		}
		if l.Workload.Think != s.Workload.Think.times(20) {
			t.Errorf("%s: a holder works for %v under a lease of 500ms, and for %v under one of 10s", s.Attack,
				s.Workload.Think, l.Workload.Think)
		}
		for f := range s.Faults {
			if got, want := l.Faults[f].For, 20*s.Faults[f].For; got != want {
				t.Errorf("%s: the fault lasts %v under a lease of 10s, want %v", s.Attack, got, want)
			}
			if got, want := l.Faults[f].Delay, 20*s.Faults[f].Delay; got != want {
				t.Errorf("%s: packets are late by %v under a lease of 10s, want %v", s.Attack, got, want)
			}
			if room := s.Duration - s.Quiet; room < s.Faults[f].After+Duration(s.Needs.Bites)*s.Faults[f].Longest() {
				t.Errorf("%s: %v are too short for %d faults of %v", s.Attack, room, s.Needs.Bites, s.Faults[f].For)
			}
		}
	}
}

// TestAttacksThatMakeNoSense are left out with the reason.
func TestAttacksThatMakeNoSense(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	l := anyLock(time.Second, Nature{Permits: 3})
	l.Abilities, l.Fits = nil, func(f Fault) error {
		if f.Target == "leader" {
			return errors.New("it has no leader")
		}
		return nil
	}
	e = e.For(l)
	all, not := e.Of(l)
	if len(all)+len(not) != len(e.Attacks) {
		t.Fatalf("%d made and %d left out, of %d", len(all), len(not), len(e.Attacks))
	}
	why := map[string]string{}
	for _, n := range not {
		why[n.Attack] = n.Why
	}
	for attack, want := range map[string]string{"nothing-long": lacking[KeepsAlive], "stop-renewal": lacking[CanRenew],
		"end-session-work": lacking[CanBeAsked],
		"leader-stops":     "it has no leader", "stop-wait": "it admits several at once, who do not wait for one"} {
		if why[attack] != want {
			t.Errorf("%s is left out, since %q; want %q", attack, why[attack], want)
		}
	}
	for _, s := range all {
		if s.Workload.Kind != "semaphore" {
			t.Errorf("%s: workload %s of a lock that admits three", s.Attack, s.Workload.Kind)
		}
	}
}

// TestAttacksFromOutside: where the links between servers are out of reach, an attack that can be
// made from the clients alone is made so, and its words say it. Elsewhere it is as it was.
func TestAttacksFromOutside(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	if e, err = e.Only(false, []string{"node-cut-off", "leader-stops"}); err != nil {
		t.Fatal(err)
	}
	l := anyLock(time.Second, Nature{Permits: 1})
	whole, _ := e.Of(l)
	l.Fits = func(f Fault) error {
		if f.Peers != "clients" {
			return errors.New("out of reach")
		}
		return nil
	}
	made, not := e.Of(l)
	if len(made) != 1 || len(not) != 1 || not[0] != (Inapplicable{Attack: "leader-stops", Why: "out of reach"}) {
		t.Fatalf("%+v, %+v", made, not)
	}
	if f := made[0].Faults[0]; f.Kind != "partition" || f.Target != "nodes:1" || f.Peers != "clients" ||
		!strings.Contains(made[0].About, "cut off from everybody: here from the clients alone") {
		t.Errorf("%+v", made[0])
	}
	for _, s := range whole {
		if s.Faults[0].Peers != "" || strings.Contains(s.About, "alone") {
			t.Errorf("%+v", s)
		}
	}
}

// TestWhatIsHeldAgainstALock: what no lease prevents is not, nor what breaks with a clock
// that the lock relies on; a dead grant of a session is, since the lock can see its end.
func TestWhatIsHeldAgainstALock(t *testing.T) {
	stop := []Fault{{Kind: "pause", Target: "holder", For: 1}}
	clock := []Fault{{Kind: "clock-jump", Target: "majority", Clock: "wall", For: 1}}
	for _, c := range []struct {
		name    string
		nature  Nature
		faults  []Fault
		allowed map[string]string // of these properties
		relied  []string
	}{
		{"a lease", Nature{Permits: 1}, stop, map[string]string{checker.MutualExclusion: overrunOutcome,
			checker.DeadGrant: anyOutcome, checker.DeadRenewal: anyOutcome, checker.StolenRelease: "", checker.StuckLock: ""}, nil},
		{"a library that says for how long", Nature{Permits: 1, Library: true}, stop,
			map[string]string{checker.DeadGrant: "", checker.DeadRenewal: ""}, nil},
		{"a connection", Nature{Permits: 1, Session: true, NoExpiry: true}, []Fault{{Kind: "reset", Target: "holder"}},
			map[string]string{checker.StuckLock: ""}, nil},
		{"a connection of which the service may have missed the end", Nature{Permits: 1, Session: true, NoExpiry: true},
			[]Fault{{Kind: "pause", Target: "node", For: 1}},
			map[string]string{checker.StuckLock: anyOutcome}, []string{checker.StuckLock}},
		{"a session", Nature{Permits: 1, Session: true}, stop,
			map[string]string{checker.MutualExclusion: overrunOutcome, checker.DeadGrant: ""}, nil},
		{"a clock", Nature{Permits: 1, WallClock: true}, clock,
			map[string]string{checker.MutualExclusion: anyOutcome, checker.StolenRelease: ""},
			[]string{checker.Continuity, checker.MutualExclusion, checker.StuckLock}},
		{"a scheduler", Nature{Job: true}, stop, map[string]string{checker.OncePerTick: overrunOutcome, checker.Overlap: overrunOutcome,
			checker.StopDeadline: overrunOutcome, checker.LostUpdate: anyOutcome, checker.MissedTick: "", checker.Handover: ""}, nil},
		{"a scheduler that goes by its service's clock", Nature{Job: true, WallClock: true}, clock,
			map[string]string{checker.OncePerTick: anyOutcome, checker.MissedTick: ""},
			[]string{checker.Handover, checker.Overlap, checker.OncePerTick, checker.StuckLock}},
		{"no clock", Nature{Permits: 1}, clock, map[string]string{checker.MutualExclusion: overrunOutcome}, nil},
	} {
		e := c.nature.Examined(Store{Kind: storeUnfenced}, c.faults)
		for property, want := range c.allowed {
			if got := e.Properties[property]; got != want {
				t.Errorf("%s: of %s %q is allowed, want %q", c.name, property, got, want)
			}
		}
		if !slices.Equal(e.Relied, c.relied) || !e.Inherent || e.Why == "" {
			t.Errorf("%s: %+v", c.name, e)
		}
		// where nothing of that broke, it is held to what is inherent
		if inherent := c.nature.Inherent(Store{Kind: storeUnfenced}, c.faults); !maps.Equal(e.Unbroken().Properties, inherent.Properties) {
			t.Errorf("%s: unbroken %v, inherent %v", c.name, e.Unbroken().Properties, inherent.Properties)
		}
	}
}

// TestSchedulers: a scheduler is attacked as one, with the period that is asked for, and a lock as
// a lock.
func TestSchedulers(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	cron := anyLock(time.Second, Nature{Job: true})
	cron.Every = 150 * milli
	all, not := e.Of(cron)
	if len(all) < 20 || len(not) > 0 {
		t.Fatalf("%d attacks, without %+v", len(all), not)
	}
	for _, s := range all {
		if s.Workload.Kind != job || s.Workload.Every%cron.Every != 0 || s.Workload.Guard != guardTold ||
			s.Quiet < 2*s.TTL && len(s.Faults) > 0 {
			t.Errorf("%+v", s)
		}
		if e.Applies(s.Attack, anyLock(time.Second, Nature{Permits: 1})) == nil {
			t.Errorf("%s can be made on a lock", s.Attack)
		}
	}
	locks, _ := e.Of(anyLock(time.Second, Nature{Permits: 1}))
	for _, s := range locks {
		if s.Workload.Kind == job || e.Applies(s.Attack, cron) == nil {
			t.Errorf("%s can be made on a scheduler", s.Attack)
		}
	}
	if len(locks)+len(all) != len(e.Attacks) {
		t.Errorf("%d attacks on a lock and %d on a scheduler, of %d", len(locks), len(all), len(e.Attacks))
	}
	if s := cron.Undisturbed(); s.Workload.Kind != job || s.Workload.Every != cron.Every {
		t.Errorf("undisturbed: %+v", s.Workload)
	}
}

// TestGrace: an attack on what a lock tells of a loss lasts longer by the time
// within which it claims to tell.
func TestGrace(t *testing.T) {
	table, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	if table, err = table.Only(false, []string{"cut-off-long"}); err != nil {
		t.Fatal(err)
	}
	lock := Examinee{Base: Scenario{Lock: "a", TTL: examTTL, Store: Store{Kind: storeUnfenced}}, Nature: Nature{Permits: 1, Session: true},
		Abilities: []Ability{KeepsAlive, TellsLoss}, Fits: func(Fault) error { return nil }}
	plain, _ := table.Of(lock)
	lock.Grace = 3 * examTTL
	later, not := table.Of(lock)
	if len(plain) != 1 || len(later) != 1 {
		t.Fatalf("%+v", not)
	}
	before, after := plain[0], later[0]
	if after.Faults[0].For != before.Faults[0].For+lock.Grace ||
		after.Workload.Think.Min != before.Workload.Think.Min+lock.Grace || after.Duration < before.Duration+lock.Grace {
		t.Errorf("without %+v\nwith %+v", before, after)
	}
	lock.Abilities = []Ability{KeepsAlive}
	if _, not = table.Of(lock); len(not) != 1 {
		t.Errorf("a lock that tells nothing: %+v", not)
	}
}

// TestWaitersAreCutOffInTurn: a waiter that was cut off hears from its service when
// that sends again, after as long a time again. An attack that strikes sooner meets
// the same client, whose links carry nothing that it could drop, and has no proof.
func TestWaitersAreCutOffInTurn(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, a := range e.Attacks {
		if f := a.Fault; f.Kind == nemesis.KindPartition && f.Target == string(nemesis.NextWaiter) {
			if tried++; f.Every.Min <= f.For {
				t.Errorf("%s: cut off for %v, and again after %v", a.Name, f.For, f.Every)
			}
		}
	}
	if tried < 2 {
		t.Errorf("%d attacks cut waiters off", tried)
	}
}

// TestHoldsNobodyUp: which attacks make no holder late, so that one who is late is the machine's.
func TestHoldsNobodyUp(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"nothing-work": true, "kill-work": true, "node-wall-forward": true,
		"stop-work": false, "cut-off-long": false, "late-acquire-reply": false, "client-slow": false, "node-stops": false,
		"kill-run": false} {
		i := slices.IndexFunc(e.Attacks, func(a Attack) bool { return a.Name == name })
		if i < 0 {
			t.Fatalf("no attack %s", name)
		}
		s := Scenario{Workload: e.Applications[e.Attacks[i].Application].Workload}
		if e.Attacks[i].disturbs() {
			s.Faults = []Fault{e.Attacks[i].Fault}
		}
		if s.HoldsNobodyUp() != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
