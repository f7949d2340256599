package ci

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// summaryRows bounds the table of a summary: GitHub cuts a step's summary at 1 MiB.
const summaryRows = 300

// WriteSummary writes a run as Markdown, for the summary of a CI job or a
// comment: the headline, what needs attention, a table of all scenarios. Texts
// of programs under test stay text: they can't become markup or rows.
func WriteSummary(w io.Writer, s reports.Suite) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s lockchaos: %s\n\n", summaryMark(s), markdown(s.Name))
	fmt.Fprintf(&b, "%s\n\n", markdown(story.SuiteHeadline(s)))
	for _, text := range s.StandIns {
		fmt.Fprintf(&b, "> **Stand-in:** %s\n\n", markdown(text))
	}
	findings := s.Findings()
	for i, f := range findings {
		if i == summaryRows {
			fmt.Fprintf(&b, "\n… and %d more.\n", len(findings)-i)
			break
		}
		if i == 0 {
			b.WriteString("| | scenario | what | how it showed |\n|---|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", levelMarks[f.Level], TableText(f.Scenario), TableText(f.Rule),
			cell(f))
	}
	if len(findings) > 0 {
		b.WriteString("\n")
	}
	summaryTable(s, &b)
	fmt.Fprintf(&b, "\n<sub>lockchaos %s, %s, seed %d, %s. Again: <code>%s</code></sub>\n", markdown(s.Version),
		markdown(s.Runtime), s.Seed, phrase.Span(int64(s.Elapsed)),
		markdown(s.Command))
	_, err := io.WriteString(w, b.String())
	return err
}

// summaryTable lists every scenario, folded away: the findings above are what needs a reader.
func summaryTable(s reports.Suite, b *strings.Builder) {
	fmt.Fprintf(b, "<details><summary>All %s</summary>\n\n", phrase.Plural(len(s.Scenarios), "run"))
	b.WriteString("| scenario | result | figures | as expected | time |\n|---|---|---|---|---|\n")
	for i, x := range s.Scenarios {
		if i == summaryRows {
			fmt.Fprintf(b, "\n… and %d more.\n", len(s.Scenarios)-i)
			break
		}
		fmt.Fprintf(b, "| %s | %s %s | %s | %s | %s |\n", TableText(x.Name), x.Result().Mark(), x.Result(),
			TableText(x.Detail()), asExpected(x), phrase.Span(int64(x.Elapsed)))
	}
	b.WriteString("\n</details>\n")
}

func asExpected(x reports.Scenario) string {
	switch {
	case x.Result() == reports.Skipped:
		return "not run"
	case x.Result() == reports.Failed:
		return "failed"
	case x.Met:
		return "yes"
	case x.Undecided() && x.Result() == reports.Inconclusive:
		return "open"
	}
	return "**no**"
}

var levelMarks = [...]string{reports.Error: "❌", reports.Warning: "⚠️", reports.Note: "ℹ️"}

// summaryMark is the mark of the worst finding.
func summaryMark(s reports.Suite) string {
	if all := s.Findings(); len(all) > 0 && all[0].Level != reports.Note { // the worst first
		return levelMarks[all[0].Level]
	}
	return "✅"
}

func cell(f reports.Finding) string {
	text := TableText(f.Text)
	if f.Of > 1 {
		text = fmt.Sprintf("In %d of %d runs. In the first of them: ", f.Times, f.Of) + text
	}
	if f.Known != "" {
		text += " **Known:** " + TableText(f.Known)
	}
	if f.Level == reports.Error && f.Again != "" {
		text += "<br><code>" + TableText(f.Again) + "</code>"
	}
	return text
}

// TableText makes a text fit for a cell of a table.
func TableText(s string) string { return markdown(phrase.OneLine(phrase.Clip(s, phrase.MostText))) }

// markdown makes a text that stands for itself in GitHub's Markdown: its
// punctuation is written as HTML's numeric references, so that nothing in it is
// markup, the text of a link or the border of a cell.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range phrase.Clip(s, phrase.MostText) {
		switch {
		case strings.ContainsRune("\\`*_{}[]()#!|~@:^$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		default:
			b.WriteString(html.EscapeString(string(r)))
		}
	}
	return b.String()
}
