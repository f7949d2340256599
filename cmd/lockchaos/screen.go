package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/spelling"
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

	// final is where the end of a run is told, also when what goes on is not; format, quiet and verbose are as in outputFlags.
	final          *harmless.Writer
	format         string
	quiet, verbose bool
	annotated      bool         // GitHub has been given its annotations
	ruling         string       // a gate's last word, once it is spoken
	events         *eventWriter // of --format json; nil else

	mu       sync.Mutex
	began    time.Time
	total    int
	ended    int
	names    []string // running now, in the order of their beginnings
	running  map[string]harness.Progress
	plans    map[string]scenarios.Plan // by the names in running
	violated map[string]checker.Blame  // that of the violation which is on the screen, by the names in running
	first    time.Duration             // when the first violation was shown; 0: never
	figures  figures
	told     map[string]bool // what the first lines have said of services and stand-ins
	drawn    bool            // the live line is on the screen
	printed  time.Time       // when a line was printed last
	endPulse func()
}

func newScreen(out io.Writer) *screen {
	final := harmless.NewWriter(out)
	s := &screen{out: final, final: final, format: formatText, running: map[string]harness.Progress{}, plans: map[string]scenarios.Plan{}, violated: map[string]checker.Blame{}, told: map[string]bool{}}
	if f := terminal(final.To()); f != nil && term.IsTerminal(int(f.Fd())) {
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
	name := titled(r.Suite, r.Shard)
	s.events.run(reports.Suite{Version: r.Version, Name: name, Runtime: r.Runtime}, total, min(parallel, total), r.Seed)
	harmless.Fprintf(s.out, "lockchaos %s · %s · %s · seed %d\n", r.Version, name, r.Runtime, r.Seed)
	harmless.Fprintf(s.out, "%d scenario%s, %d at once, %s\n", total, spelling.Plural(total), min(parallel, total), scenarios.Estimate(scenarios.LengthOfAll(plans, parallel)))
	harmless.Fprintln(s.out)
	s.pulse()
}

// say prints a line about the run as a whole.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events.note(text)
	s.line(text)
}

// interrupted says what is waited for, after an interrupt or when the time is over.
func (s *screen) interrupted() {
	s.mu.Lock()
	names := slices.Clone(s.names)
	s.mu.Unlock()
	text := "interrupted: the report of what there is will be written"
	if len(names) > 0 {
		text = fmt.Sprintf("interrupted: waiting up to %v for %s to heal what is broken, and to end; then the report is written", hosts.DefaultGrace, join(names))
	}
	s.say(text + " (a second interrupt ends at once, without)")
}

// begin tells that a plan is begun, as name.
func (s *screen) begin(name string, p scenarios.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	s.running[name], s.plans[name] = harness.Progress{Phase: "start"}, p
	s.events.started(p)
	if s.verbose {
		s.line(s.stamp() + name + ": begins")
	}
	s.draw()
}

// stamp is the time of a line.
func (s *screen) stamp() string { return fmt.Sprintf("%6.1f s  ", time.Since(s.began).Seconds()) }

func (s *screen) progress(name string, p harness.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.running[name]; before.Phase != p.Phase && s.verbose {
		s.events.phase(s.plans[name], p)
		s.line(s.stamp() + fmt.Sprintf("%s: %s (%d grants, %d faults so far)", name, p.Phase, p.Grants, p.Faults))
	}
	s.running[name] = p
	s.draw()
}

// ready says what a scenario runs on, as far as it has not been said: services with their versions, and what is not the real thing.
func (s *screen) ready(h history.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.add(h)
	s.events.ready(h)
	say := func(text string) {
		if !s.told[text] {
			s.told[text] = true
			s.line("  " + text)
		}
	}
	for _, p := range h.Versions {
		if p.Name == h.Service {
			say(fmt.Sprintf("%s %s · store %s", p.Name, p.Version, h.Store.Engine))
		}
	}
	for _, text := range h.StandIns {
		say("STAND-IN: " + text)
	}
}

// violation shows the first violation of a scenario, while it runs, and the first certain defect of its lock.
func (s *screen) violation(name string, v checker.Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shown, any := s.violated[name]; any && !tellsMore(v, shown) {
		return
	}
	s.violated[name] = v.Blame()
	if s.first == 0 {
		s.first = time.Since(s.began)
	}
	s.events.violation(s.plans[name], v)
	what := v.Property
	switch {
	case v.Blame() != checker.Defect:
	case slices.Contains(s.plans[name].Scenario.Expect.Relied, v.Property):
		what += ", for what the lock relies on is broken"
	default:
		what += ", a defect of the lock"
	}
	s.line(s.stamp() + fmt.Sprintf("! %s: %s: %s", name, what, v.Text))
}

// tellsMore reports whether a violation has to be told after one of the blame shown: it is the first certain defect.
func tellsMore(v checker.Violation, shown checker.Blame) bool {
	return v.Blame() == checker.Defect && shown != checker.Defect
}

// end tells what a scenario came to; name is what it was begun as.
func (s *screen) end(name string, sc reports.Scenario) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	shown, any := s.violated[name]
	if v := firstViolation(sc.Verdict); v != nil && (!any || tellsMore(*v, shown)) && s.events != nil {
		s.violated[name] = v.Blame() // on a busy machine the store's account may come so late that only the whole history shows it
		s.events.violation(s.plans[name], *v)
	}
	s.events.ended(sc.Name, sc)
	sc.Name = name
	s.drop(name)
	s.line(s.stamp() + reports.Line(sc, s.column, s.color))
	if s.verbose {
		for _, p := range sc.Verdict.Properties {
			s.line(strings.TrimRight(fmt.Sprintf("           %-18s %-12s %s", p.Name, p.Outcome, harmless.Line(p.Why)), " "))
		}
	}
}

// drop takes a scenario from those that run. The caller holds the lock.
func (s *screen) drop(name string) {
	delete(s.running, name)
	s.names = slices.DeleteFunc(s.names, func(n string) bool { return n == name })
}

// forget tells that what a scenario has shown so far counts no more: it is run again.
func (s *screen) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.violated, name)
	s.drop(name)
}

func (s *screen) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.endPulse != nil {
		s.endPulse()
		s.endPulse = nil
	}
	harmless.Fprintln(s.out)
}

// line prints something that stays, above the live line.
func (s *screen) line(text string) {
	s.printed = time.Now()
	s.clear()
	harmless.Fprintln(s.out, harmless.Block(text, "  "))
	s.draw()
}

func (s *screen) clear() {
	if s.drawn {
		io.WriteString(s.out, harmless.Own("\r\033[K"))
		s.drawn = false
	}
}

// draw renews the live line.
func (s *screen) draw() {
	if !s.live || len(s.names) == 0 {
		return
	}
	text := []rune(s.status(len(s.names)))
	if len(text) >= s.width {
		text = append(text[:s.width-2], '…')
	}
	harmless.Fprintf(s.out, "%s%s", harmless.Own("\r\033[K"), harmless.Line(string(text)))
	s.drawn = true
}
