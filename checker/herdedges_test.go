package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestEdgesOfHerds(t *testing.T) {
	lock := clients(workload(claim(plainLock(), func(c *history.Claims) { c.WakesOne = true }), "stampede"), 40)
	grants := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("%c acquire [%d,%d]\n%c release [%d,%d]\n", 'A'+i%8, 10*i+2, 10*i+3, 'A'+i%8, 10*i+5, 10*i+6)
		}
		return text
	}
	counted := func(at, n int) string { return fmt.Sprintf("S requests [%d] n=%d\n", at, n) }
	run(t, []propertyCase{
		{"exactly the bound", Herd, lock, counted(1, 1000) + grants(20) + counted(226, 1449) + probeText, Pass, 0, "", "cost 19.8"},
		{"one request more", Herd, lock, counted(1, 1000) + grants(20) + counted(226, 1450) + probeText, Violated, 1, "", ""},
		{"counted in between: the last count is taken", Herd, lock,
			counted(1, 1000) + grants(20) + counted(100, 1001) + counted(226, 1900) + probeText, Violated, 1, "", "900 requests"},
		{"the first count is taken, and not the second", Herd, lock,
			counted(1, 1000) + grants(20) + counted(100, 1890) + counted(226, 1900) + probeText, Violated, 1, "", "900 requests"},
		{"grants before the first count", Herd, lock, counted(52, 1000) + grants(20) + counted(277, 1600) + probeText,
			Violated, 1, "", "600 requests for 15 grants: 36 a hand-over"},
		{"ten grants are enough", Herd, lock, counted(1, 1000) + grants(10) + counted(126, 1600) + probeText, Violated, 1, "", ""},
		{"grants before the first count are not between", Herd, lock,
			counted(80, 1000) + grants(13) + counted(140, 1600) + probeText, Inconclusive, 0, "", "it takes 10"},
		{"no request at all", Herd, lock, counted(1, 1000) + grants(20) + counted(226, 1000) + probeText, Pass, 0, "", "cost 0.0"},
		{"no TTL, no heartbeats", Herd, lock.with(func(h *history.Header) { h.TTL = 0 }),
			counted(1, 1000) + grants(20) + counted(226, 1450) + probeText, Violated, 1, "", ""},
	})
	h := workload(lock, "counter").history(counted(1, 1000) + grants(20) + counted(226, 1900))
	Judge(h, Options{OnViolation: func(v Violation) {
		if v.Property == Herd {
			t.Error("told of a herd that is not judged")
		}
	}})
	other := lock.history(counted(1, 1000) + grants(20) + counted(226, 1900))
	for i := range other.Events {
		if other.Events[i].Type == history.Count {
			other.Events[i].Text = "threads"
		}
	}
	if v := Judge(other, Options{}); v.Property(Herd).Count != 0 {
		t.Error("threads are no requests")
	}
}

func TestEdgesOfTokensAndNotices(t *testing.T) {
	patient := grace(session(plainLock()))
	run(t, []propertyCase{
		{"a grant without a token has no place among them", Continuity, confirms(fencedLock(), "held"), `
		pause A   [1,699]
		A acquire [0,700]
		B acquire [10,601] tok=2
		A held    [702,703]` + probeText2, Pass, 0, "", ""},
		{"two shared one, a smaller one came, and the first has it again", TokenOrder, fencedLock(), `
		A acquire [0,1] tok=7
		A release [2,3]
		B acquire [10,11] tok=7
		B release [12,13]
		C acquire [20,21] tok=3
		C release [22,23]
		A acquire [30,31] tok=7
		A release [32,33]`, Violated, 3, "", "both given token 7"},
		{"two shared one, and the first has it again and again", TokenOrder, fencedLock(), `
		A acquire [0,1] tok=7
		A release [2,3]
		B acquire [10,11] tok=7
		B release [12,13]
		A acquire [20,21] tok=7
		A release [22,23]
		A acquire [30,31] tok=7
		A release [32,33]`, Violated, 3, "", "both given token 7"},
		{"begun before the loss was told, reported after", MutualExclusion, patient, `
		A acquire [0,1]
		pause A   [2,620]
		B acquire [600,601]
		B release [980,981]
		A lost    [950]
		A write   [900,960] start=900 refused` + probeText, Violated, 1, KindLateNotice, ""},
		{"an earlier act, reported last", MutualExclusion, patient, `
		A acquire [0,1]
		pause A   [2,620]
		B acquire [600,601]
		B release [980,981]
		A write   [890,891] refused
		A write   [630,960] start=640 refused
		A exit    [1000]` + probeText, Violated, 1, KindLateNotice, ""},
	})
}

// TestEdgesOfDamage: events that make no sense are counted, each of them.
func TestEdgesOfDamage(t *testing.T) {
	for name, add := range map[string]history.Event{
		"an op that is open already": {Type: history.Invoke, Kind: history.Read, Op: 3,
			Grant: 1, Client: 1, Time: at(3.5)},
		"the end of an absurd client": {Type: history.Exit, Client: -3, Time: at(3.5), Start: at(3.5)},
		"a ledger entry of an absurd key": {Type: history.Ledger, Kind: history.Write, Key: -1,
			Op: 3, Grant: 1, Seq: 1, Time: at(3.5)},
		"a ledger entry of an absurd key under a known grant": {Type: history.Ledger, Kind: history.Write, Key: -1,
			Op: 4, Grant: 1, Seq: 1, Time: at(3.5)},
		"a ledger entry of another kind": {Type: history.Ledger, Kind: history.Write, Op: 3,
			Grant: 1, Seq: 1, Time: at(3.5)},
		"a completion that came already": {Type: history.OK, Kind: history.Acquire, Op: 1,
			Grant: 1, Client: 1, Time: at(3.5)},
	} {
		h := fencedLock().history(healthy)
		open := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.Invoke && e.Op == 3 })
		h.Events = slices.Insert(h.Events, open+1, add)
		v := Judge(h, Options{})
		if v.Outcome != Inconclusive || !strings.Contains(strings.Join(v.Reasons, "\n"),
			"1 event that make no sense") && !strings.Contains(strings.Join(v.Reasons, "\n"), "make no sense") {
			t.Errorf("%s: %v %q", name, v.Outcome, v.Reasons)
		}
	}
	text := ""
	for k := range 7 {
		text += fmt.Sprintf("A acquire [%d,%d] key=k%d\nA release [%d,%d] key=k%d\n", 10*k, 10*k+1, k, 10*k+2, 10*k+3, k)
	}
	v := plainLock().judge(t, text+"mark final [900]")
	if why := v.Property(StuckLock).Why; !strings.Contains(why, "k2 was not probed; key 3 was not probed; and 3 more") {
		t.Errorf("of seven keys that nobody probed: %s", why)
	}
}
