package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// TestWhoWasToldNo: one client that was told no makes a ghost, no matter which others were not.
func TestWhoWasToldNo(t *testing.T) {
	run(t, []propertyCase{{"told no was only the first", StuckLock, plainLock(), `
		A acquire [0,1]
		A release [2,3]
		B acquire [5,6] busy
		C acquire [10,11]
		C release [12,13]
		mark probe [1000]
		P acquire [4000,4500] busy
		P exit    [4600]
		mark final [4700]
		Q acquire [8000,8500]`, Violated, 1, KindGhost, ""}})
}

func TestEdgesOfProbes(t *testing.T) {
	if a, b := Slack(500*time.Millisecond), Slack(3*time.Second); a != 500*time.Millisecond || b != 1500*time.Millisecond {
		t.Errorf("slack of %v and %v", a, b)
	}
	if four, five := firstFew([]string{"a", "b", "c", "d"}),
		firstFew([]string{"a", "b", "c", "d", "e"}); len(four) != 4 || four[3] != "d" || five[4] != "and 1 more" {
		t.Errorf("%q, %q", four, five)
	}
	const heir = `
		A acquire [0,1] proc=1
		A acquire [600,601] proc=33
		A exit    [602] proc=1
		`
	const given = "A acquire [0,1]\nA release [2,3]\n"
	const denied = `
		A acquire [0,1]
		A release [2,3]
		B acquire [5,6] busy
		B exit    [10]
		mark probe [1000]
		P acquire [4000,4500] busy
		P exit    [4600]
		mark final [4700]
		Q acquire [8000,8500]`
	run(t, []propertyCase{
		{"a probe at the beginning of time", StuckLock, plainLock(), `
		mark final [-1000]
		Q acquire  [-999,-998]
		Q release  [-997,-996]`, Pass, 0, "", "within 0.002 s"},
		{"who was told no is gone: no ghost", StuckLock, plainLock(), denied, Violated, 1, "", ""},
		{"who was told no is there: a ghost", StuckLock, plainLock(),
			strings.Replace(denied, "B exit    [10]", "B exit [4650]", 1), Violated, 1, KindGhost, ""},
		{"a release that is answered when its client is gone", StuckLock, plainLock(), `
		A acquire [0,1]
		A release [5,700]
		A exit    [10]
		B acquire [600,601]
		mark final [3000]
		Q acquire  [5000,6100] busy`, Inconclusive, 0, "", "somebody could still hold it"},
		{"a close that ended long before it was told", StuckLock, plainLock(), `
		A acquire [0,5] info
		A close   [10,1000] run=10,50
		B acquire [800,801]
		B release [890,900]
		mark final [1100]
		Q acquire  [1101,1500] busy`, Inconclusive, 0, "", "gave up too early"},
		{"a release that ended long before it was told", StuckLock, plainLock(), `
		B acquire [0,1]
		B release [10,1000] run=10,20
		C acquire [800,801]
		C release [890,900]
		mark final [1100]
		Q acquire  [1101,1500] busy`, Inconclusive, 0, "", "gave up too early"},
		{"two were told busy: one stuck key", StuckLock, plainLock(),
			given + "mark final [3000]\nQ acquire [5000,6100] busy\nR acquire [6101,6200] busy", Violated, 1, "", ""},
		{"free for just long enough", StuckLock, plainLock(), given + "mark final [100]\nQ acquire [101,1003] busy", Violated, 1, "", ""},
		{"free for a little less", StuckLock, plainLock(), given + "mark final [100]\nQ acquire [101,1002.9] busy",
			Inconclusive, 0, "", "gave up too early"},
		{"told no, and free again though it never closed", StuckLock, plainLock(),
			given + "B acquire [5,6] busy\nmark final [3000]\nQ acquire [5000,6100] busy\nR acquire [6101,6102]", Violated, 1, "", ""},
		{"told no were only those who probe", StuckLock, plainLock(), given + `mark probe [100]
		P acquire [101,500] busy
		P acquire [501,4500] busy
		P exit    [4600]
		mark final [4700]
		Q acquire [8000,8500]`, Violated, 1, "", ""},
		{"the dead one's heir holds it", StuckLock, plainLock(), heir + "mark final [3000]\nQ acquire [5000,6100] busy",
			Inconclusive, 0, "", "somebody could still hold it"},
		{"the dead one's heir gave it back", StuckLock, plainLock(),
			heir + "A release [700,701] proc=33\nmark final [3000]\nQ acquire [5000,6100] busy", Violated, 1, KindNeverExpired, ""},
		{"the dead one's heir gave it back, had it again and died", StuckLock, plainLock(), heir + `A release [700,701] proc=33
		A acquire [710,711] proc=33
		A exit    [720] proc=33
		mark final [3000]
		Q acquire [5000,6100] busy`, Violated, 1, KindNeverExpired, ""},
		{"a phase that is told twice began the first time", StuckLock, plainLock(), `
		A acquire [0,1]
		A release [2,3]
		mark probe [5000]
		mark probe [5002]
		P acquire  [5001,5003]
		P release  [5004,5005]
		mark final [6000]
		Q acquire  [6001,6002]
		Q release  [6003,6004]`, Pass, 0, "", "within 0.003 s"},
	})
	for text, says := range map[string]string{"": "no reason was given", "refused by the firewall": "refused by the firewall"} {
		h := plainLock().history(given + "mark final [3000]\nQ acquire [5000,6100] fail")
		for i := range h.Events {
			if e := &h.Events[i]; e.Type == history.Fail {
				e.Text = text
			}
		}
		v := Judge(h, Options{})
		if r := v.Property(StuckLock); r.Outcome != Inconclusive || !strings.Contains(r.Why, "an error ("+says+")") {
			t.Errorf("an error %q: %+v", text, r)
		}
	}
	for faults, want := range map[string]int{"kill A [-50,-1]": 0, "kill A [-50,0]": 1, "pause A [2,3]": 0, "kill A [10,11]": 1} {
		v := plainLock().judge(t, "A acquire [0,1] proc=33\n"+faults+"\nA exit [12]\nmark final [3000]\nQ acquire [5000,6100] busy")
		if r := v.Property(StuckLock); r.Count != 1 || len(r.Violations[0].Faults) != want {
			t.Errorf("%s: %+v", faults, r)
		}
	}
	h := plainLock().history(given + "mark final [3000]\nQ acquire [5000,6100] busy")
	for i := range h.Events {
		if h.Events[i].Busy {
			h.Events[i].Type = history.Info
		}
	}
	v := Judge(h, Options{})
	if r := v.Property(StuckLock); r.Outcome != Inconclusive || !strings.Contains(r.Why, "an error") {
		t.Errorf("busy, perhaps: %+v", r)
	}
}
