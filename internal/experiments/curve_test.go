package experiments

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

func TestParseOver(t *testing.T) {
	const ttl = 500 * time.Millisecond
	for text, want := range map[string]string{
		"duration=0.5..2xTTL":     "250ms 500ms 750ms 1s",
		"duration=0.5xTTL..2×TTL": "250ms 500ms 750ms 1s",
		"duration=100ms..1s":      "100ms 400ms 700ms 1s",
		"offset=-1..2xTTL":        "-500ms 500ms 1s",
	} {
		o, err := ParseValues(text, ttl, 4)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		var got []string
		for _, v := range o.all {
			got = append(got, v.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "duration", "duration=1", "length=1..2xTTL", "duration=2..1xTTL",
		"duration=0..1xTTL", "duration=-1..1xTTL", "duration=a..1xTTL", "duration=NaN..1xTTL", "duration=1..2",
		"duration=1..1e300xTTL"} {
		if o, err := ParseValues(text, ttl, 4); err == nil {
			t.Errorf("%q is taken: %v", text, o.all)
		}
	}
}

// A point has time for its strikes, and clients wait for longer than it takes.
func TestPointsHaveTime(t *testing.T) {
	const ms = scenarios.Duration(time.Millisecond)
	base := scenarios.Scenario{TTL: 500 * ms,
		Faults: []scenarios.Fault{{Kind: "pause", For: 1, After: 100 * ms, Every: scenarios.Range{Min: 100 * ms, Max: 200 * ms}}}}
	s := Values{What: OverDuration}.Apply(base, 5*time.Second)
	if s.Faults[0].For != 5000*ms || s.Duration < 3*5200*ms || s.Workload.OpTimeout < 10_000*ms ||
		s.Workload.AcquireTimeout < s.Workload.OpTimeout {
		t.Errorf("%+v", s)
	}
	if base.Faults[0].For != 1 {
		t.Error("the scenario that was given has changed")
	}
	if s := (Values{What: OverOffset}).Apply(base, -time.Second); s.Faults[0].By != -scenarios.Offset(time.Second) || s.Faults[0].For != 1 {
		t.Errorf("%+v", s.Faults[0])
	}
}
