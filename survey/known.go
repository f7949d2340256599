package survey

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/strictyaml"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Known is a defect of the library that is certain: somebody looked at it by
// hand. The site's pages and the list in the track record are both made from it.
type Known struct {
	// Release is the library with the version that has the defect.
	Release string `yaml:"release"`
	// What happens, as a clause in Markdown.
	What string `yaml:"what"`
	// Attacks show it in an exam; none: it was found by hand. Shows is what the exam calls it then.
	Attacks []string `yaml:"attacks"`
	Shows   []string `yaml:"shows"`
	// Upstream says, in Markdown, what is known of it where the library is made; "": nobody looked.
	Upstream string `yaml:"upstream"`
	// Repro is the program beside the report that shows it without lockchaos; "": there is none.
	Repro string `yaml:"repro"`
	// Times says how often that showed it: "10 of 10".
	Times string `yaml:"times"`
	// Report leads from the card's folder to what is told of it; "": to report.md there.
	Report string `yaml:"report"`
}

// checkDefects notes what the defects of a card lack.
func (c *Card) checkDefects(m *strictyaml.Mistakes) {
	for i, k := range c.Defects {
		at := fmt.Sprintf("$.defects[%d]", i)
		if k.Release == "" || k.What == "" {
			m.Add(at, "a defect has the release that has it, and what happens (release, what)")
		}
		if len(k.Shows) > 0 && len(k.Attacks) == 0 {
			m.Add(at, "what a defect shows is what an exam calls it: by which attacks? A defect that was found by hand has neither")
		}
		if _, err := os.Stat(c.reportOf(k)); err != nil {
			m.Add(at, "there is no report of it: %v", err)
		}
	}
}

// reportOf is the file that tells of a defect.
func (c *Card) reportOf(k Known) string {
	if k.Report == "" {
		return filepath.Join(c.Dir, "report.md")
	}
	return filepath.Join(c.Dir, filepath.FromSlash(k.Report))
}

// ByHand reports whether no exam has shown the defect.
func (k Known) ByHand() bool { return len(k.Attacks) == 0 }

// Mark is what tables call the defect.
func (k Known) Mark() string {
	switch {
	case k.ByHand():
		return "by hand"
	case len(k.Shows) == 0:
		return "a defect"
	}
	return strings.Join(k.Shows, ", ")
}

// How says how the defect was found, in Markdown: by which attacks, or by hand.
func (k Known) How() string {
	if k.ByHand() {
		return "Found by hand."
	}
	attacks := "`" + strings.Join(k.Attacks, "`, `") + "`"
	if len(k.Shows) > 0 {
		attacks += ": " + strings.Join(k.Shows, ", ")
	}
	return "Attack: " + attacks + "."
}

// entry tells the defect in the track record; way leads to its report.
func (k Known) entry(way string) string {
	text := k.What + ". " + k.How()
	if k.Upstream != "" {
		text += " Upstream: " + k.Upstream + "."
	}
	if k.Repro == "" {
		return text + fmt.Sprintf(" Not yet shown without lockchaos: see [what is known](%s).", way)
	}
	text += fmt.Sprintf(" Shown by [%s](%s)", k.Repro, way)
	if k.Times != "" {
		text += ", " + k.Times
	}
	return text + "."
}

// What is made of a page in Markdown stands between these lines.
const (
	madeBegin = "<!-- made by lockchaos survey site from the survey's cards and results: -->\n"
	madeEnd   = "<!-- end of what is made -->\n"
)

// listWidth is where the lines of the list are wrapped.
const listWidth = 100

// list is that of the track record: the defects of all cards by release, and what
// exams have shown that nobody has looked at yet. folder is that of the track record.
func list(all []Library, folder string) (string, error) {
	var releases []string
	entries := map[string][]string{}
	for _, l := range all {
		for _, k := range l.Card.Defects {
			way, err := filepath.Rel(folder, l.reportOf(k))
			if err != nil {
				return "", fmt.Errorf("find the way to a report: %w", err)
			}
			if !slices.Contains(releases, k.Release) {
				releases = append(releases, k.Release)
			}
			// of two folders, say
			if one := k.entry(filepath.ToSlash(way)); !slices.Contains(entries[k.Release], one) {
				entries[k.Release] = append(entries[k.Release], one)
			}
		}
	}
	var b strings.Builder
	for _, r := range releases {
		b.WriteString(item("- ", "**"+r+"**"))
		for _, one := range entries[r] {
			b.WriteString(item("  - ", one))
		}
	}
	if open := unexplained(all); len(open) > 0 {
		b.WriteString("\nExams showed these too. Nobody has looked at them by hand yet, so it is not certain whose they are:\n\n")
		for _, one := range open {
			b.WriteString(item("- ", one))
		}
	}
	return b.String(), nil
}

// unexplained are what exams have shown of libraries whose cards tell of no defect.
func unexplained(all []Library) (lines []string) {
	for _, l := range all {
		if len(l.Card.Defects) > 0 {
			continue
		}
		for _, d := range l.Own() {
			lines = append(lines, fmt.Sprintf("**%s**: %s, under `%s`.", l.Version, d.Name,
				strings.Join(d.Attacks, "`, `")))
		}
	}
	return lines
}

// item is an item of a list in Markdown, wrapped.
func item(mark, text string) string {
	indent := strings.Repeat(" ", len(mark))
	return mark + strings.ReplaceAll(phrase.Wrap(text, listWidth-len(mark)), "\n", "\n"+indent) + "\n"
}

// TrackRecord writes the list of defects anew into a page, and Table the table
// of the libraries: between two lines that the page has. A page that is not
// there is left so: a survey of one's own has none.
func TrackRecord(dir, file string) error { return fill(dir, file, list) }

// Table writes the table of the libraries anew into a page, as TrackRecord does.
func Table(dir, file string) error { return fill(dir, file, table) }

// fill writes what is made of the libraries into a page; made is told the page's folder.
func fill(dir, file string, made func(all []Library, folder string) (string, error)) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a page of the survey: %w", err)
	}
	before, rest, begins := bytes.Cut(text, []byte(madeBegin))
	_, after, ends := bytes.Cut(rest, []byte(madeEnd))
	if !begins || !ends {
		return fmt.Errorf("%s has no place for what is made of the survey: want the lines %q and %q", file,
			strings.TrimSpace(madeBegin), strings.TrimSpace(madeEnd))
	}
	all, err := Libraries(dir)
	if err != nil {
		return err
	}
	now, err := made(all, filepath.Dir(file))
	if err != nil {
		return err
	}
	return os.WriteFile(file, slices.Concat(before, []byte(madeBegin+"\n"+now+"\n"+madeEnd), after), 0o644)
}
