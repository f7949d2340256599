package screen

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
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Screen shows what is going on: lines for what has happened and, on a terminal, one line below
// that changes. Elsewhere it prints plain lines only, so that a log of a CI job reads well.
type Screen struct {
	// Out is where it tells what goes on.
	Out io.Writer
	// Live: it is a terminal. Color and Width are as that allows; Width 0 is unknown.
	Live  bool
	Color bool
	Width int
	// More is set where the scenarios are attacks of an exam, told by what they came to for the
	// lock. It tells more of one that has ended, for --format json.
	More func(reports.Scenario) Attacked
	// Lengths learns how long scenarios take here. Left, when set, is how long all that are left
	// take.
	Lengths scenarios.Lengths
	Left    func() time.Duration
	// column is the width of the scenarios' names.
	column int

	// Final is where the end of a run is told, also when what goes on is not.
	Final *harmless.Writer
	// Ruling is a gate's last word, once it is spoken.
	Ruling         string
	format         string
	quiet, verbose bool
	annotated      bool         // GitHub has been given its annotations
	events         *eventWriter // of --format json; nil else

	mu      sync.Mutex
	began   time.Time
	total   int
	ended   int
	names   []string // running now, in the order of their beginnings
	running map[string]record.Progress
	plans   map[string]scenarios.Plan // by the names in running
	// that of the violation which is on the screen, by the names in running
	violated     map[string]checker.Blame
	first        time.Duration // when the first violation was shown; 0: never
	figures      figures
	told         map[string]bool // what the first lines have said of services and stand-ins
	drawn        bool            // the live line is on the screen
	printed      time.Time       // when a line was printed last
	endHeartbeat func()
}

// Attacked tells more of an attack that has ended: the least that shows what it fell by, line by
// line, and the page of its report, which is written at the end of the exam.
type Attacked struct {
	Shortest []string
	Report   string
}

// New returns a screen that tells as text.
func New(out io.Writer) *Screen {
	final := harmless.NewWriter(out)
	s := &Screen{Out: final, Final: final, format: Text, running: map[string]record.Progress{},
		plans: map[string]scenarios.Plan{}, violated: map[string]checker.Blame{}, told: map[string]bool{}}
	if f := terminalFile(final.To()); f != nil && term.IsTerminal(int(f.Fd())) {
		s.Live = os.Getenv("TERM") != "dumb"
		s.Color = s.Live && os.Getenv("NO_COLOR") == ""
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			s.Width = w
		}
	}
	return s
}

// Open returns a screen that tells in the given format. quiet: nothing is told
// while it runs, and at the end only what needs attention; verbose: each phase
// of each scenario is told, and each property's outcome.
func Open(out io.Writer, format string, quiet, verbose bool) (*Screen, error) {
	s := New(out)
	s.format, s.quiet, s.verbose = format, quiet, verbose
	switch format {
	case JSON:
		s.events = newEventWriter(s.Out)
		s.toNobody()
	case GitHub:
		s.Live = false // a log
		// what programs under test have printed will be among the lines
		if err := s.Final.StopCommands(); err != nil {
			return nil, fmt.Errorf("write to the standard output: %w", err)
		}
	}
	if quiet && format != JSON {
		s.toNobody()
	}
	return s, nil
}

// Start begins: suite says what is run, where and with which seed, in so many runs of scenarios.
// column is the width of the longest name by which one is begun. head writes the first lines.
func (s *Screen) Start(suite reports.Suite, total, parallel, column int, head func(io.Writer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.total, s.column = time.Now(), total, column
	s.events.run(suite, total, min(parallel, total), suite.Seed)
	head(s.Out)
	s.startHeartbeat()
}

// Add tells that so many scenarios more are run than Start was told of.
func (s *Screen) Add(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += more
}

// Say prints a line about the run as a whole.
func (s *Screen) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events.note(text)
	s.line(text)
}

// Attacks lists, for --format json, the attacks that would be made, and those that would not, and
// why. It reports whether that is the format.
func (s *Screen) Attacks(plans []scenarios.Plan, exam *reports.Exam) bool {
	if s.events == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range plans {
		s.events.attack(p.Scenario.Attack, p.Scenario.Name, p.Scenario.About, scenarios.LengthOf(p))
	}
	for _, n := range exam.Not {
		s.events.notMade(n.Attack, harmless.Line(n.Why), harmless.Line(n.Fix))
	}
	for _, l := range exam.Left {
		s.events.notMade(l.Attack, harmless.Line(l.Why), "")
	}
	return true
}

// Interrupted says what is waited for, after an interrupt or when the time is over.
func (s *Screen) Interrupted() {
	s.mu.Lock()
	names := slices.Clone(s.names)
	s.mu.Unlock()
	text := "interrupted: the report of what was recorded will be written"
	if len(names) > 0 {
		text = fmt.Sprintf("interrupted: waiting up to %v for %s to heal what is broken, and to end; then the report is written", hosts.DefaultGrace, strings.Join(names, ", "))
	}
	s.Say(text + " (a second interrupt ends at once, without a report)")
}

// Begin tells that a plan is begun, as name.
func (s *Screen) Begin(name string, p scenarios.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	s.running[name], s.plans[name] = record.Progress{Phase: "start"}, p
	s.events.started(p)
	if s.verbose {
		s.line(s.stamp() + name + ": begins")
	}
	s.draw()
}

// stamp is the time of a line.
func (s *Screen) stamp() string { return fmt.Sprintf("%6.1f s  ", time.Since(s.began).Seconds()) }

// Progress tells how far the scenario is that was begun as name.
func (s *Screen) Progress(name string, p record.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.running[name]; before.Phase != p.Phase && s.verbose {
		s.events.phase(s.plans[name], p)
		s.line(s.stamp() + fmt.Sprintf("%s: %s (%d grants, %d faults so far)", name, p.Phase, p.Grants, p.Faults))
	}
	s.running[name] = p
	s.draw()
}

// Ready says what a scenario runs on, as far as it has not been said: services
// with their versions, and what is not the real thing.
func (s *Screen) Ready(h history.Header) {
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

// Violation shows the first violation of a scenario, while it runs, and the
// first certain defect of its lock.
func (s *Screen) Violation(name string, v checker.Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shown, any := s.violated[name]; any && !TellsMore(v, shown) {
		return
	}
	s.violated[name] = v.Blame()
	if s.first == 0 {
		s.first = time.Since(s.began)
	}
	s.events.violation(s.plans[name], v)
	what, expect := v.Property, s.plans[name].Scenario.Expect
	switch {
	case v.Blame() != checker.Defect:
	case slices.Contains(expect.Relied, v.Property):
		what += ", because what the lock relies on is broken"
	case expect.Allows(v.Property, v.Kind):
		what += ", which the application must check: the lock says only how long a lease lasts"
	default:
		what += ", a defect of the " + defective(v)
	}
	s.line(s.stamp() + fmt.Sprintf("! %s: %s: %s", name, what, v.Text))
}

// defective is what has the defect that a violation shows.
func defective(v checker.Violation) string {
	if v.Kind == checker.KindLossIgnored {
		return "application"
	}
	return "lock"
}

// TellsMore reports whether a violation has to be told after one of the blame
// shown: it is the first certain defect.
func TellsMore(v checker.Violation, shown checker.Blame) bool {
	return v.Blame() == checker.Defect && shown != checker.Defect
}

// End tells what a scenario came to; name is what it was begun as.
func (s *Screen) End(name string, sc reports.Scenario) {
	var more Attacked
	if s.events != nil && s.More != nil {
		more = s.More(sc)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	shown, any := s.violated[name]
	if v := FirstViolation(sc.Verdict); v != nil && (!any || TellsMore(*v, shown)) && s.events != nil {
		// on a busy machine the store's account may come so late that only the
		// whole history shows it
		s.violated[name] = v.Blame()
		s.events.violation(s.plans[name], *v)
	}
	s.events.ended(sc.Name, s.plans[name].Scenario.Attack, sc, more)
	sc.Name = name
	s.drop(name)
	tell := terminal.Line
	if s.More != nil {
		tell = terminal.AttackLine
	}
	s.line(s.stamp() + tell(sc, s.column, s.Color))
	if s.verbose {
		for _, p := range sc.Verdict.Properties {
			s.line(strings.TrimRight(fmt.Sprintf("           %-18s %-12s %s", p.Name, p.Outcome, harmless.Line(p.Why)),
				" "))
		}
	}
}

// drop takes a scenario from those that run. The caller holds the lock.
func (s *Screen) drop(name string) {
	delete(s.running, name)
	s.names = slices.DeleteFunc(s.names, func(n string) bool { return n == name })
}

// Forget tells that what a scenario has shown so far counts no more: it is run again.
func (s *Screen) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.violated, name)
	s.drop(name)
}

// Stop ends what Start began.
func (s *Screen) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.endHeartbeat != nil {
		s.endHeartbeat()
		s.endHeartbeat = nil
	}
	harmless.Fprintln(s.Out)
}

// line prints something that stays, above the live line.
func (s *Screen) line(text string) {
	s.printed = time.Now()
	s.clear()
	harmless.Fprintln(s.Out, harmless.Block(text, "  "))
	s.draw()
}

func (s *Screen) clear() {
	if s.drawn {
		io.WriteString(s.Out, harmless.Own("\r\033[K"))
		s.drawn = false
	}
}

// draw renews the live line.
func (s *Screen) draw() {
	if !s.Live || len(s.names) == 0 {
		return
	}
	text := []rune(s.status(len(s.names)))
	if len(text) >= s.Width {
		text = append(text[:s.Width-2], '…')
	}
	harmless.Fprintf(s.Out, "%s%s", harmless.Own("\r\033[K"), harmless.Line(string(text)))
	s.drawn = true
}

// Wrapper is a writer that passes everything on to another one, which may be a terminal.
type Wrapper interface {
	io.Writer
	// Under is that other one.
	Under() io.Writer
}

// terminalFile returns the file that is written to, so that the caller can ask whether it is a
// terminal; nil: out writes to no file.
func terminalFile(out io.Writer) *os.File {
	if o, ok := out.(Wrapper); ok {
		out = o.Under()
	}
	f, _ := out.(*os.File)
	return f
}
