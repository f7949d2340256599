package scenarios

import "testing"

func TestExpectationInAWord(t *testing.T) {
	for _, c := range []struct {
		want string
		e    Expect
	}{
		{"pass", Expect{}},
		{"pass", Expect{Severity: "none", Properties: map[string]string{starvation: "any"}}},
		{"pass", Expect{Properties: map[string]string{starvation: "any", fifo: "pass"}}},
		{"violated", Expect{Severity: "none", Properties: map[string]string{tokenOrder: "violated"}}},
		{"violated", Expect{Properties: map[string]string{mutualExclusion: "violated", lostUpdate: "any"}}},
		{"violated", Expect{Severity: "contained", Properties: map[string]string{mutualExclusion: "violated", tokenOrder: "violated"}}},
		{"violated", Expect{Severity: "untested"}},
		{"contained", Expect{Severity: "contained", Properties: map[string]string{mutualExclusion: "violated"}}},
		{"corrupted", Expect{Severity: "corrupting"}},
		{"corrupted", Expect{Properties: map[string]string{lostUpdate: "violated"}}},
		{"either", Expect{Properties: map[string]string{mutualExclusion: "lease-overrun"}}},
		{"either", Expect{Properties: map[string]string{mutualExclusion: "any", lostUpdate: "pass"}}},
	} {
		if got := c.e.Word(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.e, got, c.want)
		}
	}
}
