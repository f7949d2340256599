package screen

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
)

// figures are the times that a run's own histories tell: for each service, in
// the order of their beginnings, how long its scenarios took until every server
// answered and every client was connected.
type figures []serviceFigure

type serviceFigure struct {
	service          string
	fastest, slowest time.Duration
}

// add takes one scenario's time. An application of the user's own ran before.
func (f *figures) add(h history.Header) {
	if h.Translated {
		return
	}
	d := time.Duration(h.Ready)
	i := slices.IndexFunc(*f, func(s serviceFigure) bool { return s.service == h.Service })
	if i < 0 {
		*f = append(*f, serviceFigure{h.Service, d, d})
		return
	}
	s := &(*f)[i]
	s.fastest, s.slowest = min(s.fastest, d), max(s.slowest, d)
}

// print writes the figures in one line. First is when the first violation was
// on the screen; 0: never.
func (f figures) print(w io.Writer, first, whole time.Duration) {
	var parts []string
	if first > 0 {
		parts = append(parts, fmt.Sprintf("first violation shown after %.1f s", first.Seconds()))
	}
	for _, s := range f {
		what := s.service + " and clients"
		if s.service == "" {
			what = "clients without a lock service"
		}
		const shown = 10 * time.Millisecond
		text := fmt.Sprintf("%s ready in %.2f", what, s.fastest.Seconds())
		if s.fastest.Round(shown) != s.slowest.Round(shown) {
			text += fmt.Sprintf(" to %.2f", s.slowest.Seconds())
		}
		parts = append(parts, text+" s")
	}
	parts = append(parts, fmt.Sprintf("all in %.1f s", whole.Seconds()))
	harmless.Fprintln(w, strings.Join(parts, " · "))
}

// PrintFigures writes the times that a run has shown of itself in one line;
// whole is how long it took.
func (s *Screen) PrintFigures(w io.Writer, whole time.Duration) { s.figures.print(w, s.first, whole) }
