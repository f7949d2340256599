package survey

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
)

var (
	//go:embed index.html.tmpl
	indexText string
	//go:embed library.html.tmpl
	libraryText string
)

// pages are the templates of the site. They are part of the program: one that
// does not parse is a bug that every test finds.
var pages = sync.OnceValue(func() *template.Template {
	all := template.New("index").Funcs(template.FuncMap{"prose": prose})
	return template.Must(template.Must(all.Parse(indexText)).New("library").Parse(libraryText))
})

// Library is one row of the site's table, and a page.
type Library struct {
	Card
	*Result // nil: there is none yet
	// Reports tell of the defects of its card.
	Reports []Report
}

// Libraries reads the cards of a survey's folder and what their exams came to.
func Libraries(dir string) (all []Library, err error) {
	cards, err := Cards(dir)
	if err != nil {
		return nil, err
	}
	for _, c := range cards {
		r, err := Load(dir, c.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, Library{Card: c, Result: r})
	}
	return all, nil
}

// Pages makes the pages of the survey as they lie in the folder at: index.html,
// one for each library, and one for each defect's witness. They are returned by
// their names, and nothing is written.
func Pages(dir, at string) (map[string][]byte, error) {
	all, err := Libraries(dir)
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{}
	for i := range all {
		if err := all[i].findReports(at); err != nil {
			return nil, err
		}
		if err := all[i].render(dir, made); err != nil {
			return nil, err
		}
	}
	made[reports.IndexFile], err = render("index", index{CSS: page.Style(), libraries: byService(all)})
	return made, err
}

// byService orders libraries by their services.
func byService(all []Library) []Library {
	return slices.SortedStableFunc(slices.Values(all),
		func(a, b Library) int { return strings.Compare(a.Service, b.Service) })
}

// Site writes the pages of the survey into a folder, once all are made: an
// error leaves no half of them.
func Site(dir, to string) error {
	made, err := Pages(dir, to)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make the site's folder: %w", err)
	}
	for name, text := range made {
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Report is what is told of some defects of a library: the way from the pages, and its heading.
type Report struct{ Way, Heading string }

// findReports finds what is told of the defects of the library's card, each once.
func (l *Library) findReports(to string) error {
	for _, k := range l.Card.Defects {
		way, err := filepath.Rel(to, l.reportOf(k))
		if err != nil {
			return fmt.Errorf("find the way from the site to a report: %w", err)
		}
		text, err := os.ReadFile(l.reportOf(k))
		if err != nil {
			return fmt.Errorf("read the report of a defect: %w", err)
		}
		heading, _, _ := strings.Cut(string(text), "\n")
		r := Report{filepath.ToSlash(way), strings.ReplaceAll(strings.TrimPrefix(heading, "# "), "`", "")}
		if !slices.Contains(l.Reports, r) {
			l.Reports = append(l.Reports, r)
		}
	}
	return nil
}

// render makes the pages of a library.
func (l Library) render(dir string, made map[string][]byte) (err error) {
	if l.Result != nil {
		for _, d := range l.Result.Defects {
			if d.Witness == "" {
				continue
			}
			if made[l.WitnessPage(d)], err = l.witness(dir, d); err != nil {
				return err
			}
		}
	}
	made[l.Page()], err = render("library", struct {
		CSS template.CSS
		L   Library
	}{page.Style(), l})
	return err
}

// witness makes the page of the few ops that show a defect.
func (l Library) witness(dir string, d Defect) ([]byte, error) {
	file := filepath.Join(dir, ResultFolder, filepath.Base(d.Witness))
	h, err := history.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the witness of a defect: %w", err)
	}
	s := reports.Scenario{Name: h.Header.Scenario, Lock: h.Header.Lock, Service: h.Header.Service,
		Fault: h.Header.Fault, Store: "unfenced", Seed: h.Header.Seed,
		About:   "the fewest ops that show it, of a run that had many",
		Recheck: reports.Shell("lockchaos", "check", file), Program: "lockchaos", History: h, Alone: true}
	s.Verdict = checker.Judge(h, checker.Options{})
	var b bytes.Buffer
	err = page.WriteScenario(&b, s)
	return b.Bytes(), err
}

// Page is the name of the library's page.
func (l Library) Page() string { return l.Card.Name + ".html" }

// WitnessPage is the name of the page that shows a defect; "": there is none.
func (l Library) WitnessPage(d Defect) string {
	if d.Witness == "" {
		return ""
	}
	return l.Card.Name + "." + d.Name + ".html"
}

// Again is the command that makes the attack again that showed a defect.
func (l Library) Again(d Defect) string {
	words := []string{"lockchaos", "exam", "--lock-cmd", l.Adapter(), "--service", l.Service}
	if l.TTL > 0 {
		words = append(words, "--ttl", l.TTL.Std().String())
	}
	return reports.Shell(append(words, "--attack", d.Attacks[0], "--seed", fmt.Sprint(d.Seed))...)
}

// Bound is the share of faults, in percent, under which a lock may fall that
// has stood so many, at 95 % confidence (Wilson's interval).
func (l Library) Bound() string {
	_, high := checker.Wilson(0, int64(l.Withstood))
	return fmt.Sprintf("%.2f", 100*high)
}

// Own are the defects that are the library's own: the card does not lay all
// attacks that showed them to somebody else.
func (l Library) Own() (own []Defect) {
	if l.Result == nil {
		return nil
	}
	for _, d := range l.Result.Defects {
		others := 0
		for _, attack := range d.Attacks {
			if l.other(d, attack) != nil {
				others++
			}
		}
		if others == 0 || others < len(d.Attacks) {
			own = append(own, d)
		}
	}
	return own
}

// Further are the defects of the card that its exams here have not shown.
func (l Library) Further() (all []Known) {
	own := l.Own()
	for _, k := range l.Card.Defects {
		if k.ByHand() || !slices.ContainsFunc(own, func(d Defect) bool { return k.seenAs(d) }) {
			all = append(all, k)
		}
	}
	return all
}

// Mark is what tables call a defect of a library.
type Mark struct{ Name, Note string }

// Marks are the defects of the library, as every table names them: those of its
// own exams, and the others of its card.
func (l Library) Marks() (all []Mark) {
	for _, d := range l.Own() {
		all = append(all, Mark{Name: d.Name})
	}
	for _, k := range l.Further() {
		m := Mark{Name: k.Mark()}
		if !k.ByHand() {
			m.Note = "in another exam"
		}
		all = append(all, m)
	}
	return all
}

// seenAs reports whether an exam's defect is this one, by its name or by an attack that shows both.
func (k Known) seenAs(d Defect) bool {
	return slices.Contains(k.Shows, d.Name) || slices.ContainsFunc(d.Attacks,
		func(attack string) bool { return slices.Contains(k.Attacks, attack) })
}

// Broken reports whether a defect of the library is known, from its exams or from its card.
func (l Library) Broken() bool { return len(l.Own()) > 0 || len(l.Card.Defects) > 0 }

// Title says what is known of the library's defects.
func (l Library) Title() string {
	var words []string
	for _, d := range l.Own() {
		words = append(words, d.Words)
	}
	byHand := 0
	further := l.Further()
	for _, k := range further {
		if k.ByHand() {
			byHand++
		}
	}
	if byHand > 0 {
		words = append(words, count(byHand, "defect")+" found by hand")
	}
	if n := len(further) - byHand; n > 0 {
		words = append(words, count(n, "defect")+" that other exams showed")
	}
	switch {
	case len(words) > 0:
		return strings.Join(words, "; ")
	case len(l.Foreign()) > 0:
		return "its exams showed no defect of its own"
	}
	return "its exams showed no defect"
}

// Foreign are the others of the card that an exam has shown.
func (l Library) Foreign() (all []Other) {
	if l.Result == nil {
		return nil
	}
	for _, d := range l.Result.Defects {
		for _, attack := range d.Attacks {
			if o := l.other(d, attack); o != nil {
				all = append(all, *o)
			}
		}
	}
	return all
}

// other is what the card says of a defect under an attack; nil: nothing.
func (l Library) other(d Defect, attack string) *Other {
	i := slices.IndexFunc(l.Others, func(o Other) bool { return o.Defect == d.Name && o.Attack == attack })
	if i < 0 {
		return nil
	}
	return &l.Others[i]
}

// Stood counts the attacks that it stood in every exam.
func (l Library) Stood() int { return l.count(reports.Stood) }

// Inherent counts the attacks under which it fell, and no lock can help it.
func (l Library) Inherent() int { return l.count(reports.FellInherent, reports.FellRelied) }

// Open counts the attacks from which nothing certain follows.
func (l Library) Open() int {
	return l.count(reports.FellUnclear, reports.NothingFollows, reports.NotRun)
}

// Rows are the attacks, the gravest first.
func (l Library) Rows() []Attack {
	all := slices.Clone(l.Attacks)
	slices.SortStableFunc(all, func(a, b Attack) int { return int(a.worst()) - int(b.worst()) })
	return all
}

// Tally tells the fates of the attack.
func (a Attack) Tally() string { return a.tally() }

// Class is the colour of the attack's gravest fate.
func (a Attack) Class() string { return page.FateClass(a.worst()) }

// index is what the first page shows.
type index struct {
	CSS       template.CSS
	libraries []Library
}

// Reports counts the libraries for whose authors there is a report.
func (x index) Reports() int { return len(x.those(func(l Library) bool { return len(l.Reports) > 0 })) }

// Examined are the libraries that have a result, those with defects first.
func (x index) Examined() []Library {
	all := x.those(func(l Library) bool { return l.Result != nil })
	slices.SortStableFunc(all, func(a, b Library) int {
		if a.Broken() == b.Broken() {
			return 0
		}
		if a.Broken() {
			return -1
		}
		return 1
	})
	return all
}

// Reported are those without a result of which a defect is known, Ready the
// others that can be examined, and Elsewhere those that can't be here.
func (x index) Reported() []Library {
	return x.those(func(l Library) bool { return l.Result == nil && l.Broken() })
}

func (x index) Ready() []Library {
	return x.those(func(l Library) bool { return l.Result == nil && l.NotRun == "" && !l.Broken() })
}

func (x index) Elsewhere() []Library {
	return x.those(func(l Library) bool { return l.Result == nil && l.NotRun != "" && !l.Broken() })
}

func (x index) those(are func(Library) bool) []Library {
	return slices.DeleteFunc(slices.Clone(x.libraries), func(l Library) bool { return !are(l) })
}

// Headline sums the survey up.
func (x index) Headline() string {
	all := x.Examined()
	examined, broken := len(all), len(slices.DeleteFunc(all, func(l Library) bool { return !l.Broken() }))
	switch {
	case examined == 0:
		return "No library has been examined yet"
	case broken == 0:
		return fmt.Sprintf("%s examined, and none showed a defect", libraries(examined))
	}
	return fmt.Sprintf("%s examined: %d showed a defect, and %d did not", libraries(examined), broken, examined-broken)
}

func libraries(n int) string {
	if n == 1 {
		return "1 library"
	}
	return fmt.Sprintf("%d libraries", n)
}

func count(n int, word string) string { return fmt.Sprintf("%d %s%s", n, word, spelling.Plural(n)) }

// render makes a page.
func render(template string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, template, data); err != nil {
		return nil, fmt.Errorf("render a page of the survey (%s): %w", template, err)
	}
	return b.Bytes(), nil
}
