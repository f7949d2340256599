package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
)

// Repetition is a run that was repeated, each time with another seed.
type Repetition struct {
	Suite   string    `json:"suite"`
	Command string    `json:"command"`
	Version string    `json:"lockchaos"`
	Runtime string    `json:"runtime"`
	Started time.Time `json:"started"`
	Elapsed int64     `json:"elapsed_ns"`
	// Wanted is how many repetitions were asked for at most, Until what would end them earlier ("" nothing), Ended why they ended.
	Wanted int    `json:"wanted"`
	Until  string `json:"until,omitempty"`
	Ended  string `json:"ended"`
	// Exit is the exit status, once it has ended: the worst of all runs.
	Exit *int `json:"exit_status,omitempty"`
	// Runs are the folders of the repetitions, in the order of their seeds.
	Runs      []RepeatedRun `json:"runs"`
	Scenarios []Repeated    `json:"scenarios"`
}

// RepeatedRun is one repetition, which is a run of its own.
type RepeatedRun struct {
	Seed uint64 `json:"seed"`
	// Dir is its folder, inside that of the repetition.
	Dir string `json:"dir"`
}

// Repeated is one scenario of a repetition, with what it came to each time.
type Repeated struct {
	Name   string  `json:"name"`
	Trials []Trial `json:"trials"`
}

// Trial is one scenario, run once.
type Trial struct {
	Seed uint64 `json:"seed"`
	// Dir is the scenario's folder, inside that of the repetition.
	Dir        string        `json:"dir"`
	Result     Result        `json:"result"`
	Unexpected bool          `json:"unexpected,omitempty"`
	Detail     string        `json:"detail"`
	Elapsed    time.Duration `json:"elapsed_ns"`
}

// Add takes what one repetition came to; dir is its folder.
func (r *Repetition) Add(seed uint64, dir string, scenarios []Scenario) {
	r.Runs = append(r.Runs, RepeatedRun{seed, dir})
	for _, x := range scenarios {
		i := slices.IndexFunc(r.Scenarios, func(known Repeated) bool { return known.Name == x.Name })
		if i < 0 {
			i = len(r.Scenarios)
			r.Scenarios = append(r.Scenarios, Repeated{Name: x.Name})
		}
		s := &r.Scenarios[i]
		s.Trials = append(s.Trials, Trial{Seed: seed, Dir: dir + "/" + x.Dir, Result: x.Result(), Unexpected: x.unexpected(), Detail: x.Detail(), Elapsed: x.Elapsed})
	}
}

// Sort puts repetitions in the order of their seeds: they end in any.
func (r *Repetition) Sort() {
	slices.SortFunc(r.Runs, func(a, b RepeatedRun) int { return cmp.Compare(int64(a.Seed), int64(b.Seed)) })
	for _, s := range r.Scenarios {
		slices.SortStableFunc(s.Trials, func(a, b Trial) int { return cmp.Compare(int64(a.Seed), int64(b.Seed)) })
	}
}

// Violates tells whether the result is that of a verdict which found a violation.
func (r Result) Violates() bool { return r == Contained || r == Corrupted || r == Violated }

// Count is how many trials came to one of the results.
func (s Repeated) Count(results ...Result) (n int) {
	for _, t := range s.Trials {
		if slices.Contains(results, t.Result) {
			n++
		}
	}
	return n
}

// Violated is in how many of the trials that were decided a property was violated: those that passed and those that were violated, and no others.
func (s Repeated) Violated() Rate {
	hits := s.Count(Contained, Corrupted, Violated)
	return Rate{hits, hits + s.Count(Pass)}
}

// unexpected is how many trials came out otherwise than expected.
func (s Repeated) unexpected() (n int) {
	for _, t := range s.Trials {
		if t.Unexpected {
			n++
		}
	}
	return n
}

// seeds names those of the trials that came to the result.
func (s Repeated) seeds(result Result) string {
	var out []string
	for _, t := range s.Trials {
		if t.Result == result {
			out = append(out, fmt.Sprint(t.Seed))
		}
	}
	if more := len(out) - 12; more > 0 {
		out = append(out[:12], fmt.Sprintf("%d more", more))
	}
	return list(out)
}

// results are those that occur, in the order of the constants.
func (s Repeated) results() (all []Result) {
	for r := range resultNames {
		if s.Count(Result(r)) > 0 {
			all = append(all, Result(r))
		}
	}
	return all
}

// Flaky tells whether trials came to different results.
func (s Repeated) Flaky() bool { return len(s.results()) > 1 }

// headline says what the repetition showed.
func (r Repetition) headline() string {
	flaky := 0
	for _, s := range r.Scenarios {
		if s.Flaky() {
			flaky++
		}
	}
	if len(r.Scenarios) == 1 {
		s := r.Scenarios[0]
		if s.Violated().Of == 0 {
			return fmt.Sprintf("%s: %s, and none was decided.", clip(s.Name, clipName), plural(len(s.Trials), "run"))
		}
		return fmt.Sprintf("%s: violated in %d of %s.", clip(s.Name, clipName), s.Violated().Hits, plural(s.Violated().Of, "decided run"))
	}
	if flaky == 0 {
		return fmt.Sprintf("%s, %s: each came to the same result every time.", plural(len(r.Scenarios), "scenario"), plural(len(r.Runs), "repetition"))
	}
	return fmt.Sprintf("%d of %s came to different results in %s.", flaky, plural(len(r.Scenarios), "scenario"), plural(len(r.Runs), "repetition"))
}

// WriteRepetitionJSON writes repeat.json.
func WriteRepetitionJSON(w io.Writer, r Repetition) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// RepetitionText writes the table of verdicts to a terminal: a line for every scenario, and the seeds of what differs, or of one scenario a line for
// every seed.
func RepetitionText(w io.Writer, r Repetition, color bool) error {
	grid := [][]terminalCell{dimCells("scenario", "runs", "pass", "violated", "inconclusive", "else", "unexpected", "violated in", "95 % interval")}
	for _, s := range r.Scenarios {
		row := []terminalCell{{{oneLine(clip(s.Name, clipName)), ansiBold}}}
		other := len(s.Trials) - s.Violated().Of - s.Count(Inconclusive)
		for _, n := range []int{len(s.Trials), s.Count(Pass), s.Violated().Hits, s.Count(Inconclusive), other, s.unexpected()} {
			row = append(row, terminalCell{{grouped(n), ""}})
		}
		grid = append(grid, append(row, terminalCell{{s.Violated().String(), ""}}, terminalCell{{s.Violated().Between(), ansiDim}}))
	}
	var b strings.Builder
	writeGrid(&b, grid, color)
	if len(r.Scenarios) == 1 {
		b.WriteString("\n")
		seedLines(&b, r.Scenarios[0], color)
	}
	for _, s := range r.Scenarios {
		if len(r.Scenarios) == 1 || !s.Flaky() {
			continue
		}
		fmt.Fprintf(&b, "\n%s came to different results:\n", oneLine(clip(s.Name, clipName)))
		for _, result := range s.results() {
			fmt.Fprintf(&b, "  %s %s: seed%s %s\n", result.Mark(), result, pluralS(s.Count(result)), s.seeds(result))
		}
	}
	fmt.Fprintf(&b, "\n%s %s\n", r.headline(), r.Ended)
	_, err := io.WriteString(w, b.String())
	return err
}

// seedLines are those of one scenario.
func seedLines(b *strings.Builder, s Repeated, color bool) {
	grid := [][]terminalCell{dimCells("seed", "result", "figures", "took")}
	for _, t := range s.Trials {
		result := t.Result.Mark() + " " + t.Result.String()
		if t.Unexpected {
			result += " UNEXPECTED"
		}
		grid = append(grid, []terminalCell{{{fmt.Sprint(t.Seed), ""}}, {{result, resultANSI[t.Result]}}, {{oneLine(t.Detail), ""}}, {{span(int64(t.Elapsed)), ansiDim}}})
	}
	writeGrid(b, grid, color)
}

func dimCells(words ...string) (line []terminalCell) {
	for _, word := range words {
		line = append(line, terminalCell{{word, ansiDim}})
	}
	return line
}

// writeGrid lays out cells in columns that are as wide as they have to be.
func writeGrid(b *strings.Builder, grid [][]terminalCell, color bool) {
	widths := gridWidths(grid)
	for _, line := range grid {
		writeGridLine(b, line, widths, color)
	}
}

func pluralS(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// repeatPage is what the index of a repetition shows.
type repeatPage struct {
	CSS      template.CSS
	R        Repetition
	Headline string
	Facts    []string
	Rows     []repeatRow
	Words    []entry
	Gate     *gatePage // the ruling, on the page of a gate
}

type repeatRow struct {
	Name, Violated, Between string
	Bar                     template.HTML
	Trials                  []repeatCell
}

type repeatCell struct {
	Trial
	Href string
}

// WriteRepetition writes the page of a repetition: for every scenario what it came to, seed by seed, each a way to its report.
func WriteRepetition(w io.Writer, r Repetition) error {
	return render(w, "repeat.html.tmpl", repetitionPage(r))
}

func repetitionPage(r Repetition) repeatPage {
	p := repeatPage{CSS: css, R: r, Headline: r.headline(), Words: resultWords[:7]}
	for _, fact := range []string{"lockchaos " + r.Version, r.Started.Format("2006-01-02 15:04"), r.Runtime, span(r.Elapsed)} {
		p.Facts = append(p.Facts, clip(fact, clipName))
	}
	for _, s := range r.Scenarios {
		row := repeatRow{Name: clip(s.Name, clipName), Violated: s.Violated().String(), Between: s.Violated().Between(), Bar: rateBar(s.Violated())}
		for _, t := range s.Trials {
			t.Detail = clip(t.Detail, clipName)
			row.Trials = append(row.Trials, repeatCell{t, href(t.Dir, "report.html")})
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// rateBar draws a rate with its interval.
func rateBar(r Rate) template.HTML {
	d := svg{w: 120, h: 16}
	d.rect(0, 6, 120, 4, 2, "dim", "")
	low, high := r.Interval()
	d.rect(120*low, 3, 120*(high-low), 10, 3, "fault edge", "")
	if r.Of > 0 {
		d.circle(5+110*r.Share(), 8, 4, "dot", "")
	}
	return d.done(r.String()+", 95 % interval "+r.Between(), "ratebar")
}
