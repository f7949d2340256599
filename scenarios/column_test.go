package scenarios

import "testing"

func TestFaultLabel(t *testing.T) {
	pause := Fault{Kind: "pause", Target: "holder"}
	split := Fault{Kind: "partition", Target: "client-1", Peers: "redis-4,redis-5"}
	jump := Fault{Kind: "clock-jump", Target: "redis-3", Clock: "wall"}
	for _, c := range []struct {
		name   string
		faults []Fault
		want   string
	}{
		{"redlock/none/unfenced", nil, "none"},
		{"redlock/whatever/unfenced", []Fault{pause}, "pause-holder"},
		{"redlock/clock-jump-one/unfenced", []Fault{split, split, jump}, "clock-jump-one"},
		{"redlock/payment/clock-jump-one/unfenced", []Fault{split, jump}, "payment-clock-jump-one"},
		{"redlock/crash-one/unfenced", []Fault{{Sequence: []Fault{pause, jump}}}, "crash-one"},
		{"my-own", []Fault{split, jump}, "my-own"},
		{"redlock/unfenced", []Fault{split, jump}, "partition-and-clock-jump"},
		{"redlock/unfenced", []Fault{{Sequence: []Fault{pause, jump}}}, "pause-then-clock-jump"},
	} {
		s := Scenario{Name: c.name, Lock: "redlock", Store: Store{Kind: "unfenced"}, Faults: c.faults}
		if got := s.FaultLabel(); got != c.want {
			t.Errorf("%s with %d faults: %q, want %q", c.name, len(c.faults), got, c.want)
		}
	}
}
