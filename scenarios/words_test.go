package scenarios

import (
	"testing"
	"time"
)

func TestScheduleIsThePlansOwnWords(t *testing.T) {
	ms := func(n int) Duration { return Duration(time.Duration(n) * time.Millisecond) }
	for _, c := range []struct {
		fault Fault
		want  string
	}{
		{Fault{Kind: "kill", Target: "holder", When: "random"}, ""},
		{Fault{Kind: "pause", Target: "holder", When: "before-write", For: ms(1500), After: ms(200), Every: Range{ms(800), ms(1200)}},
			"for 1.5s, after 200ms, every 800ms..1.2s"},
		{Fault{Kind: "partition", Target: "service", When: "random", For: ms(1500), Shape: "halves"}, "for 1.5s, shape halves"},
		{Fault{Kind: "clock-jump", Target: "redis-1", When: "random", Clock: "wall", By: Offset(-30 * time.Second)}, "clock wall, by -30s"},
		{Fault{Kind: "clock-rate", Target: "holder", When: "random", Clock: "mono", Rate: 0.1}, "clock mono, rate 0.1"},
	} {
		if got := c.fault.Schedule(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.fault, got, c.want)
		}
	}
}
