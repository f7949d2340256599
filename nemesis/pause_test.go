package nemesis

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func TestMain(m *testing.M) {
	hoststest.Main(m, map[string]func([]string) int{"clock": clock, "reader": reader})
}

// clock prints the time, again and again: a process that shows when it ran.
func clock([]string) int {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := fmt.Println(monotime.Now()); err != nil {
			return 0
		}
	}
	return 0
}

// startClock starts a clock on a host of its own and returns the process and its ticks.
func startClock(t *testing.T) (*hosts.Process, <-chan int64) {
	t.Helper()
	ticks := make(chan int64, 1<<16)
	p := startPrinter(t, "clock", func() { close(ticks) }, func(line string) error {
		stamp, err := strconv.ParseInt(line, 10, 64)
		ticks <- stamp
		return err
	})
	return p, ticks
}

// startPrinter starts a process that prints, on a host of its own, and passes
// its lines on; ended is called after the last.
func startPrinter(t *testing.T, verb string, ended func(), line func(string) error) *hosts.Process {
	t.Helper()
	_, made := hoststest.Network(t, verb)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	cmd := exec.Command("/proc/self/exe", verb)
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	p, err := made[0].Start(cmd)
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer ended()
		for lines := bufio.NewScanner(read); lines.Scan(); {
			if err := line(lines.Text()); err != nil {
				t.Errorf("the %s printed %q", verb, lines.Text())
				return
			}
		}
	}()
	return p
}

// after returns the first tick later than the stamp.
func after(t *testing.T, ticks <-chan int64, stamp int64) int64 {
	t.Helper()
	limit := time.NewTimer(decided.Limit)
	defer limit.Stop()
	for {
		select {
		case tick, ok := <-ticks:
			if !ok {
				t.Fatal("the clock has ended")
			}
			if tick > stamp {
				return tick
			}
		case <-limit.C:
			t.Fatal("the clock does not tick")
		}
	}
}

// A paused process does nothing from the proven beginning to the proven end,
// and goes on afterwards.
func TestPauseStopsAndHeals(t *testing.T) {
	p, ticks := startClock(t)
	after(t, ticks, 0)
	stop, err := startPause(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	const length = 100 * time.Millisecond
	<-time.After(length)
	effect, err := stop.Heal()
	if err != nil {
		t.Fatal(err)
	}
	if first := after(t, ticks, effect.From); first < effect.To {
		t.Errorf("the clock ticked %v into the pause of %v", time.Duration(first-effect.From), effect.Lasted())
	}
	if effect.Lasted() < length {
		t.Errorf("the pause lasted %v, %v were waited for", effect.Lasted(), length)
	}
	if !strings.HasPrefix(effect.Proof, "state T on ") {
		t.Errorf("proof %q", effect.Proof)
	}
	again, err := stop.Heal()
	if err != nil || again != effect {
		t.Errorf("healing twice: %+v, %v; the first time %+v", again, err, effect)
	}
}

// A pause that can't be had, or that did not last, is an error and never a proof.
func TestPauseOfTheDead(t *testing.T) {
	p, ticks := startClock(t)
	after(t, ticks, 0)
	stop, err := startPause(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := stop.Heal(); err == nil {
		t.Error("the process died while it was stopped: that must be an error")
	}
	if _, err := startPause(t.Context(), p); err == nil {
		t.Error("a dead process can't be paused")
	}
}
