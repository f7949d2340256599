package nemesis

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
)

// A killed process does nothing after the proven end; the proof names it and how it ended.
func TestKillIsProven(t *testing.T) {
	p, ticks := startClock(t)
	last := after(t, ticks, 0)
	effect, err := Kill(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	limit := time.NewTimer(decided.Limit)
	defer limit.Stop()
	for open := true; open; {
		select {
		case tick, ok := <-ticks:
			if open = ok; ok {
				last = tick
			}
		case <-limit.C:
			t.Fatal("the clock's output does not end")
		}
	}
	if last == 0 || last > effect.To || effect.From >= effect.To || effect.To != p.Gone() {
		t.Errorf("the last tick at %d, killed from %d to %d, gone at %d", last, effect.From, effect.To, p.Gone())
	}
	if !strings.Contains(effect.Proof, "ended by signal: killed") {
		t.Errorf("proof %q", effect.Proof)
	}
	if _, err := Kill(t.Context(), p); err == nil || !strings.Contains(err.Error(), "gone already") {
		t.Errorf("killing the dead proves nothing: %v", err)
	}
}

// A paused host stands still as a whole, and the proof names it.
func TestPauseOfHosts(t *testing.T) {
	p, ticks := startClock(t)
	after(t, ticks, 0)
	stop, err := pauseHosts(t.Context(), p.Host())
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(50 * time.Millisecond)
	effect, err := stop.Heal()
	if err != nil {
		t.Fatal(err)
	}
	if first := after(t, ticks, effect.From); first < effect.To {
		t.Errorf("the clock ticked %v into the pause of %v", time.Duration(first-effect.From), effect.Lasted())
	}
	if effect.Lasted() < 50*time.Millisecond || !strings.HasPrefix(effect.Proof, p.Host().Name+": state T on ") {
		t.Errorf("%+v", effect)
	}
	if _, err := pauseHosts(t.Context()); err == nil {
		t.Error("a pause of no host is none")
	}
}
