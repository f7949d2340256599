package possible

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// A guarded store lies on the nodes of the lock's service, so the only one is not killed.
func TestCrashUnderAGuardedStore(t *testing.T) {
	crash := scenarios.Fault{Kind: nemesis.KindCrash, Target: "nodes:1", When: "after-grant", Data: "kept"}
	for _, c := range []struct {
		service, writes, want string
	}{
		{"postgres", "guarded", "the only node"},
		{"postgres", "", ""},
		{"etcd", "guarded", ""},
	} {
		err := CheckFault(clients.Kind{Name: "x", Service: c.service, Writes: c.writes}, crash)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q: %v, want %q", c.service, c.writes, err, c.want)
		}
	}
}

// An exam's store takes each write: a program that claims exactly-once would be accused of that.
func TestExactlyOnceIsNotExamined(t *testing.T) {
	for job, want := range map[string]string{"exactly-once": "claim at-least-once", "at-least-once": "", "": ""} {
		err := CheckExam(Examinee(clients.Kind{Name: "mine", Claims: clients.Claims{Job: job}}, scenarios.Scenario{}))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", job, err, want)
		}
	}
}
