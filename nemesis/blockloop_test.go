package nemesis

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// nodeTicks starts a program on Node that prints when its event loop turns.
func nodeTicks(t *testing.T, options string) string {
	t.Helper()
	return needed.Program(t, "node", "nodejs") + options + " -e 'setInterval(() => console.log(String(process.hrtime.bigint())), 1)'"
}

// TestBlockLoop: all of a client stands still while its event loop is blocked, and goes on.
func TestBlockLoop(t *testing.T) {
	p, ticks := startClient(t, nodeTicks(t, ""))
	spec := Spec{Kind: KindBlockLoop, Aim: Aim{Holder, BeforeWrite}}
	if err := spec.Ready(t.Context(), Client{Proc: p}); err != nil {
		t.Fatal(err)
	}
	const length = 120 * time.Millisecond
	for range 2 {
		in, err := Inject(t.Context(), Site{Part: Part{Spec: spec, For: length}, Victims: Victims{Clients: []Client{{Number: 1, Proc: p}}}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := in.Heal()
		if err != nil || !e.Bit || e.Lasted() < length || !strings.Contains(e.Proof, "by its own readings") {
			t.Errorf("%+v, %v", e, err)
		}
		ticks.stoodStill(t, e)
		if again, err := in.Heal(); err != nil || again != e {
			t.Errorf("healing twice: %+v, %v", again, err)
		}
	}
}

// TestBlockLoopNeedsNode: what is not on Node is refused, beforehand and at the strike, and goes
// on.
func TestBlockLoopNeedsNode(t *testing.T) {
	p, ticks := startClock(t)
	after(t, ticks, 0)
	spec := Spec{Kind: KindBlockLoop, Aim: Aim{Holder, BeforeWrite}}
	_, injected := Inject(t.Context(), Site{Part: Part{Spec: spec, For: time.Second},
		Victims: Victims{Clients: []Client{{Number: 1, Proc: p}}}})
	for when, err := range map[string]error{"beforehand": spec.Ready(t.Context(), Client{Proc: p}), "at the strike": injected} {
		if err == nil || !strings.Contains(err.Error(), "needs an adapter on Node") {
			t.Errorf("%s: %v", when, err)
		}
	}
	decided.Await(t, "the client goes on", func() bool { return len(ticks) > 0 })
}

// TestBlockLoopOfTheDead: a program that dies while its loop is blocked is an error, never a proof.
func TestBlockLoopOfTheDead(t *testing.T) {
	p, _ := startClient(t, nodeTicks(t, ""))
	in, err := Inject(t.Context(), Site{Part: Part{Spec: Spec{Kind: KindBlockLoop, Aim: Aim{Holder, BeforeWrite}}, For: time.Hour},
		Victims: Victims{Clients: []Client{{Number: 1, Proc: p}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e, err := in.Heal(); err == nil || e.Bit {
		t.Errorf("%+v, %v", e, err)
	}
}
