package scenarios

import (
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

func TestExpectationInAWord(t *testing.T) {
	for _, c := range []struct {
		want string
		e    Expect
	}{
		{"pass", Expect{}},
		{"pass", Expect{Severity: "none", Properties: map[string]string{checker.Starvation: "any"}}},
		{"pass", Expect{Properties: map[string]string{checker.Starvation: "any", checker.FIFO: "pass"}}},
		{"violated", Expect{Severity: "none", Properties: map[string]string{checker.TokenOrder: "violated"}}},
		{"violated", Expect{Properties: map[string]string{checker.MutualExclusion: "violated", checker.LostUpdate: "any"}}},
		{"violated", Expect{Severity: "contained",
			Properties: map[string]string{checker.MutualExclusion: "violated", checker.TokenOrder: "violated"}}},
		{"violated", Expect{Severity: "untested"}},
		{"contained", Expect{Severity: "contained", Properties: map[string]string{checker.MutualExclusion: "violated"}}},
		{"corrupted", Expect{Severity: "corrupting"}},
		{"corrupted", Expect{Properties: map[string]string{checker.LostUpdate: "violated"}}},
		{"either", Expect{Properties: map[string]string{checker.MutualExclusion: "lease-overrun"}}},
		{"either", Expect{Properties: map[string]string{checker.MutualExclusion: "any", checker.LostUpdate: "pass"}}},
	} {
		if got := c.e.Word(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.e, got, c.want)
		}
	}
}
