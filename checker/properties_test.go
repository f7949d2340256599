package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// probeText is a probe that finds every key free, with losers alive and after all is closed.
const probeText = `
		mark probe [5000]
		P acquire  [5001,5003]
		P release  [5004,5005]
		mark final [6000]
		Q acquire  [6001,6002]
		Q release  [6003,6004]`

// healthy is a history in which everything is as it should be.
const healthy = `
		A acquire [0,1] tok=1
		B acquire [2,20] tok=2
		A read    [3,4]
		A write   [5,6]
		A release [10,11]
		B read    [21,22]
		B write   [23,24]
		B release [25,26]` + probeText2

const probeText2 = `
		mark probe [5000]
		P acquire  [5001,5003] tok=3
		P release  [5004,5005]
		mark final [6000]
		Q acquire  [6001,6002] tok=4
		Q release  [6003,6004]`

func needs(s script, n history.Needs) script {
	return s.with(func(h *history.Header) { h.Needs = n })
}

// judged is the outcome that a history is expected to have as a whole and for some properties.
type judged struct {
	name    string
	lock    script
	text    string
	outcome Outcome
	each    map[string]Outcome
	reason  string // part of a reason
}

func inconclusive(properties ...string) map[string]Outcome {
	m := map[string]Outcome{}
	for _, p := range properties {
		m[p] = Inconclusive
	}
	return m
}

var outcomes = []judged{
	{name: "healthy", lock: fencedLock(), text: healthy, outcome: Pass, each: map[string]Outcome{
		MutualExclusion: Pass, UnfencedWrite: Pass, LostUpdate: Pass, TokenOrder: Pass, StuckLock: Pass}},
	{name: "healthy, enough of everything", lock: needs(fencedLock(), history.Needs{Grants: 2, Handovers: 1}),
		text: healthy, outcome: Pass},
	{name: "no fencing tokens declared", lock: plainLock(), text: healthy, outcome: Pass, each: map[string]Outcome{TokenOrder: NotJudged}},
	{name: "declared, and none seen", lock: fencedLock(), text: strings.ReplaceAll(healthy, "tok=", "none="), outcome: Inconclusive,
		each: inconclusive(TokenOrder), reason: "token"},
	{name: "no store", lock: plainLock().with(func(h *history.Header) { h.Store = history.Store{} }), outcome: Pass,
		each: map[string]Outcome{UnfencedWrite: NotJudged, LostUpdate: NotJudged, MutualExclusion: Pass}, text: `
		A acquire [0,1]
		A release [2,3]` + probeText},
	{name: "nothing at all", lock: fencedLock(), outcome: Inconclusive},
	{name: "too few grants", lock: needs(fencedLock(), history.Needs{Grants: 3}), text: healthy, outcome: Inconclusive, reason: "2 grants",
		each: inconclusive(MutualExclusion, UnfencedWrite, LostUpdate, TokenOrder, StuckLock)},
	{name: "too few hand-overs", lock: needs(fencedLock(), history.Needs{Handovers: 2}), text: healthy,
		outcome: Inconclusive, reason: "Contended hand-overs in the run: 1"},
	{name: "no fault met a holder", lock: needs(fencedLock(), history.Needs{Bites: 1}), text: healthy,
		outcome: Inconclusive, reason: "met a holder 0 times"},
	{name: "a fault met a holder", lock: needs(fencedLock(), history.Needs{Bites: 1}), text: healthy + `
		pause A [5,6] +bite`, outcome: Pass},
	{name: "a fault did not bite", lock: fencedLock(), text: healthy + `
		pause C [5,6] +miss`, outcome: Inconclusive, reason: "took effect: pause."},
	{name: "a fault did not bite, twice", lock: fencedLock(), text: healthy + `
		pause C [5,6] +miss
		pause C [7,8] +miss`, outcome: Inconclusive, reason: "took effect: pause (2 times)."},
	{name: "a fault never ended", lock: fencedLock(), text: healthy + `
		pause C [4,]`, outcome: Inconclusive, reason: "never ended"},
	{name: "truncated", lock: cut(fencedLock()), text: healthy, outcome: Inconclusive, reason: "truncated",
		each: inconclusive(MutualExclusion, UnfencedWrite, LostUpdate, TokenOrder, StuckLock)},
	{name: "truncated, and certain", lock: cut(noClaims(plainLock())), outcome: Violated, reason: "truncated",
		each: map[string]Outcome{MutualExclusion: Violated, LostUpdate: Inconclusive}, text: `
		A acquire [0,1]
		B acquire [2,3]
		B write   [4,5]
		A write   [6,7]
		B write   [8,9]`},
	{name: "truncated, and a promise broken just before the cut", lock: untilCut(plainLock()), outcome: Inconclusive, text: `
		A acquire [0,1]
		B acquire [2,3]`},
	{name: "truncated just after a smaller token", lock: untilCut(noClaims(fencedLock())), outcome: Inconclusive, each: inconclusive(TokenOrder), text: `
		A acquire [0,10] tok=1
		B acquire [1,5] tok=2`},
	{name: "truncated long after a smaller token", lock: untilCut(noClaims(fencedLock())), outcome: Violated, each: map[string]Outcome{TokenOrder: Violated}, text: `
		A acquire [0,10] tok=1
		B acquire [1,5] tok=2
		C acquire [900,901] tok=3`},
	{name: "truncated just after a double-hold", lock: untilCut(plainLock()), outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated}, text: `
		A acquire [0,1]
		B acquire [2,3]
		B write   [4,5]
		A write   [6,7]
		B write   [8,9]`},
	{name: "no ledger", lock: noLedger(fencedLock()), text: healthy, outcome: Inconclusive, reason: "ledger is missing",
		each: map[string]Outcome{UnfencedWrite: Inconclusive, LostUpdate: Inconclusive, MutualExclusion: Pass}},
	{name: "no probe", lock: fencedLock(), text: strings.Split(healthy, "mark")[0], outcome: Inconclusive, reason: "probed",
		each: map[string]Outcome{StuckLock: Inconclusive, MutualExclusion: Pass}},
	{name: "a key that was not probed", lock: fencedLock(), text: healthy + `
		A acquire [100,101] key=k1
		A release [102,103] key=k1`, outcome: Inconclusive, reason: "k1 was not probed", each: inconclusive(StuckLock)},
	{name: "only an uninjected stall explains it", lock: plainLock(), text: stalled("stall"), outcome: Inconclusive, reason: "stall",
		each: inconclusive(MutualExclusion, UnfencedWrite, LostUpdate)},
	{name: "an injected pause explains it", lock: plainLock(), text: stalled("pause"), outcome: Violated,
		each: map[string]Outcome{MutualExclusion: Violated, UnfencedWrite: Violated, LostUpdate: Violated}},
	{name: "only a stall explains a late write between the later one's read and write", lock: plainLock(),
		text: between("stall"), outcome: Inconclusive, reason: "stall",
		each: map[string]Outcome{MutualExclusion: Inconclusive, LostUpdate: Inconclusive, UnfencedWrite: Pass}},
	{name: "an injected pause explains such a write", lock: plainLock(), text: between("pause"), outcome: Violated,
		each: map[string]Outcome{MutualExclusion: Violated, LostUpdate: Violated, UnfencedWrite: Pass}},
	{name: "an injected fault that cost it little, and a stall that made it late", lock: plainLock(),
		text: stalled("pause A [4,6]\n\t\tstall"), outcome: Inconclusive, reason: "stall",
		each: inconclusive(MutualExclusion, UnfencedWrite, LostUpdate)},
	{name: "a stall, but too late without it, for a pause", lock: plainLock(), outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated}, text: `
		A acquire [0,1]
		pause A   [10,600]
		B acquire [605,606]
		stall A   [610,650]
		A write   [700,701] refused
		B write   [702,703]
		B release [704,705]` + probeText},
	{name: "a stall, but too slow without it", lock: plainLock(), outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated}, text: `
		A acquire [0,1]
		stall A   [10,70]
		B acquire [600,601]
		A write   [900,901] refused
		B write   [902,903]
		B release [904,905]` + probeText},
	{name: "told of the loss, stalled, and still went on", lock: plainLock(), outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated}, text: `
		A acquire [0,1]
		stall A   [10,700]
		A lost    [710]
		B acquire [600,601]
		A write   [900,901] refused
		B write   [902,903]
		B release [904,905]` + probeText},
	{name: "a stall ended its session, and the application hears nothing", lock: deafLock(),
		text: renewed("stall A [10,700]"), outcome: Inconclusive, reason: "stall",
		each: inconclusive(MutualExclusion, UnfencedWrite, LostUpdate)},
	{name: "another client's stall shows that the machine starved", lock: deafLock(), text: renewed("stall C [10,700]"),
		outcome: Inconclusive, reason: "stall",
		each: inconclusive(MutualExclusion, UnfencedWrite, LostUpdate)},
	{name: "the same, and the application listens",
		lock: deafLock().with(func(h *history.Header) { h.Guard = "check" }), text: renewed("stall A [10,700]"),
		outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated, UnfencedWrite: Violated, LostUpdate: Violated}},
	{name: "a stall long before its session ended", lock: deafLock(), text: renewed("stall A [10,100]"),
		outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated, UnfencedWrite: Violated, LostUpdate: Violated}},
	{name: "an injected pause ended its session", lock: deafLock(), text: renewed("pause A [10,700]"),
		outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated, UnfencedWrite: Violated, LostUpdate: Violated}},
	{name: "an injected pause ended its session, beside a stall", lock: deafLock(),
		text:    renewed("pause A [10,690]\n\t\tstall A [691,700]"),
		outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated, UnfencedWrite: Violated, LostUpdate: Violated}},
	{name: "a promise is broken, stall or not", lock: plainLock(), outcome: Violated, each: map[string]Outcome{MutualExclusion: Violated}, text: `
		A acquire [0,1]
		stall A   [10,80]
		B acquire [300,301]
		A write   [310,311] refused
		B release [312,313]
		A release [314,315] notheld` + probeText},
	{name: "an act under a grant that nobody knows", lock: fencedLock(), text: healthy + `
		G=A acquire [200,201] busy
		A write [300,301] g=G`, outcome: Inconclusive, reason: "does not know"},
}

func stalled(how string) string {
	return `
		A acquire [0,1]
		A read    [2,3]
		` + how + ` A   [10,700]
		B acquire [600,601]
		B read    [602,603]
		B write   [604,605]
		A write   [701,702]
		B write   [710,711]
		B release [712,713]
		A release [714,715] notheld` + probeText
}

// between is the story of a late write that slips between the later holder's
// read and write; its client is killed soon after it.
func between(how string) string {
	return `
		A acquire [0,1]
		A read    [2,3]
		` + how + ` A   [10,700]
		B acquire [600,601]
		B read    [602,603]
		A write   [701,702]
		kill A    [720,721]
		A exit    [722]
		B write   [740,741]
		B release [742,743]` + probeText
}

// deafLock is a lock by session under an application that trusts its acquire.
func deafLock() script {
	return plainLock().with(func(h *history.Header) { h.Claims.Validity, h.Guard = "session", "none" })
}

// renewed is the story of a client that is told of the loss of its session and
// goes on all the same.
func renewed(disturbance string) string {
	return `
		A acquire [0,1]
		A read    [2,3]
		` + disturbance + `
		A lost    [701]
		B acquire [702,703]
		B read    [704,705]
		B write   [706,707]
		A write   [900,901]
		B write   [910,911]
		B release [912,913]
		A release [914,915] notheld` + probeText
}

func cut(s script) script      { s.cut = true; return s }
func noLedger(s script) script { s.noLedger = true; return s }

// untilCut leaves out the ledger's mark at the very end, so that the history
// ends where its last op does.
func untilCut(s script) script {
	return noLedger(cut(s)).with(func(h *history.Header) { h.Store = history.Store{} })
}

func TestOutcomes(t *testing.T) {
	for _, x := range outcomes {
		t.Run(x.name, func(t *testing.T) {
			h := x.lock.history(x.text)
			if x.lock.cut {
				h.Events = h.Events[:len(h.Events)-1]
			}
			v := Judge(h, Options{})
			x.lock.holdToGolden(t, x.text, v)
			if v.Outcome != x.outcome {
				t.Errorf("%v, want %v; reasons %q", v.Outcome, x.outcome, v.Reasons)
			}
			if v.Outcome == Inconclusive && len(v.Reasons) == 0 {
				t.Error("inconclusive, and nobody says why")
			}
			for name, want := range x.each {
				if got := v.Property(name); got.Outcome != want {
					t.Errorf("%s: %v (%s), want %v", name, got.Outcome, got.Why, want)
				}
			}
			if !strings.Contains(strings.Join(v.Reasons, "\n"), x.reason) {
				t.Errorf("no reason says %q: %q", x.reason, v.Reasons)
			}
		})
	}
}

// TestStuckLock: what the probe shows, phase by phase. TTL 500 ms, slack 500 ms.
func TestStuckLock(t *testing.T) {
	const used = `
		A acquire [0,1]
		B acquire [0,100] busy
		A release [2,3]
		`
	for _, x := range []struct {
		name, text string
		outcome    Outcome
		kind       string
	}{
		{"free", used + probeText, Pass, ""},
		{"busy for long enough, a loser lives: a ghost", used + `
		mark probe [900]
		P acquire  [901,2000] busy
		mark final [3000]
		Q acquire  [3001,3002]`, Violated, KindGhost},
		{"busy for long enough with everybody closed", used + `
		A close [50,60]
		B close [150,160]
		mark final [3000]
		Q acquire  [3001,5000] busy`, Violated, ""},
		{"busy, but not for long enough", used + `
		mark final [500]
		Q acquire  [501,900] busy`, Inconclusive, ""},
		{"busy while a live client still holds", `
		A acquire [0,1]
		mark probe [900]
		P acquire  [901,2900] busy
		A close    [3000,3001]
		mark final [4000]
		Q acquire  [4001,4002]`, Pass, ""},
		{"busy while an acquire of unknown fate may still hold", `
		A acquire [0,1] info
		mark final [900]
		Q acquire  [901,2900] busy`, Inconclusive, ""},
		{"busy while a release of unknown fate may not have happened", `
		A acquire [0,1]
		A release [2,3] info
		mark final [900]
		Q acquire  [901,2900] busy`, Inconclusive, ""},
		{"busy although the client of unknown fate is gone", `
		A acquire [0,1] info
		A exit [20]
		mark final [900]
		Q acquire  [901,2900] busy`, Violated, KindNeverExpired},
		{"busy while an acquire is open", `
		A acquire [0,]
		mark final [900]
		Q acquire  [901,2900] busy`, Inconclusive, ""},
		{"busy although the open acquire's client is gone", `
		A acquire [0,]
		A exit [30]
		mark final [900]
		Q acquire  [901,2900] busy`, Violated, KindNeverExpired},
		{"busy soon after the client closed", `
		A acquire [0,1]
		A close [2000,2001]
		mark final [2002]
		Q acquire  [2003,2900] busy`, Inconclusive, ""},
		{"busy while a fault lasts", used + `
		service x  [4,2500]
		mark final [900]
		Q acquire  [901,2900] busy`, Inconclusive, ""},
		{"the service does not answer", used + `
		mark final [900]
		Q acquire  [901,2900] info`, Inconclusive, ""},
		{"the service answered in the last phase", used + `
		mark probe [900]
		P acquire  [901,1000] info
		P exit     [1500]
		mark final [2000]
		Q acquire  [2001,2002]`, Pass, ""},
		{"a reentrant release needs its outermost", `
		A1=A acquire [0,1]
		A release [2,3] notheld
		mark final [900]
		Q acquire  [901,2900] busy`, Violated, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			v := plainLock().judge(t, x.text)
			r := v.Property(StuckLock)
			if r.Outcome != x.outcome {
				t.Errorf("%v (%s), want %v", r.Outcome, r.Why, x.outcome)
			}
			if x.outcome == Violated && r.Violations[0].Kind != x.kind {
				t.Errorf("kind %q, want %q", r.Violations[0].Kind, x.kind)
			}
			for _, violation := range r.Violations {
				t.Log(violation.Text)
			}
		})
	}
	v := plainLock().judge(t, used+probeText)
	if v.Stats.Recovered != 3*ms {
		t.Errorf("recovered after %v, want 3ms", v.Stats.Recovered)
	}
}

// TestSeverity: what a double-hold did to the data.
func TestSeverity(t *testing.T) {
	const before = `
		A acquire [0,1]
		A read    [2,3]
		pause A   [10,700]
		B acquire [600,601]
		B read    [602,603]
		`
	const after = `
		B write   [710,711]
		B release [712,713]
		A release [714,715] notheld`
	for _, x := range []struct {
		name, text string
		want       Severity
	}{
		{"nothing stale reached the store", before + "A renew [701,702] notheld" + after, Untested},
		{"the fence refused the stale write", before + "A write [701,702] refused" + after, Contained},
		{"the fence refused it, and nobody told the client", before + "A write [701,] refused @703" + after, Contained},
		{"the stale write was accepted", before + "B write [604,605]\nA write [701,702]" + after, Corrupting},
		{"it overtook the later holder's first write, which then lost it", before + "A write [701,702]" + after, Corrupting},
	} {
		t.Run(x.name, func(t *testing.T) {
			v := plainLock().judge(t, x.text)
			r := v.Property(MutualExclusion)
			if r.Count != 1 || r.Violations[0].Severity != x.want || v.Severity != x.want {
				t.Errorf("%d double-holds, the first %v, the run %v; want one, %v", r.Count, r.Violations[0].Severity, v.Severity, x.want)
			}
		})
	}
}

// TestEvidence: what a violation shows.
func TestEvidence(t *testing.T) {
	v := plainLock().judge(t, stalled("pause"))
	double := v.Property(MutualExclusion).Violations[0]
	if want := []int64{1, 2, 4, 5, 6, 7, 8}; !slices.Contains(double.Ops, 1) || !slices.Contains(double.Ops, 4) ||
		!slices.Contains(double.Ops, 7) || len(double.Ops) > 8 {
		t.Errorf("ops %v, want both acquires and the stale act among %v", double.Ops, want)
	}
	if !slices.Equal(double.Faults, []int{3}) || double.A.Client != 1 || double.B.Client != 2 || double.A.Promise == 0 {
		t.Errorf("faults %v, %+v and %+v", double.Faults, double.A, double.B)
	}
	if double.At != at(601) || double.From != at(601) || double.To != at(701) {
		t.Errorf("from %d to %d, at %d", double.From, double.To, double.At)
	}
	want := "client 1 and client 2 both held k0 from 1.601 s to 1.701 s: client 1 was frozen for 0.690 s, outlived its lease of 0.500 s and went on as holder."
	if double.Text != want {
		t.Errorf("text:\n%s\nwant\n%s", double.Text, want)
	}
	lost := v.Property(LostUpdate).Violations[0]
	if !slices.Contains(lost.Ops, 2) || !slices.Contains(lost.Ops, 6) || !slices.Contains(lost.Ops, 7) {
		t.Errorf("ops %v of the lost update, want the read 2, the lost write 6 and the write 7", lost.Ops)
	}
	stale := v.Property(UnfencedWrite).Violations[0]
	if stale.Kind != KindStale || !slices.Contains(stale.Ops, 6) || !slices.Contains(stale.Ops, 7) {
		t.Errorf("%s, ops %v", stale.Kind, stale.Ops)
	}
	if v.Stats.Stale != 1 || v.Stats.Accepted != 3 || v.Stats.Grants != 2 || v.Stats.Handovers != 1 {
		t.Errorf("stats %+v", v.Stats)
	}
}

// TestKindOfWrite: in flight, stale, and neither where nobody knows.
func TestKindOfWrite(t *testing.T) {
	for kind, write := range map[string]string{
		KindInFlight: "A write [100,800] @700",
		KindStale:    "A write [500,800] start=699 @700",
		// Equal stamps decide nothing: it did not begin after the grant.
		KindInFlight + " ": "A write [500,800] start=601 @700",
		"":                 "A write [500,] @700",
	} {
		v := plainLock().judge(t, `
		A acquire [0,1]
		B acquire [600,601]
		B write   [650,651]
		`+write+`
		A exit    [900]`)
		if got := kindOf(v, UnfencedWrite); got != strings.TrimSpace(kind) {
			t.Errorf("%s: kind %q, want %q", write, got, kind)
		}
	}
}
