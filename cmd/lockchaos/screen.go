package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/term"
)

// screen shows what is going on: lines for what has happened and, on a terminal, one line below that changes. Elsewhere it
// prints plain lines only, so that a log of a CI job reads well.
type screen struct {
	out   io.Writer
	live  bool // a terminal
	color bool
	width int
	// column is the width of the scenarios' names.
	column int

	mu       sync.Mutex
	began    time.Time
	total    int
	ended    int
	names    []string // running now, in the order of their beginnings
	running  map[string]harness.Progress
	violated map[string]bool
	first    time.Duration // when the first violation was shown; 0: never
	figures  figures
	told     map[string]bool // what the first lines have said of services and stand-ins
	drawn    bool            // the live line is on the screen
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, running: map[string]harness.Progress{}, violated: map[string]bool{}, told: map[string]bool{}}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.live = os.Getenv("TERM") != "dumb"
		s.color = s.live && os.Getenv("NO_COLOR") == ""
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			s.width = w
		}
	}
	return s
}

func (s *screen) start(r *runRecord, plans []scenarios.Plan, parallel int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := len(plans)
	s.began, s.total = time.Now(), total
	for _, p := range plans {
		s.column = max(s.column, len(p.Scenario.Name))
	}
	fmt.Fprintf(s.out, "lockchaos %s · %s · %s · seed %d\n", r.Version, r.Suite, r.Runtime, r.Seed)
	fmt.Fprintf(s.out, "%d scenario%s, %d at once\n", total, plural(total), min(parallel, total))
	fmt.Fprintln(s.out)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// say prints a line about the run as a whole.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(text)
}

func (s *screen) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	s.running[name] = harness.Progress{Phase: "start"}
	s.draw()
}

func (s *screen) progress(name string, p harness.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[name] = p
	s.draw()
}

// ready says what a scenario runs on, as far as it has not been said: services with their versions, and what is not the real thing.
func (s *screen) ready(h history.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.add(h)
	say := func(text string) {
		if !s.told[text] {
			s.told[text] = true
			s.line("  " + text)
		}
	}
	for _, p := range h.Versions {
		if p.Name == h.Service {
			say(fmt.Sprintf("%s %s on private hosts, store %s", p.Name, p.Version, h.Store.Engine))
		}
	}
	for _, text := range h.StandIns {
		say("STAND-IN: " + text)
	}
}

// violation shows the first violation of a scenario, while it runs.
func (s *screen) violation(name string, v checker.Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.violated[name] {
		return
	}
	s.violated[name] = true
	if s.first == 0 {
		s.first = time.Since(s.began)
	}
	s.line(fmt.Sprintf("%6.1f s  ! %s: %s: %s", time.Since(s.began).Seconds(), name, v.Property, v.Text))
}

// end tells what a scenario came to; name is what it was begun as.
func (s *screen) end(name string, sc reports.Scenario) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	sc.Name = name
	delete(s.running, name)
	for i, n := range s.names {
		if n == name {
			s.names = append(s.names[:i], s.names[i+1:]...)
			break
		}
	}
	s.line(fmt.Sprintf("%6.1f s  %s", time.Since(s.began).Seconds(), reports.Line(sc, s.column, s.color)))
}

func (s *screen) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintln(s.out)
}

// line prints something that stays, above the live line.
func (s *screen) line(text string) {
	s.clear()
	fmt.Fprintln(s.out, text)
	s.draw()
}

func (s *screen) clear() {
	if s.drawn {
		fmt.Fprint(s.out, "\r\033[K")
		s.drawn = false
	}
}

// draw renews the live line.
func (s *screen) draw() {
	if !s.live || len(s.names) == 0 {
		return
	}
	var parts []string
	for _, name := range s.names {
		p := s.running[name]
		parts = append(parts, fmt.Sprintf("%s (%s, %d grants)", name, p.Phase, p.Grants))
	}
	text := []rune(fmt.Sprintf("%6.1f s  %d of %d done · %s", time.Since(s.began).Seconds(), s.ended, s.total, strings.Join(parts, " · ")))
	if len(text) >= s.width {
		text = append(text[:s.width-2], '…')
	}
	fmt.Fprintf(s.out, "\r\033[K%s", string(text))
	s.drawn = true
}
