package harness

import "github.com/lockchaos/lockchaos/audit"

// trim cuts a container's log to the run, from one instant (ns since 1970) until another, so that what is left is whole: whatever gave a key up for a
// grant that is kept is kept, too.
//
// What had ended before the run is left out, and so is what a client did under grants from before it: all up to its first request. What
// began after the run is left out; a grant that ended after it is kept as a request, since the release that made room for it may have begun after it as well.
func trim(lines []audit.Line, from, until int64) (kept []audit.Line) {
	asks := map[string]bool{} // clients that ask for a key within the run
	within := func(l *audit.Line) bool { return l.Ended >= from && l.Began <= until }
	for i := range lines {
		if l := &lines[i]; within(l) && l.Asks() {
			asks[l.Client] = true
		}
	}
	begun := map[string]bool{}
	for i := range lines {
		l := lines[i]
		if !within(&l) {
			continue
		}
		begun[l.Client] = begun[l.Client] || l.Asks()
		if asks[l.Client] && !begun[l.Client] {
			continue // a client that never asks is kept: what it does it does without a lock
		}
		if l.Means == "grant" && l.Ended > until {
			l.Means, l.Ended, l.Token, l.Result = "request", l.Began, 0, "ok"
		}
		kept = append(kept, l)
	}
	return kept
}
