package serve

import (
	"slices"
	"time"
)

// results are those of scenarios, the worst first.
var results = []string{"failed", "corrupted", "violated", "inconclusive", "contained", "pass", "skipped"}

// Outcome is what a run came to, in a word; while it goes on, its state. The exit
// status decides. A record of an older lockchaos has none: then it is the worst result.
func (r Run) Outcome() string {
	switch {
	case r.State != ended:
		return r.State
	case r.ruling != "":
		return clip(r.ruling)
	case r.Exit != nil:
		return r.byStatus(*r.Exit)
	}
	for _, word := range results {
		if r.has(word) {
			return word
		}
	}
	return ended
}

// byStatus puts an exit status into a word. A run whose violations were
// expected did not pass: it is as expected.
func (r Run) byStatus(exit int) string {
	switch {
	case exit == 0 && !slices.ContainsFunc(r.Counts,
		func(c Count) bool { return c.Word != "pass" && c.Word != "skipped" }):
		return "pass"
	case exit == 0:
		return "as expected"
	case exit == 1 && r.Unexpected > 0:
		return "unexpected"
	case exit == 1:
		return "violated"
	case exit == 2:
		return "inconclusive"
	}
	return "failed"
}

func (r Run) has(word string) bool {
	return slices.ContainsFunc(r.Counts, func(c Count) bool { return c.Word == word })
}

// class is the style class of an outcome, a result or a state.
func class(word string) string {
	switch word {
	case "pass", "passed", "as expected":
		return "p"
	case "contained":
		return "c"
	case "corrupted", "violated":
		return "v"
	case "failed", unreadable:
		return "f"
	case "unexpected":
		return "u"
	case "inconclusive", silent:
		return "i"
	}
	return "s"
}

// overhead is what a scenario takes beside its workload, to start, heal and
// probe, as long as none has shown it. The others bound what a record may say.
const (
	overhead      = 3 * time.Second
	mostParallel  = 256
	mostEstimated = 10_000
)

// estimate is when a run should end: each scenario takes its planned time and what those
// that have ended took beside theirs, and as many run at once as the record says. Scenarios
// that wait take the next free place. Zero where the record does not say what is planned.
func (r Run) estimate() time.Time {
	if r.parallel < 1 || r.parallel > mostParallel || len(r.Scenarios) > mostEstimated {
		return time.Time{}
	}
	beside := r.beside()
	var places []time.Time // when each is free
	last := r.Started
	for _, sc := range r.Scenarios {
		last = latest(last, sc.began)
		if sc.State == running && len(places) < r.parallel {
			places = append(places, sc.began.Add(sc.planned+beside))
		}
	}
	for len(places) < r.parallel {
		places = append(places, last)
	}
	for _, sc := range r.Scenarios {
		if sc.State == waiting {
			slices.SortFunc(places, time.Time.Compare)
			places[0] = places[0].Add(sc.planned + beside)
		}
	}
	return slices.MaxFunc(places, time.Time.Compare).Truncate(time.Second)
}

// beside is what the scenarios that have ended took beside their planned time, on average.
func (r Run) beside() time.Duration {
	sum, n := time.Duration(0), time.Duration(0)
	for _, sc := range r.Scenarios {
		if sc.State == ended && sc.Result != "skipped" && sc.planned > 0 && sc.Elapsed > sc.planned {
			sum, n = sum+sc.Elapsed-sc.planned, n+1
		}
	}
	if n == 0 {
		return overhead
	}
	return sum / n
}

// proportion is when a repetition should end if what is left takes as long for
// each run as what is done took. It stays as it is until the next run has ended.
func (r Run) proportion() time.Time {
	if r.Done == 0 || r.Wanted <= r.Done {
		return time.Time{}
	}
	return r.Started.Add(r.newest.Sub(r.Started) / time.Duration(r.Done) * time.Duration(r.Wanted)).Truncate(time.Second)
}
