package exhaustive

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestAimed: a fault of an instant becomes one at the step that the client was at, so that a real
// run can repeat it; a step at which no real fault can be aimed has none.
func TestAimed(t *testing.T) {
	at := scenarios.Instants{{At: scenarios.Duration(time.Second)}}
	pause := scenarios.Fault{Kind: nemesis.KindPause, Target: "client-1", At: at, When: string(nemesis.Random)}
	request := pause
	request.Kind, request.Request, request.Peers = nemesis.KindCut, string(nemesis.RequestAny), "redis-1"
	toStore := request
	toStore.Peers = storePeer
	s := scenarios.Scenario{TTL: scenarios.Duration(500 * time.Millisecond)}
	renews := s
	renews.Workload.Renew = true
	for _, c := range []struct {
		name, step    string
		fault         scenarios.Fault
		s             scenarios.Scenario
		when, request string // "": it cannot be aimed
	}{
		{"a holder at work", stepWorking, pause, s, string(nemesis.BetweenReadAndWrite), ""},
		{"a client that asks", stepWaiting, pause, s, string(nemesis.Acquiring), ""},
		{"a client at rest", stepResting, pause, s, "", ""},
		{"a renewal", stepRenewing, pause, renews, string(nemesis.WhileRenewing), ""},
		{"a renewal that the application does not make", stepRenewing, pause, s, "", ""},
		{"a request to release", stepReleasing, request, s, string(nemesis.BeforeRelease), string(nemesis.RequestRelease)},
		{"a write", stepWorking, toStore, s, string(nemesis.BeforeWrite), string(nemesis.RequestWrite)},
		{"a request to the store while it releases", stepReleasing, toStore, s, "", ""},
		{"a request to the lock at work", stepWorking, request, s, "", ""},
	} {
		f, ok := aimed(c.fault, c.step, c.s)
		if ok != (c.when != "") {
			t.Errorf("%s: aimed: %v", c.name, ok)
		}
		if ok && (f.When != c.when || f.Request != c.request || f.At != nil || f.Target != string(nemesis.Holder)) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
