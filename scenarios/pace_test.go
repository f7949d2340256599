package scenarios

import (
	"testing"
	"time"
)

// TestPaced: an attack on a lock that hands over at once is as it was. One on a slow lock
// lasts longer and needs less, and one on a lock without waiters needs no hand-over to one.
func TestPaced(t *testing.T) {
	const second = Duration(time.Second)
	attack := Scenario{TTL: 15 * second, Duration: 60 * second, Needs: Needs{Grants: 6, Handovers: 2, Bites: 2},
		Faults: []Fault{{Kind: "kill"}}}
	alone := attack // whose clients seldom meet
	alone.Needs = Needs{Grants: 4, Bites: 2}
	calm := Scenario{TTL: 15 * second, Duration: 60 * second, Needs: Needs{Grants: 3, Handovers: 1}}
	for _, c := range []struct {
		name     string
		attack   Scenario
		pace     Pace
		duration Duration
		needs    Needs
	}{
		{"an unknown pace", attack, Pace{}, 60 * second, attack.Needs},
		{"a fast lock", attack, Pace{3 * second, 6, 6}, 60 * second, attack.Needs},
		{"half a lease more for each grant", attack, Pace{3*second + 7500*Duration(time.Millisecond), 6, 6}, 105 * second, attack.Needs},
		{"two leases: four grants, and no more than twice as long", attack, Pace{18 * second, 6, 6}, 120 * second,
			Needs{Grants: 4, Handovers: 1, Bites: 2}},
		{"four leases: three grants, and time for three faults", attack, Pace{63 * second, 5, 5}, 240 * second,
			Needs{Grants: 3, Handovers: 1, Bites: 2}},
		{"an application that does not wait", alone, Pace{18 * second, 6, 6}, 105 * second, alone.Needs},
		{"nothing strikes", calm, Pace{18 * second, 6, 6}, 105 * second, calm.Needs},
		{"nobody waits", attack, Pace{second, 6, 0}, 60 * second, Needs{Grants: 6, Bites: 2}},
		{"somebody seldom waits", attack, Pace{second, 20, 1}, 60 * second, Needs{Grants: 6, Bites: 2}},
		{"a third wait", attack, Pace{second, 6, 2}, 60 * second, attack.Needs},
	} {
		if got := c.attack.Paced(c.pace); got.Duration != c.duration || got.Needs != c.needs {
			t.Errorf("%s: %v and %+v, not %v and %+v", c.name, got.Duration, got.Needs, c.duration, c.needs)
		}
	}
}
