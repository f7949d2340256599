package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/reports"
)

// figures are the times that a run's own histories tell: for each service, in the order of the scenarios, how long its scenarios took until
// every server answered and every client was connected.
type figures []serviceFigure

type serviceFigure struct {
	service       string
	fastest, most time.Duration
}

// readyTimes gathers the figures.
func readyTimes(all []reports.Scenario) figures {
	var out figures
	for _, sc := range all {
		if sc.History == nil || sc.History.Header.Ready == 0 {
			continue
		}
		d := time.Duration(sc.History.Header.Ready)
		i := slices.IndexFunc(out, func(f serviceFigure) bool { return f.service == sc.History.Header.Service })
		if i < 0 {
			out = append(out, serviceFigure{sc.History.Header.Service, d, d})
			continue
		}
		out[i].fastest, out[i].most = min(out[i].fastest, d), max(out[i].most, d)
	}
	return out
}

// print writes the figures in one line. First is when the first violation was on the screen; 0: never.
func (f figures) print(w io.Writer, first, whole time.Duration) {
	var parts []string
	if first > 0 {
		parts = append(parts, fmt.Sprintf("first violation shown after %.1f s", first.Seconds()))
	}
	for _, s := range f {
		parts = append(parts, fmt.Sprintf("%s and clients ready in %.2f–%.2f s", s.service, s.fastest.Seconds(), s.most.Seconds()))
	}
	parts = append(parts, fmt.Sprintf("all in %.1f s", whole.Seconds()))
	fmt.Fprintln(w, strings.Join(parts, " · "))
}
