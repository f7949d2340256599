package checker

import (
	"strings"
	"testing"
)

// TestNobodyIsTheEarlier: where the order of two grants is not known, a
// double-hold blames neither client, whichever acquire ended first.
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
		{"tokens tell", strings.NewReplacer("[0,10]", "[0,10] tok=1", "[5,20]", "[5,20] tok=2").Replace(crossed),
			fencedLock(), KindGrantedWhileValid, false, 1},
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
			if violation.Unordered != x.unordered || open != x.unordered || r.Causes(nil) != x.causes ||
				(violation.Cause() == 0) != x.unordered {
				t.Errorf("unordered: %v, cause %d: %s", violation.Unordered, violation.Cause(), violation.Text)
			}
		})
	}
}

// TestNobodyIsTheOneTooMany: where the order of a semaphore's grants is not
// known, none of the holders is called the one too many.
func TestNobodyIsTheOneTooMany(t *testing.T) {
	const crowd = `
		A acquire [0,10]
		B acquire [5,20]
		C acquire [6,21]
		A write [30,31] refused
		B write [32,33] refused
		C write [34,35] refused
		A release [40,41]
		B release [42,43]
		C release [44,45]`
	two := permits(plainLock(), 2)
	for _, x := range []struct {
		name, text string
		unordered  bool
		says       string
	}{
		{"nobody knows the order", crowd, true,
			"by client 1, client 2, client 3: which of them was one too many, the history does not tell"},
		{"one is certainly the last", strings.Replace(crowd, "[6,21]", "[20.5,21]", 1), false, "client 3 was one holder too many"},
		{"one is certainly the first", strings.Replace(crowd, "[0,10]", "[0,4]", 1), true,
			"by client 1, client 2, client 3: which of them"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := two.judge(t, x.text+probeText)
			found := r.Property(MutualExclusion)
			if found.Count != 1 || len(found.Violations) != 1 {
				t.Fatalf("%s %v", found.Outcome, found.Kinds)
			}
			v := &found.Violations[0]
			if v.Unordered != x.unordered || (v.Cause() == 0) != x.unordered || !strings.Contains(v.Text, x.says) {
				t.Errorf("unordered: %v, cause %d: %s", v.Unordered, v.Cause(), v.Text)
			}
		})
	}
}
