package screen

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Where there is no terminal, a run that has been silent for long says how far
// it is; one that has just said something does not.
func TestBeat(t *testing.T) {
	var out bytes.Buffer
	s := New(&out)
	now := time.Now()
	s.began, s.total, s.ended, s.printed = now, 13, 3, now
	for _, name := range []string{"a", "b", "c", "d"} {
		s.names = append(s.names, name)
		s.running[name] = record.Progress{Phase: "work", Elapsed: 12 * time.Second, Grants: 35}
		s.plans[name] = scenarios.Plan{Scenario: scenarios.Scenario{Duration: scenarios.Duration(60 * time.Second)}}
	}
	s.beat(now.Add(quietLimit - time.Second))
	if out.Len() > 0 {
		t.Errorf("said too early: %s", &out)
	}
	s.beat(now.Add(quietLimit))
	if got := out.String(); !strings.Contains(got, "3 of 13 done · a (work, 12 s of about 63 s, 35 grants) · b (") ||
		!strings.HasSuffix(got, " · and 1 more\n") {
		t.Errorf("%q", got)
	}
	s.Left, s.printed = func() time.Duration { return 125 * time.Second }, now
	s.Lengths.Add(s.plans["a"], 126*time.Second) // twice as long as it should have
	out.Reset()
	s.beat(now.Add(quietLimit))
	if got := out.String(); !strings.Contains(got, "3 of 13 done, about 2 min left · a (work, 12 s of about 2 min, 35 grants)") {
		t.Errorf("%q", got)
	}
	s.names, s.printed = nil, now
	out.Reset()
	if s.beat(now.Add(time.Hour)); out.Len() > 0 {
		t.Errorf("nothing runs, and yet: %s", &out)
	}
}
