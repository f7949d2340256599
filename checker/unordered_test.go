package checker

import (
	"strings"
	"testing"
)

// TestNobodyIsTheEarlier: where the order of two grants is not known, a double-hold blames neither client, whichever acquire ended first.
func TestNobodyIsTheEarlier(t *testing.T) {
	const crossed = `
		A acquire [0,10]
		B acquire [5,20]
		A write [30,31] refused
		B write [32,33] refused
		A write [700,701] refused
		B write [702,703] refused
		A exit [800]
		B exit [800]`
	for _, x := range []struct {
		name, text string
		lock       script
		kind       string
		unordered  bool
		causes     int
	}{
		{"nothing is promised", crossed, noClaims(plainLock()), KindUnexplained, true, 1},
		{"each inside the other's promise", crossed, plainLock(), KindGrantedWhileValid, true, 1},
		{"tokens tell", strings.NewReplacer("[0,10]", "[0,10] tok=1", "[5,20]", "[5,20] tok=2").Replace(crossed), fencedLock(), KindGrantedWhileValid, false, 1},
		{"time tells", strings.Replace(crossed, "[5,20]", "[15,20]", 1), plainLock(), KindGrantedWhileValid, false, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			v := x.lock.judge(t, x.text+probeText)
			r := v.Property(MutualExclusion)
			if r.Count != 1 || len(r.Violations) != 1 || r.Violations[0].Kind != x.kind {
				t.Fatalf("%s %v", r.Outcome, r.Kinds)
			}
			violation := &r.Violations[0]
			open := strings.Contains(violation.Text, "which of them was granted it first, the history does not tell")
			if violation.Unordered != x.unordered || open != x.unordered || r.Causes(nil) != x.causes || (violation.Cause() == 0) != x.unordered {
				t.Errorf("unordered: %v, cause %d: %s", violation.Unordered, violation.Cause(), violation.Text)
			}
		})
	}
}
