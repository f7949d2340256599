package nemesis

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// ticksOf is what two programs of one client print: when they ran.
type ticksOf struct{ worker, runtime chan int64 }

// startClient starts a client as the harness has them: a process of lockchaos's that prints when it
// ran, and beside it, behind a shell, a program with a runtime that does so as well.
func startClient(t *testing.T, program string) (*hosts.Process, ticksOf) {
	t.Helper()
	_, made := hoststest.Network(t, "client")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	cmd := exec.Command("sh", "-c", "("+program+" | sed -u 's/^/r/') & exec /proc/self/exe clock")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[2] = strings.Replace(cmd.Args[2], "/proc/self/exe", self, 1)
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	p, err := made[0].Start(cmd)
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	ticks := ticksOf{make(chan int64, 1<<18), make(chan int64, 1<<18)}
	go func() {
		defer close(ticks.worker)
		defer close(ticks.runtime)
		for lines := bufio.NewScanner(read); lines.Scan(); {
			to, text := ticks.worker, lines.Text()
			if strings.HasPrefix(text, "r") {
				to, text = ticks.runtime, text[1:]
			}
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				to <- n
			}
		}
	}()
	after(t, ticks.runtime, 0)
	return p, ticks
}

// stoodStill checks that neither program ran while the effect was certain, and that both go on.
func (ticks ticksOf) stoodStill(t *testing.T, e Effect) {
	t.Helper()
	if e.Lasted() <= 0 {
		t.Fatalf("%+v: it was never certain", e)
	}
	for who, ran := range map[string]chan int64{"the client's own process": ticks.worker, "its program": ticks.runtime} {
		if first := after(t, ran, e.From); first < e.To {
			t.Errorf("%s ran %v after the beginning of a standstill of %v", who, time.Duration(first-e.From), e.Lasted())
		}
	}
}

// javaTicks starts a Java virtual machine that prints when it runs.
func javaTicks(t *testing.T) string {
	t.Helper()
	needed.Later(t, "Java is not on every machine")
	needed.Program(t, "javac")
	return needed.Program(t, "java") +
		" -XX:+UseSerialGC -Xmx300m -XX:-UsePerfData ../internal/hotspot/testdata/Ticks.java 2000000"
}

// TestCollect: under a collection all of a client stands still, and the fault bites only if that
// was for longer than the lease.
func TestCollect(t *testing.T) {
	p, ticks := startClient(t, javaTicks(t))
	for lease, bites := range map[time.Duration]bool{time.Millisecond: true, time.Hour: false} {
		in, err := Inject(t.Context(), Site{Part: Part{Spec: Spec{Kind: KindCollect, Aim: Aim{Holder, BeforeWrite}}},
			Victims: Victims{Clients: []Client{{Number: 1, Proc: p}}}, Resources: Resources{Lease: lease}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := in.Heal()
		if err != nil || e.Bit != bites || !strings.Contains(e.Proof, "JVM's safepoint log") {
			t.Errorf("a lease of %v: %+v, %v; it bites: %v", lease, e, err, bites)
		}
		ticks.stoodStill(t, e)
	}
}

// TestCollectNeedsJava: what has no Java virtual machine is refused before the workload begins, and
// nothing is done to it.
func TestCollectNeedsJava(t *testing.T) {
	p, ticks := startClock(t)
	after(t, ticks, 0)
	spec := Spec{Kind: KindCollect, Aim: Aim{Holder, BeforeWrite}}
	_, injected := Inject(t.Context(), Site{Part: Part{Spec: spec}, Victims: Victims{Clients: []Client{{Number: 1, Proc: p}}}})
	for when, err := range map[string]error{"beforehand": spec.Ready(t.Context(), Client{Proc: p}), "at the strike": injected} {
		if err == nil || !strings.Contains(err.Error(), "needs an adapter on a Java virtual machine") {
			t.Errorf("%s: %v", when, err)
		}
	}
	decided.Await(t, "the client goes on", func() bool { return len(ticks) > 0 })
}

// TestStandstillNeedsAProgram: a lock that runs in lockchaos itself is refused by the plan, and so
// is a length, which such a fault has of its own.
func TestStandstillNeedsAProgram(t *testing.T) {
	spec := Spec{Kind: KindCollect, Aim: Aim{Holder, BeforeWrite}}
	if err := Check(spec, Setting{Lock: "redis-setnx"}); err == nil || !strings.Contains(err.Error(), "an adapter") {
		t.Error(err)
	}
	if err := Check(spec, Setting{Lock: "adapter", Has: []Trait{OwnProgram}}); err != nil {
		t.Error(err)
	}
	if spec.Aim.Target = "all-clients"; Check(spec, Setting{Lock: "adapter", Has: []Trait{OwnProgram}}) == nil {
		t.Error("it strikes one client, not all")
	}
	if !spec.Momentary() || !spec.Freezes() {
		t.Error("it lasts as long as it does, and stops its client")
	}
	paused := Spec{Kind: KindPause, Aim: Aim{Holder, BeforeWrite}}
	if err := CheckTogether([]Spec{spec, paused}); err == nil {
		t.Error("it strikes alone")
	}
	if err := paused.Ready(t.Context(), Client{}); err != nil {
		t.Error(err)
	}
	// To a judge it is what a pause is, in other words.
	got, want := spec.Touch(), paused.Touch()
	if got.Words, want.Words = (history.FaultWords{}), (history.FaultWords{}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
