package probe_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/probe"
)

// checkFacts holds the server to say of itself what is wanted: names, each with a part of its text.
func checkFacts(t *testing.T, ctx context.Context, s probe.Service, at endpoint.Endpoint, want ...string) []probe.Fact {
	t.Helper()
	var facts []probe.Fact
	inTime(t, func() (err error) {
		facts, err = s.Facts(ctx, at, here)
		return err
	})
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

// inTime asks a server, and asks again where the machine lets it answer too late.
func inTime(t *testing.T, ask func() error) {
	t.Helper()
	decided.Run(t, func() {
		if err := ask(); tooLate(err) {
			decided.Lacks("an answer in time: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
	})
}

// tooLate reports whether an error says that no answer came in time.
func tooLate(err error) bool {
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout()
}

// checkRace holds the server to pass so many trials.
func checkRace(t *testing.T, ctx context.Context, s probe.Service, at endpoint.Endpoint, trials int) {
	t.Helper()
	var all []probe.Trial
	inTime(t, func() (err error) {
		all, err = s.Race(ctx, at, here, 300*time.Millisecond)
		return err
	})
	if len(all) != trials {
		t.Fatalf("%+v; want %d trials", all, trials)
	}
	for _, one := range all {
		if one.Broken != "" {
			t.Errorf("%s: %s", one.Primitive, one.Broken)
		}
	}
}
