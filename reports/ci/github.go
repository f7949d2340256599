package ci

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// annotationsShown is how many annotations of one level GitHub shows for a step;
// those beyond it are not even in the page of the run, so the last one says how many
// there are. (GitHub's documentation: "Workflow commands", limits of annotations.)
const annotationsShown = 10

// githubCommand is the workflow command of each level.
var githubCommand = [...]string{reports.Error: "error", reports.Warning: "warning", reports.Note: "notice"}

// WriteAnnotations writes GitHub's workflow commands, one a line: ::error
// file=…,line=…,title=…::text. What programs under test have said is escaped,
// so that it can neither end a command nor begin one.
func WriteAnnotations(w io.Writer, s reports.Suite) error {
	findings := s.Findings()
	counts := map[reports.Level]int{}
	for _, f := range findings {
		counts[f.Level]++
	}
	written := map[reports.Level]int{}
	for _, f := range findings {
		written[f.Level]++
		switch n := written[f.Level]; {
		case n > annotationsShown:
			continue
		case n == annotationsShown && counts[f.Level] > n:
			f = reports.Finding{Level: f.Level, Rule: "more",
				Text:  fmt.Sprintf("%d more of this level: see the job summary, and junit.xml.", counts[f.Level]-n+1),
				Times: 1, Of: 1}
		}
		if _, err := fmt.Fprintln(w, annotation(f)); err != nil {
			return err
		}
	}
	return nil
}

func annotation(f reports.Finding) string {
	var props []string
	add := func(name, value string) {
		if value != "" {
			props = append(props, name+"="+escapeProperty(phrase.Clip(value, phrase.MostText)))
		}
	}
	add("file", f.File)
	if f.Line > 0 {
		add("line", fmt.Sprint(f.Line))
	}
	title := "lockchaos: " + f.Rule
	if f.Scenario != "" {
		title += ": " + f.Scenario
	}
	add("title", title)
	return "::" + githubCommand[f.Level] + " " + strings.Join(props, ",") + "::" + escapeData(f.Sentence())
}

// The escapes of the runner: of all that follows the last ::, and of a
// property's value (actions/toolkit, packages/core).
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeData(s string) string { return dataEscapes.Replace(s) }

func escapeProperty(s string) string { return propertyEscapes.Replace(s) }
