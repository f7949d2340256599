package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// Statistics of faults: how often each was injected, took effect, and met a holder.

// countFault adds a fault that has ended to the statistics.
func (fs *faults) countFault(f *history.FaultInfo) {
	st := fs.faultKind(f)
	if !f.Bit {
		if f.Injected {
			fs.countUnproven(faultName(f))
		}
		return
	}
	st.Bit++
	if st.Evidence == "" {
		st.Evidence = f.Evidence
	}
	if f.Holding != 0 {
		st.MetHolder++
	}
	if f.Bites() {
		fs.bites++
	}
	if lasted := time.Duration(f.To - f.From); f.From != 0 && lasted >= 0 {
		if st.Shortest == 0 || lasted < st.Shortest {
			st.Shortest = lasted
		}
		st.Longest = max(st.Longest, lasted)
	}
}

// mostUnproven bounds how many names are kept of faults of which nothing proves that they took
// effect.
const mostUnproven = 8

// countUnproven counts an injected fault of which nothing proves that it took effect.
func (fs *faults) countUnproven(name string) {
	i := slices.IndexFunc(fs.unproven, func(u unproven) bool { return u.name == name })
	switch {
	case i >= 0:
		fs.unproven[i].times++
	case len(fs.unproven) < mostUnproven:
		fs.unproven = append(fs.unproven, unproven{name, 1})
	}
}

// unproven is a fault, as it is told, and how often nothing proves that it took effect.
type unproven struct {
	name  string
	times int
}

func (u unproven) String() string {
	if u.times == 1 {
		return u.name
	}
	return fmt.Sprintf("%s (%d times)", u.name, u.times)
}

func faultName(f *history.FaultInfo) string {
	if f.Target != "" {
		return f.Kind + " of " + f.Target
	}
	return f.Kind
}

// faultKind returns the statistics of a planned fault, or of a kind of fault that nobody planned.
func (fs *faults) faultKind(f *history.FaultInfo) *FaultStats {
	for i := range fs.stats {
		st := &fs.stats[i]
		if st.Plan == f.Plan && st.Kind == f.Kind && st.When == f.When && st.Injected == f.Injected {
			return st
		}
	}
	fs.stats = append(fs.stats, FaultStats{Plan: f.Plan, Kind: f.Kind, When: f.When, Injected: f.Injected})
	return &fs.stats[len(fs.stats)-1]
}

// plannedFaults are the statistics of a plan of which nothing has happened yet:
// what was planned and never came is told too.
func plannedFaults(plan []history.PlannedFault) (all []FaultStats) {
	for i, p := range plan {
		all = append(all, FaultStats{Plan: i + 1, Planned: p.Text, Kind: p.Kind, Target: p.Target, When: p.When,
			Injected: true})
	}
	return all
}
