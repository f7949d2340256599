package checker

import (
	"strconv"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Histories at the edges of promises, kinds and lost updates.

func TestEdgesOfKinds(t *testing.T) {
	late := func(act float64, faults string) string {
		return strings.NewReplacer("T0", inScript(act-60), "T1", inScript(act-59), "T2", inScript(act), "T3", inScript(act+1)).Replace(`
		A acquire [0,1]
		B acquire [T0,T1]
		A write [T2,T3] refused
		B write [930,931]
		B release [940,941]
		`) + faults + probeText
	}
	deafLease := plainLock().with(func(h *history.Header) { h.Guard = guardNone })
	told := func(faults string) string {
		return "A acquire [0,1]\nA lost [701]\nB acquire [702,703]\nA write [900,901] refused\nB write [910,911]\nB release [912,913]\n" + faults + probeText
	}
	run(t, []propertyCase{
		{"stopped for just the whole promise, and stalled besides", MutualExclusion, plainLock(),
			late(701, "pause A [10,508]\nstall A [10,700]"), Violated, 1, KindLeaseOverrun, ""},
		{"stopped for a little less, and stalled besides", MutualExclusion, plainLock(),
			late(701, "pause A [10,507.9]\nstall A [10,700]"), Inconclusive, 0, "", "stall"},
		{"a session whose client was stopped and stalled", MutualExclusion, session(plainLock()),
			late(701, "pause A [10,20]\nstall A [10,700]\nA release [945,946] notheld"), Violated, 1, KindLeaseOverrun, ""},
		{"nothing promised, stopped and stalled", MutualExclusion, noClaims(plainLock()),
			late(701, "pause A [10,20]\nstall A [10,700]"), Violated, 1, KindLeaseOverrun, ""},
		{"nothing promised, and stalled", MutualExclusion, noClaims(plainLock()), late(701, "stall A [10,700]"),
			Inconclusive, 0, "", "stall"},
		{"told of the loss, stopped for a moment and stalled", MutualExclusion, deafLease,
			told("pause A [4,6]\nstall A [10,700]"), Violated, 1, KindLeaseOverrun, ""},
		{"the service stalled", MutualExclusion, plainLock(), late(701, "service x [10,600] +own"), Inconclusive, 0, "", "stall"},
		{"just as late without the stall", MutualExclusion, plainLock(), late(748, "stall A [10,160]"), Violated, 1, KindLeaseOverrun, ""},
		{"a little less late", MutualExclusion, plainLock(), late(747.9, "stall A [10,160]"), Inconclusive, 0, "", "stall"},
		{"a stall before its session began", MutualExclusion, deafLock(),
			strings.Replace(told("stall C [210,300]"), "[0,1]", "[400,401]", 1), Violated, 1, KindLeaseOverrun, ""},
		{"a stall that is noticed just after the loss", MutualExclusion, deafLock(), told("stall C [751,760]"),
			Inconclusive, 0, "", "stall"},
		{"a stall that comes after the loss", MutualExclusion, deafLock(), told("stall C [752,760]"), Violated, 1, KindLeaseOverrun, ""},
		{"a stall of the service just after the loss", MutualExclusion, deafLock(), told("service x [751,760] +own"),
			Inconclusive, 0, "", "stall"},
		{"a stall of the service after the loss", MutualExclusion, deafLock(), told("service x [752,760] +own"),
			Violated, 1, KindLeaseOverrun, ""},
	})
}

// inScript writes a time of a script.
func inScript(t float64) string { return strconv.FormatFloat(t, 'f', -1, 64) }

func TestEdgesOfPromises(t *testing.T) {
	soon := plainLock().with(func(h *history.Header) { h.TTL = 0 })
	run(t, []propertyCase{
		{"over for longer than the clock has run", DeadGrant, library(plainLock()),
			"A acquire [0,1] attempt=0 valid=-3000" + probeText, Violated, 1, "", ""},
		{"no TTL, in the first instants of the clock", MutualExclusion, soon, `
		A acquire [-999.5,-999]
		B acquire [2,3]
		B write   [4,5]
		A write   [6,7]
		B write   [8,9]` + probeText, Violated, 1, KindLeaseOverrun, ""},
		{"a renewal that ended with the promise", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A renew   [497,498]
		B acquire [600,601]
		B release [610,611]` + probeText, Pass, 0, "", ""},
		{"a renewal that ended just before", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A renew   [497,497.9]
		B acquire [600,601]
		B release [610,611]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
	})
}

func TestEdgesOfLostUpdates(t *testing.T) {
	free := permits(plainLock(), 0)
	stalledOnItsWay := `
		A acquire [0,1]
		A read    [2,3]
		stall A   [510,699]
		B acquire [500,501] first=500
		B read    [502,503]
		B write   [504,506]
		A write   [480,705] @700
		B release [810,811]` + probeText
	const takenLate = ` # D's open acquire keeps A's grant in mind
		D acquire [1,]
		A acquire [0,1]
		A read    [2,3]
		A write   [10,13] @12,705
		A release [14,15]
		stall A   [16,699]
		B acquire [600,601]
		B read    [602,603]
		B write   [604,606]
		B release [810,811]` + probeText
	run(t, []propertyCase{
		{"taken twice, the second time over another's write", LostUpdate, noClaims(plainLock()), `
		A acquire [0,1]
		A read    [2,3]
		A write   [10,100] @12,90
		B acquire [20,21]
		B read    [22,23]
		B write   [50,51]
		B release [60,61]` + probeText, Violated, 1, "",
			"took a request of client 1 to k0 again, as version 3, over version 2 of client 2"},
		{"taken twice, which a stall of its client does not explain", LostUpdate, plainLock(), takenLate, Violated, 1, "", "again"},
		{"and so is the stale write", UnfencedWrite, plainLock(), takenLate, Violated, 1, KindInFlight,
			"although it had taken this request before"},
		{"taken twice, and made from what was there", LostUpdate, plainLock(),
			strings.Replace(takenLate, "@12,705", "@12,705 atomic", 1), Pass, 0, "", ""},
		{"stalled while its write was on its way", LostUpdate, plainLock(), stalledOnItsWay, Inconclusive, 0, "", "stall"},
		{"stopped while its write was on its way", LostUpdate, plainLock(),
			strings.Replace(stalledOnItsWay, "stall", "pause", 1), Violated, 1, "", ""},
		{"without a lock a stall excuses nothing", LostUpdate, free, stalled("stall"), Violated, 2, "", ""},
	})
}

// TestWhatIsNotToldIsNotJudged: where a history says that it can't tell of a
// property, nothing of it is counted, told live, or weighs on the severity.
func TestWhatIsNotToldIsNotJudged(t *testing.T) {
	stale := fencedLock().with(func(h *history.Header) { h.Claims.Confirms = []string{"renew"} })
	text := stalled("pause") + strings.ReplaceAll(strings.ReplaceAll(handedOver, "A acq", "C acq"), "B acq", "D acq") +
		"C renew [900,901]\nC acquire [950,960] tok=1\nC release [970,971]"
	told := map[string]int{}
	judge := func(lock script) Verdict {
		clear(told)
		return Judge(lock.history(text), Options{OnViolation: func(v Violation) { told[v.Property]++ }})
	}
	all := []string{MutualExclusion, UnfencedWrite, LostUpdate, TokenOrder, Continuity}
	if judge(stale); len(told) != len(all) {
		t.Fatalf("told of %v, want %q", told, all)
	}
	for _, property := range all {
		v := judge(stale.with(func(h *history.Header) { h.Untold = map[string]string{property: "It is not told."} }))
		if r := v.Property(property); told[property] > 0 || r.Outcome != NotJudged || r.Why != "It is not told." {
			t.Errorf("%s: %v (%s), told %d times", property, r.Outcome, r.Why, told[property])
		}
		for _, g := range v.Patterns {
			if g.Of(property) > 0 {
				t.Errorf("%s: counted as %s", property, g.Pattern)
			}
		}
	}
	v := judge(stale.with(func(h *history.Header) {
		h.Untold = map[string]string{UnfencedWrite: "It is not told.", LostUpdate: "It is not told."}
	}))
	if v.Severity == Corrupting {
		t.Error("corrupting, by what is not told")
	}
}

// TestNames: every outcome and severity is read as it is written; what there is
// not has a name that is on the safe side.
func TestNames(t *testing.T) {
	for o := Inconclusive; o <= NotJudged; o++ {
		got := Outcome(99)
		if err := got.UnmarshalText([]byte(o.String())); err != nil || got != o {
			t.Errorf("%v is read as %v, %v", o, got, err)
		}
	}
	for v := SeverityNone; v <= Corrupting; v++ {
		got := Severity(99)
		if err := got.UnmarshalText([]byte(v.String())); err != nil || got != v {
			t.Errorf("%v is read as %v, %v", v, got, err)
		}
	}
	for _, beyond := range [2]uint8{uint8(NotJudged) + 1, 200} {
		if o, v := Outcome(beyond).String(), Severity(beyond).String(); o != "inconclusive" || v != "none" {
			t.Errorf("%d is called %s, %s", beyond, o, v)
		}
	}
	for _, text := range [2]string{"", "passed"} {
		o, v := Violated, Corrupting
		if o.UnmarshalText([]byte(text)) == nil || v.UnmarshalText([]byte(text)) == nil || o != Violated || v != Corrupting {
			t.Errorf("%q is read as %v, %v", text, o, v)
		}
	}
}
