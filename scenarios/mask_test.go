package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/nemesis"
)

// maskless are defects that no application avoids, and why.
var maskless = map[string]string{
	checker.KindLateNotice:  "the lock tells too late, whatever the application does",
	checker.TokenOrder:      "it hides nothing",
	checker.FIFO:            "it hides nothing",
	checker.Starvation:      "it hides nothing",
	checker.Herd:            "it hides nothing",
	checker.UnfencedWrite:   "it is the harm that a double-hold does",
	checker.LostUpdate:      "it is the harm that a double-hold does",
	checker.StaleRead:       "it is the harm that a double-hold, or a release before the commit, does",
	checker.DuplicateEffect: "it is the harm that a double-hold does",
	checker.MutualExclusion: "it is told by its kinds",
	checker.OncePerTick:     "an application has to claim its ticks",
	checker.MissedTick:      "an application has to wait for its ticks",
	checker.Handover:        "an application does not choose when it dies",
	checker.ReleasedOnStop:  "an application does not choose when it is stopped",
}

// TestEachDefectHasAMask: each property, and each kind of double-holds that is a
// defect, has an application that avoids it, or a reason why none does, and never both.
func TestEachDefectHasAMask(t *testing.T) {
	all := append(checker.Names(), checker.KindGrantedWhileValid, checker.KindSameIdentity, checker.KindGrantedDead, checker.KindLateNotice)
	for _, name := range all {
		if (len(masks[name]) > 0) == (maskless[name] != "") {
			t.Errorf("%s: %d masks, and why there is none: %q", name, len(masks[name]), maskless[name])
		}
	}
	for name := range masks {
		if !slices.Contains(all, name) {
			t.Errorf("%s is no property, and no kind of double-holds that is a defect", name)
		}
	}
}

// made are attacks of the table on a lock that can do everything.
func made(t *testing.T, names ...string) (all []Scenario) {
	t.Helper()
	e, err := Attacks()
	if err == nil {
		e, err = e.Only(false, names)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range e.Attacks {
		all = append(all, e.scenario(a, Examinee{Base: Scenario{Lock: "any", TTL: examTTL,
			Store: Store{Kind: storeUnfenced}}, Nature: Nature{Permits: 1}}))
	}
	return all
}

// TestMaskOf: the rarest step is avoided that all attacks take which showed the defect.
func TestMaskOf(t *testing.T) {
	for _, c := range []struct{ defect, attacks, want string }{
		{checker.KindGrantedWhileValid, "nothing-sets", oneKey.About},
		{checker.KindGrantedWhileValid, "stop-reader,nothing-readers", neverReads.About},
		{checker.KindGrantedWhileValid, "stop-renewal,late-renewal", asksNothing.About},
		{checker.KindGrantedWhileValid, "nothing-trying", waitsOn.About},
		{checker.KindGrantedWhileValid, "stop-renewal,stop-work", neverReleases.About},
		{checker.StolenRelease, "stop-renewal", neverReleases.About},
		{checker.Continuity, "stop-renewal,stop-before-asking", asksNothing.About},
		{checker.FalseLoss, "stop-renewal,stop-work", neverReleases.About},
		{checker.FalseBusy, "nothing-work", ""},
		{checker.DeadGrant, "late-acquire-reply", waitsShortly.About},
		{checker.KindSameIdentity, "nothing-twins", ownIdentity.About},
		{checker.KindSameIdentity, "nothing-twins,kill-reborn", ""},
		{checker.KindLateNotice, "stop-work", ""},
		{checker.Overlap, "nothing-slow-ticks", worksShortly.About},
		{checker.Overlap, "nothing-slow-ticks,kill-run", ""},
	} {
		m, found := MaskOf(c.defect, made(t, strings.Split(c.attacks, ",")...))
		if m.About != c.want || found != (c.want != "") {
			t.Errorf("%s, shown by %s: %q, not %q", c.defect, c.attacks, m.About, c.want)
		}
	}
	if _, found := MaskOf(checker.StolenRelease, nil); found {
		t.Error("a defect that no attack showed is avoided")
	}
}

// TestMasked: a masked attack does not take the step any more, has a name of
// its own, and is not made where its fault strikes at the step.
func TestMasked(t *testing.T) {
	for _, c := range []struct {
		mask         Mask
		attack       string
		made, slower bool
	}{
		{oneKey, "nothing-sets", true, false},
		{neverReads, "stop-reader", true, false},
		{asksNothing, "client-slow", true, false},
		{asksNothing, "stop-renewal", false, false},
		{asksNothing, "lost-renewal-reply", false, false},
		{asksNothing, "node-fails-renewing", true, false},
		{waitsOn, "stop-giving-up", true, false},
		{waitsOn, "lost-giving-up", false, false},
		{waitsShortly, "late-acquire-reply", true, false},
		{worksShortly, "nothing-slow-ticks", true, false},
		{neverReleases, "stop-work", true, true},
		{neverReleases, "nothing-relay", true, true},
		{neverReleases, "stop-release", false, false},
		{neverReleases, "late-release", false, false},
	} {
		s := made(t, c.attack)[0]
		if !c.mask.Takes(s) {
			t.Errorf("%s does not take what is to be avoided: %s", c.attack, c.mask.About)
		}
		m, ok := c.mask.Of(s)
		if ok != c.made {
			t.Errorf("%s on an application that %s: made %v", c.attack, c.mask.About, ok)
		}
		if !ok {
			continue
		}
		if c.mask.About != neverReleases.About && c.mask.Takes(m) || m.Workload.NeverRelease != c.slower ||
			m.Duration > s.Duration != c.slower {
			t.Errorf("%s on an application that %s: %+v", c.attack, c.mask.About, m)
		}
		if m.Duration < Duration(m.Needs.Grants)*m.TTL && c.slower || m.Needs.Grants > s.Needs.Grants ||
			m.Needs.Handovers > 0 && c.slower {
			t.Errorf("%s on an application that %s: %v for %d grants", c.attack, c.mask.About, m.Duration, m.Needs.Grants)
		}
		if want := "any/" + c.attack + "-masked/unfenced"; m.Name != want || m.Attack != c.attack ||
			!strings.HasSuffix(m.About, c.mask.About) {
			t.Errorf("%s: %s: %s", m.Attack, m.Name, m.About)
		}
	}
}

// TestMostTelling: what is asked for first comes first, and then the most telling.
func TestMostTelling(t *testing.T) {
	var all []Scenario
	for _, a := range smallExam().Attacks {
		all = append(all, Scenario{Attack: a.Name})
	}
	first := func(s Scenario) bool { return s.Attack == "often" }
	if got := names(smallExam().MostTelling(3, all, first)); got != "often real seldom" {
		t.Error(got)
	}
	if got := smallExam().MostTelling(9, all, first); len(got) != len(all) {
		t.Errorf("%d of %d attacks", len(got), len(all))
	}
	if nemesis.BeforeRelease == "" || strikes("", nemesis.RequestGiveUp)(Fault{Kind: "kill"}) {
		t.Error("a fault at no moment strikes at a request")
	}
}
