package scenarios

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

func seconds(n float64) Duration { return Duration(n * float64(time.Second)) }

func TestRealScale(t *testing.T) {
	small := Plan{Seed: 7, Scenario: Scenario{Name: "s", TTL: seconds(0.5), Duration: seconds(6), Clients: 4,
		Workload: Workload{Think: Range{seconds(0.005), seconds(0.02)}, AcquireTimeout: seconds(8), OpTimeout: seconds(8)},
		Faults: []Fault{{Kind: "pause", For: seconds(0.9), After: seconds(0.1), Every: Range{seconds(0.2), seconds(0.4)}},
			{Kind: "pause", For: seconds(0.05), Every: Range{seconds(0.2), seconds(0.3)}},
			{Kind: "kill", After: seconds(0.1), Every: Range{seconds(1), seconds(1)}}},
		Needs: Needs{Bites: 2}}}
	copied := small
	copied.Scenario.Faults = append([]Fault(nil), small.Scenario.Faults...)
	real := small.Real()
	if !reflect.DeepEqual(small, copied) {
		t.Error("the plan itself was changed")
	}
	s := real.Scenario
	if real.Seed != 7 || s.Name != "s" || s.Clients != 4 || s.Workload.Think != small.Scenario.Workload.Think {
		t.Errorf("%+v", real)
	}
	if s.TTL != seconds(10) || s.Faults[0].For != seconds(30) || s.Faults[1].For != seconds(1) ||
		s.Faults[2].For != 0 || s.Faults[2].After != seconds(2) ||
		s.Faults[1].Every != (Range{seconds(4), seconds(6)}) || s.Faults[0].Every != small.Scenario.Faults[0].Every {
		t.Errorf("ttl %v, faults %+v", s.TTL, s.Faults)
	}
	// Three times: each fault and the longest wait after it.
	if want := seconds(0.1 + 3*(30+0.4)); s.Duration != want {
		t.Errorf("duration %v, want %v", s.Duration, want)
	}
	if s.Workload.AcquireTimeout != seconds(60) || s.Workload.OpTimeout != seconds(60) {
		t.Errorf("timeouts %v and %v", s.Workload.AcquireTimeout, s.Workload.OpTimeout)
	}
	if again := real.Real(); !reflect.DeepEqual(again, real) {
		t.Errorf("scaled twice: %+v", again)
	}
}

// What is at the scale of production already keeps its times.
func TestRealScaleKeepsWhatIsLonger(t *testing.T) {
	p := Plan{Scenario: Scenario{TTL: seconds(15), Duration: seconds(100),
		Workload: Workload{AcquireTimeout: seconds(90), OpTimeout: seconds(90)},
		Faults:   []Fault{{For: seconds(40), Every: Range{seconds(1), seconds(1)}}}}}
	if got := p.Real(); !reflect.DeepEqual(got, p) {
		t.Errorf("%+v", got)
	}
	calm := Plan{Scenario: Scenario{TTL: seconds(0.5), Duration: seconds(4)}}.Real()
	if calm.Scenario.Duration != seconds(30) || calm.Scenario.Faults != nil || calm.Scenario.Workload.AcquireTimeout != seconds(40) {
		t.Errorf("%+v", calm.Scenario)
	}
}

// Offsets may be negative, are read as they are written, and grow with the lease.
func TestOffsets(t *testing.T) {
	var f Fault
	if err := yaml.Unmarshal([]byte("by: -30s"), &f); err != nil || f.By.Std() != -30*time.Second {
		t.Errorf("%v, %v", f.By, err)
	}
	text, err := yaml.Marshal(f)
	if err != nil || !strings.Contains(string(text), "by: -30s") {
		t.Errorf("%s, %v", text, err)
	}
	if err := yaml.Unmarshal([]byte("by: soon"), &f); err == nil || !strings.Contains(err.Error(), "1h or -30s") {
		t.Errorf("%v", err)
	}
	p := Plan{Scenario: Scenario{TTL: Duration(time.Second),
		Faults: []Fault{{For: Duration(2 * time.Second), By: Offset(-3 * time.Second)}}}}
	if by := p.Real().Scenario.Faults[0].By.Std(); by != -30*time.Second {
		t.Errorf("at the scale of production it jumps by %v", by)
	}
}
