package probe_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/probe"
)

// checkFacts holds the server to say of itself what is wanted: names, each with a part of its text.
func checkFacts(t *testing.T, ctx context.Context, s probe.Service, at endpoint.Endpoint, want ...string) []probe.Fact {
	t.Helper()
	facts, err := s.Facts(ctx, at, here)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(want); i += 2 {
		found := false
		for _, f := range facts {
			found = found || f.Name == want[i] && strings.Contains(f.Text+" "+f.Warning, want[i+1])
		}
		if !found {
			t.Errorf("no %s with %q: %+v", want[i], want[i+1], facts)
		}
	}
	return facts
}

// checkRace holds the server to pass so many trials.
func checkRace(t *testing.T, ctx context.Context, s probe.Service, at endpoint.Endpoint, trials int) {
	t.Helper()
	all, err := s.Race(ctx, at, here, 300*time.Millisecond)
	if err != nil || len(all) != trials {
		t.Fatalf("%+v %v; want %d trials", all, err, trials)
	}
	for _, one := range all {
		if one.Broken != "" {
			t.Errorf("%s: %s", one.Primitive, one.Broken)
		}
	}
}
