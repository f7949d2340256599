package audit

import (
	"cmp"
	"slices"
)

// ProcessLog is what one process of an application has logged. Its lines may be of several clients.
type ProcessLog struct {
	Name  string
	Lines []Line
}

// Join returns the lines of all processes as one audit log, in order of time.
func Join(logs []ProcessLog) (text []byte, err error) {
	var all []Line
	for _, l := range logs {
		all = append(all, l.Lines...)
	}
	slices.SortStableFunc(all, func(a, b Line) int { return cmp.Compare(a.Began, b.Began) })
	for i := range all {
		if text, err = all[i].Append(text); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Number gives each client that a log names a number from 1 (Options.Clients), and returns those of
// each process. A process that has logged nothing is a client of its own name.
func Number(logs []ProcessLog) (names []string, clients [][]int32) {
	clients = make([][]int32, len(logs))
	for i, l := range logs {
		var own []string
		for k := range l.Lines {
			if name := l.Lines[k].Client; !slices.Contains(own, name) {
				own = append(own, name)
			}
		}
		if len(own) == 0 {
			own = []string{l.Name}
		}
		for _, name := range own {
			names = append(names, name)
			clients[i] = append(clients[i], int32(len(names)))
		}
	}
	return names, clients
}

// Trim cuts a process's log to a run, from one instant (ns since 1970) until another. What is left
// is whole: whatever gave a key up for a grant that is kept is kept, too.
//
// What had ended before the run is left out, and so is what a client did under grants from before
// it: all up to its first request. What began after the run is left out. A grant that ended after
// it is kept as a request, since the release that made room for it may have begun after it as well.
func Trim(lines []Line, from, until int64) (kept []Line) {
	within := func(l *Line) bool { return l.Ended >= from && l.Began <= until }
	asks := map[string]bool{} // clients that ask for a key within the run
	for i := range lines {
		if l := &lines[i]; within(l) && l.asks() {
			asks[l.Client] = true
		}
	}
	begun := map[string]bool{}
	for _, l := range lines {
		if !within(&l) {
			continue
		}
		begun[l.Client] = begun[l.Client] || l.asks()
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
