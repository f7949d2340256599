//go:build linux

package clockskew

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

func init() {
	verbs["busy"] = busy
	verbs["flip"] = flip
}

// leap is what the stress test sets a wall clock to.
const leap = 5 * time.Second

var (
	sink  []byte
	epoch = time.Now()
)

// busy reads its clocks from several goroutines at once, while the garbage
// collector runs and preempts them by signals. Each wall reading must be true,
// or ahead by leap; no monotonic one may be less than one that any goroutine
// has had before. To each line it answers "readings leaped odd back".
func busy([]string) error {
	var readings, leaped, odd, back, latest atomic.Int64
	runtime.GOMAXPROCS(4)
	for range 3 {
		go func() {
			for {
				before := wallBySyscall()
				shown := time.Now().UnixNano()
				after := wallBySyscall()
				switch {
				case shown >= before && shown <= after:
				case shown-int64(leap) >= before && shown-int64(leap) <= after:
					leaped.Add(1)
				default:
					odd.Add(1)
				}
				had := latest.Load()
				now := int64(time.Since(epoch))
				if now < had {
					back.Add(1)
				}
				for ; now > had && !latest.CompareAndSwap(had, now); had = latest.Load() {
				}
				readings.Add(1)
			}
		}()
	}
	go func() {
		for range time.Tick(time.Millisecond) {
			sink = make([]byte, 1<<20)
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(readings.Load(), leaped.Load(), odd.Load(), back.Load())
	}
	return nil
}

func wallBySyscall() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &ts) // valid arguments: it has no reason to fail
	return ts.Nano()
}

// TestBusyTarget: a busy program of several threads is installed, set, slowed
// down, sped up and restored over and over. It does not crash, and no reading
// is anything but one setting or the other.
func TestBusyTarget(t *testing.T) {
	c := verb(t, "busy")
	var readings, leaped, odd, back int64
	look := func() {
		t.Helper()
		c.ask("", &readings, &leaped, &odd, &back)
		if odd > 0 || back > 0 {
			t.Fatalf("%d readings, %d odd, %d behind an earlier one", readings, odd, back)
		}
	}
	target := c.open()
	var most time.Duration
	tries, stops := 0, 0
	count := func(change Change) {
		most = max(most, change.Stopped)
		tries += change.Tries
		stops++
	}
	for range 60 {
		count(must(t)(target.Install(t.Context())))
		for i := range 20 {
			s := Skew{}
			if i%2 == 0 {
				s.Wall.Offset = leap
			}
			ok(t, target.Set(t.Context(), s))
		}
		count(must(t)(target.Restore(t.Context())))
		look()
	}
	must(t)(target.Install(t.Context()))
	for i := range 60 {
		rate := []float64{3, 1, 0.5, 100, 0.01}[i%5]
		ok(t, target.Adjust(t.Context(), func(s Skew) Skew {
			s.Wall = Clock{Offset: leap * time.Duration(i%2)}
			s.Mono.Rate = rate
			return s
		}))
		look()
	}
	ok(t, target.Set(t.Context(), Skew{Wall: Clock{Offset: leap}, Mono: Clock{Offset: time.Hour}}))
	for had := leaped; leaped == had; { // it goes on, and sees what was set
		look()
	}
	ok(t, target.Heal(t.Context()))
	look()
	t.Logf("%d readings; %d stops, %d tries, the longest %v", readings, stops, tries, most)
}

// flip installs, sets and restores in the process that its argument names, without end.
// It prints a line after each step.
func flip(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	target, err := Open(pid)
	if err != nil {
		return err
	}
	ctx := context.Background()
	fmt.Println("flipping")
	for {
		if _, err := target.Install(ctx); err != nil {
			return err
		}
		fmt.Println("installed")
		for _, d := range []time.Duration{leap, 0, leap} {
			if err := target.Set(ctx, Skew{Wall: Clock{Offset: d}, Mono: Clock{Rate: 0.5}}); err != nil {
				return err
			}
			fmt.Println("set")
		}
		if _, err := target.Restore(ctx); err != nil {
			return err
		}
		fmt.Println("restored")
	}
}

// TestKilledInTheMiddle: a program that is killed while it works on a busy process leaves it sound:
// woken, it runs on with one setting or the other, and the next one can heal and restore it.
func TestKilledInTheMiddle(t *testing.T) {
	c := verb(t, "busy")
	pid := c.cmd.Process.Pid
	rng := rand.New(rand.NewPCG(4, 2))
	var readings, leaped, odd, back int64
	found := map[string]int{}
	const kills, steps = 50, 5
	for i := 0; i < kills || i < 20*kills && (found["T"] == 0 || found["installed"] < 5); i++ {
		killer := verb(t, "flip", strconv.Itoa(pid))
		if answer := killer.answer(); answer != "flipping" {
			t.Fatalf("%q", answer)
		}
		// A busy machine takes a second for a step: steps are counted, the moment in one is drawn.
		for range rng.IntN(steps + 1) {
			killer.answer()
		}
		until := monotime.Now() + rng.Int64N(int64(8*time.Millisecond))
		for monotime.Now() < until {
			time.Sleep(100 * time.Microsecond)
		}
		killer.end()
		found[string(processState(t, pid))]++
		ok(t, unix.Kill(pid, syscall.SIGCONT))
		target := open(t, pid)
		if installed, err := target.Installed(); err != nil {
			t.Fatalf("after kill %d: %v", i, err)
		} else if installed {
			found["installed"]++
			ok(t, target.Heal(t.Context()))
			must(t)(target.Restore(t.Context()))
		}
		if c.ask("", &readings, &leaped, &odd, &back); odd > 0 {
			t.Fatalf("after kill %d: %d readings, %d odd", i, readings, odd)
		}
	}
	for had := readings; readings == had; { // it goes on
		c.ask("", &readings, &leaped, &odd, &back)
	}
	t.Logf("%d readings, found: %v", readings, found)
	if found["T"] == 0 || found["installed"] == 0 {
		t.Error("no kill came in the middle of anything")
	}
}
