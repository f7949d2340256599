package checker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/oracle"
)

// Three judges of each kind of lock: the sweep, Porcupine on the model that the
// claims name, and the brute force. They share no code, and must agree on every
// random history. LOCKCHAOS_SOAK=1 tries 200,000 a model.

type modelCase struct {
	name string
	// lock changes noClaims(plainLock()) to the lock, lines draws a history of it.
	lock  func(*rand.Rand, *history.Header)
	lines func(*generator)
}

var modelCases = []modelCase{
	{"mutex", func(*rand.Rand, *history.Header) {}, someClients(2, 2)},
	{"semaphore", func(r *rand.Rand, h *history.Header) { h.Claims.Permits = 2 + r.IntN(4)/3 }, someClients(3, 2)},
	{"semaphore of several permits an acquire", func(r *rand.Rand, h *history.Header) {
		h.Claims.Permits = 2 + r.IntN(4)/3
		h.Claims.PerAcquire = h.Claims.Permits
	}, someClients(3, 2)},
	{"reentrant", func(_ *rand.Rand, h *history.Header) { h.Claims.Reentrant = true }, nestedClients},
	{"reader-writer", func(_ *rand.Rand, h *history.Header) { h.Claims.ReadWrite = true }, someClients(2, 3)},
	{"fenced reader-writer", func(_ *rand.Rand, h *history.Header) { h.Claims.ReadWrite, h.Claims.Token = true, "fencing" }, fencedClients},
	{"reentrant reader-writer", func(_ *rand.Rand, h *history.Header) {
		h.Claims.ReadWrite, h.Claims.Reentrant = true,
			true
	}, nestedClients},
	{"fenced", func(_ *rand.Rand, h *history.Header) { h.Claims.Token = "fencing" }, fencedClients},
}

func fencedClients(g *generator) {
	someClients(2, 2)(g)
	for c := range 4 { // so that nothing is concluded from a client's being undisturbed
		g.add("pause %c [0,1000]", 'A'+c)
	}
}

func someClients(least, more int) func(*generator) {
	return func(g *generator) { g.script(least + g.rng.IntN(more)) }
}

func nestedClients(g *generator) {
	for c := range 2 + g.rng.IntN(2) {
		g.nestedClient(string(rune('A' + c)))
	}
}

// draw draws a history of the model: its lock and its lines.
func (m modelCase) draw(seed int) (script, []string) {
	rng := rand.New(rand.NewPCG(uint64(seed), 11))
	lock := noClaims(plainLock()) // without promises: holds alone
	m.lock(rng, &lock.header)
	if rng.IntN(3) == 0 {
		lock.header.Claims.Confirms = nil
	}
	g := &generator{rng: rng, keys: 1, store: rng.IntN(2) == 0, wild: rng.IntN(4) > 0,
		readers: lock.header.Claims.ReadWrite, several: lock.header.Claims.PerAcquire}
	m.lines(g)
	return lock, g.lines
}

// opinions are what the three judges say: whether the history is one of a correct lock.
type opinions struct{ sweep, porcupine, brute bool }

func (o opinions) agree() bool { return o.sweep == o.porcupine && o.sweep == o.brute }

func opinionsOf(h *history.History) opinions {
	v := Judge(h, Options{Keep: 1})
	p := oracle.LockOf(&h.Header).Linearizable(oracle.Holds(h)[0], oracleLimit)
	return opinions{
		sweep:     v.Properties[mutualExclusion.place].Count == 0 && v.Properties[tokenOrder.place].Count == 0,
		porcupine: p == porcupine.Ok,
		brute:     newBrute(h).possible(),
	}
}

// rounds is how many histories of each model are tried. The checker has no goroutines: what
// its tests cost more under the race detector shows nothing more, so there they are a sample.
func rounds(usually int) int {
	switch {
	case os.Getenv("LOCKCHAOS_SOAK") != "":
		return 200_000
	case testing.Short(), raceEnabled:
		return usually / 10
	}
	return usually
}

func TestThreeJudgesAgree(t *testing.T) {
	for _, m := range modelCases {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			seen, n := map[bool]int{}, rounds(700)
			for seed := range n {
				lock, lines := m.draw(seed)
				o := opinionsOf(lock.history(strings.Join(lines, "\n")))
				if !o.agree() {
					t.Fatalf("seed %d: %s", seed, smallest(t, lock, lines, func(h *history.History) bool { return !opinionsOf(h).agree() }))
				}
				seen[o.sweep]++
			}
			t.Logf("agreed on %d histories that are fine and %d that are not", seen[true], seen[false])
			if seen[true] < n/10 || seen[false] < n/10 {
				t.Fatal("the histories are too much alike to compare")
			}
		})
	}
}

// smallest shrinks a history that is wrong to one from which no op can be
// taken, and returns it for a reader and as a history file.
func smallest(t *testing.T, lock script, lines []string, wrong func(*history.History) bool) string {
	t.Helper()
	lines, file := shrunk(t, lock, lines, wrong)
	text := strings.Join(lines, "\n")
	o := opinionsOf(lock.history(text))
	return fmt.Sprintf("fine by the sweep %v, by Porcupine %v, by brute force %v; claims %+v\n%s\nas a history file:\n%s", o.sweep, o.porcupine, o.brute,
		lock.header.Claims, text, file)
}

// shrunk is that history as lines and as the file.
func shrunk(t *testing.T, lock script, lines []string, wrong func(*history.History) bool) ([]string, string) {
	t.Helper()
	lock.header.Format = history.FormatVersion
	lines = shrink(lines, func(lines []string) bool { return wrong(lock.history(strings.Join(lines, "\n"))) })
	var file strings.Builder
	if err := lock.history(strings.Join(lines, "\n")).Encode(&file); err != nil {
		t.Fatal(err)
	}
	return lines, file.String()
}

// TestDisagreementIsShrunk: of a judge with a defect, one that takes renewals
// for nothing, what is shown is a history file with no op too many.
func TestDisagreementIsShrunk(t *testing.T) {
	deaf := func(h *history.History) bool { // whether the history is fine, renewals left out
		less := *h
		less.Events = slices.DeleteFunc(slices.Clone(h.Events), func(e history.Event) bool { return e.Kind == history.Renew })
		return opinionsOf(&less).sweep
	}
	wrong := func(h *history.History) bool { return deaf(h) != newBrute(h).possible() }
	for _, m := range modelCases {
		t.Run(m.name, func(t *testing.T) {
			for seed := range 1_000 {
				lock, lines := m.draw(seed)
				if !wrong(lock.history(strings.Join(lines, "\n"))) {
					continue
				}
				few, file := shrunk(t, lock, lines, wrong)
				if most := 2*lock.header.Claims.Permits + 2; len(few) > most {
					t.Fatalf("%d ops, where %d are enough:\n%s", len(few), most, strings.Join(few, "\n"))
				}
				h, err := history.ReadAll(strings.NewReader(file), "shrunk")
				if err != nil || h.Truncated || !wrong(h) {
					t.Fatalf("the file is no such history (%v):\n%s", err, file)
				}
				return
			}
			t.Fatal("the defect was never seen")
		})
	}
}
