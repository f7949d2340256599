package checker

import (
	"strings"
	"testing"
	"time"
)

func TestEdgesOfProbes(t *testing.T) {
	if a, b := Slack(500*time.Millisecond), Slack(3*time.Second); a != 500*time.Millisecond || b != 1500*time.Millisecond {
		t.Errorf("slack of %v and %v", a, b)
	}
	const heir = `
		A acquire [0,1] proc=1
		A acquire [600,601] proc=33
		A exit    [602] proc=1
		`
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
		{"who was told no is there: a ghost", StuckLock, plainLock(), strings.Replace(denied, "B exit    [10]", "B exit [4650]", 1), Violated, 1, KindGhost, ""},
		{"the dead one's heir holds it", StuckLock, plainLock(), heir + "mark final [3000]\nQ acquire [5000,6100] busy", Inconclusive, 0, "", "somebody could still hold it"},
		{"the dead one's heir gave it back", StuckLock, plainLock(), heir + "A release [700,701] proc=33\nmark final [3000]\nQ acquire [5000,6100] busy", Violated, 1, "", ""},
		{"the dead one's heir gave it back, had it again and died", StuckLock, plainLock(), heir + `A release [700,701] proc=33
		A acquire [710,711] proc=33
		A exit    [720] proc=33
		mark final [3000]
		Q acquire [5000,6100] busy`, Violated, 1, "", ""},
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
}
