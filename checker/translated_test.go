package checker

import (
	"reflect"
	"slices"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestTranslated: what a translated history can't tell is not judged, what it
// leaves in doubt does not pass, and what is certain stands all the same.
func TestTranslated(t *testing.T) {
	untold := fencedLock().with(func(h *history.Header) {
		h.Untold = map[string]string{StuckLock: "Nobody probed.", TokenOrder: "Nobody knows when tokens were given."}
	})
	doubted := plainLock().with(func(h *history.Header) {
		h.Doubts = map[string]string{MutualExclusion: "The clocks can't tell."}
	})
	translated := fencedLock().with(func(h *history.Header) { h.Translated = true })
	const apart = `
		A acquire [0,1]
		A write   [10,11]
		A release [20,21]
		B acquire [30,31]
		B write   [40,41]
		B release [50,51]`
	const together = `
		A acquire [0,1]
		B acquire [30,31]
		A write   [40,41]
		B write   [42,43]`
	const late = ` # A's answer came late: it says that, or its client was stopped, which nobody saw
		A acquire [0,20] tok=5
		B acquire [5,10] tok=6
		B release [11,12]`
	const twice = ` # one client, two grants
		A acquire [0,1] tok=5
		A2=A acquire [10,11] tok=6
		A write   [20,21] g=A
		A write   [30,31] g=A2`
	run(t, []propertyCase{
		{"untold", StuckLock, untold, apart, NotJudged, 0, "", "Nobody probed"},
		{"untold tokens are taken at their word", TokenOrder, untold, late, NotJudged, 0, "", "Nobody knows when"},
		{"a doubt does not pass", MutualExclusion, doubted, apart, Inconclusive, 0, "", "The clocks can't tell"},
		{"a doubt excuses nothing", MutualExclusion, doubted, together, Violated, 1, KindGrantedWhileValid, "both held"},
		{"a watched client's late answer", TokenOrder, fencedLock(), late, Violated, 1, "", "which nothing disturbed"},
		{"an unwatched one's", TokenOrder, translated, late, Pass, 0, "", ""},
		{"a client against itself", MutualExclusion, translated, twice, Pass, 0, "", ""},
	})
}

// TestEqualStampsForgetNothing: what ended at the very instant at which an
// acquire begins hides nothing that ended before.
func TestEqualStampsForgetNothing(t *testing.T) {
	run(t, []propertyCase{{"third", TokenOrder, fencedLock(), `
		A acquire [0,1] tok=34
		A release [2,3]
		B acquire [4,6] tok=35
		B release [6,6]
		C acquire [6,7] tok=33`, Violated, 1, "", "smaller than token 34"}})
}

// TestFacts: where a fact is not told or in doubt, a property that needs it is
// judged as where the header names the property itself.
func TestFacts(t *testing.T) {
	const text = `
		A acquire [0,1] tok=6
		B acquire [30,31] tok=5
		A write   [40,41]
		B write   [42,43]`
	missing := []string{history.FactHolds, history.FactTokens, history.FactWrites, history.FactVersions,
		history.FactAnswers, history.FactAttempts, history.FactService,
		history.FactClients, history.FactProbe}
	for _, p := range properties {
		for _, fact := range p.needs {
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == fact })
			judge := func(untold, doubts map[string]string) Verdict {
				lock := confirms(fencedLock(), "renew")
				if p.ofJobs || p.ofStops {
					lock = jobScript(nil)
				}
				lock = lock.with(func(h *history.Header) { h.Untold, h.Doubts = untold, doubts })
				return Judge(lock.history(text), Options{})
			}
			byFact, byName := map[string]string{fact: "It is not told."}, map[string]string{}
			for _, q := range properties {
				if slices.Contains(q.needs, fact) {
					byName[q.Name] = "It is not told."
				}
			}
			untold, doubtful := judge(byFact, nil), judge(nil, byFact)
			if !reflect.DeepEqual(untold, judge(byName, nil)) || !reflect.DeepEqual(doubtful, judge(nil, byName)) {
				t.Errorf("%s without %s: %+v, and in doubt %+v", p.Name, fact, untold, doubtful)
			}
			if r := untold.Property(p.Name); r.Outcome != NotJudged || r.Why != "It is not told." {
				t.Errorf("%s without %s: %+v", p.Name, fact, r)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("no property needs %v", missing)
	}
}
