package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// demands are what clients asked for in vain, by the workload and by the probe, and when the lock
// service was silent meanwhile: what is judged as a stuck lock.
type demands struct {
	phase string             // of the run
	began [probePhases]int64 // when the probe's phases began; 0: never
	// stretches are those in which a key was perhaps stuck; silences are when
	// the service gave no answer, lastAnswer is its last one.
	stretches  []*freeTime
	silences   []span
	lastAnswer int64
}

// demand is how long one client has asked for a key without a grant.
type demand struct {
	since, last int64 // the start of the first acquire, and the end of the last one
}

// freeTime is a time in which a key was free, wanted and not granted.
type freeTime struct {
	counted bool       // as a violation, while the clients worked
	doubted bool       // as one that only a stall of the machine may explain
	probed  bool       // as a violation, by the probe
	found   *Violation // as far as it is kept
	// ends are those that may have freed it: no refusal shows that it was taken afterwards.
	ends  []clientEnd
	freed bool // it was granted in the end
}

// clientEnd is the end of a client of the workload.
type clientEnd struct {
	client int32
	at     int64
	loser  bool // it had asked, and it had no grant
}

// lateWake is a time in which an acquire waited for a free key, until a client
// that asked later got it at once.
type lateWake struct {
	from, to int64
	by       int64 // the other client's grant
}

// stretchOf is the stretch that the key is in.
func (dm *demands) stretchOf(k *keyState) *freeTime {
	if k.stretch == nil {
		k.stretch = &freeTime{}
		dm.stretches = append(dm.stretches, k.stretch)
	}
	return k.stretch
}

// answeredAt notes that the lock service gave a definite answer at t.
func (dm *demands) answeredAt(t int64) {
	if dm.lastAnswer != 0 && t-dm.lastAnswer > int64(silent) {
		dm.silentUntil(t)
	}
	dm.lastAnswer = max(dm.lastAnswer, t)
}

// silentUntil notes that the service gave no answer from its last one on until t.
func (dm *demands) silentUntil(t int64) {
	dm.silences = append(dm.silences, span{from: dm.lastAnswer, to: t})
	// a time that has more of them is longer than an outage
	if n := len(dm.silences); n > int(Outage/silent) {
		dm.silences = append(dm.silences[:0], dm.silences[1:]...)
	}
}

// silentIn is for how long the service may have been away between two instants:
// no answer came for a second or more.
func (dm *demands) silentIn(from, to int64) int64 {
	sum := timeIn(dm.silences, from, to, anyFault, 0)
	if last := max(from, dm.lastAnswer); to-last > int64(silent) {
		sum += to - last
	}
	return sum
}

// nameStretches names the kinds of what was found, now that it is known how it ended.
func (dm *demands) nameStretches() {
	closed := dm.began[probeFinal] != 0
	for _, x := range dm.stretches {
		v := x.found
		switch {
		case v == nil:
		case x.freed && len(x.ends) > 0 && !slices.ContainsFunc(x.ends, func(d clientEnd) bool { return !d.loser }):
			v.Kind = KindGhost
			who := "A client that had no grant"
			if len(x.ends) == 1 {
				who = fmt.Sprintf("Client %d, which had no grant,", x.ends[0].client)
			}
			v.Text += " " + who + " occupied it until it ended."
		case !x.freed && closed && v.Pattern == PatternNeverExpired:
			v.Kind = KindNeverExpired
			v.Text += " It stayed taken after every client was closed."
		}
	}
}

// mark handles a change of phase.
func (dm *demands) mark(e *history.Event) {
	dm.phase = e.Text
	if i := probePhase(e.Text); i >= 0 && dm.began[i] == 0 {
		dm.began[i] = max(e.Time, 1)
	}
}

// The phases of the probe: first with the losers alive and idle, then with every client closed.
const (
	probeAlive = iota
	probeFinal
	probePhases
)

// probePhase is the phase of the probe that a mark names; -1: it names another one.
func probePhase(phase string) int {
	switch phase {
	case history.PhaseProbe:
		return probeAlive
	case history.PhaseFinal:
		return probeFinal
	}
	return -1
}

// probeState is how the probe of one key went.
type probeState struct {
	got   [probePhases]int64 // when a fresh client first had it; 0: never
	stuck [probePhases]bool
	// busy while somebody could rightly hold it, or not for long enough
	occupied [probePhases]bool
	failed   [probePhases]string // the error of one that was neither granted nor busy
	// found with losers alive; a ghost if the key is free once all are closed
	ghost *Violation
	// alone are the clients that asked in vain while the others were idle, one after the other
	alone []vainAsker
}
