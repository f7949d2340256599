package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// GateText tells a ruling in a terminal: what fails the gate, what is warned
// of, what is known, and the result.
func GateText(w io.Writer, g reports.Gate, s reports.Suite, color bool) error {
	var b strings.Builder
	paint := func(style, text string) string {
		if !color {
			return text
		}
		return style + text + ansiReset
	}
	styles := [...]string{reports.Error: resultANSI[reports.Violated], reports.Warning: resultANSI[reports.Contained],
		reports.Note: ansiDim}
	count := [len(styles)]int{}
	fmt.Fprintf(&b, "\ngate %s\n", phrase.OneLine(phrase.Clip(g.Policy, phrase.MostName)))
	for _, f := range s.Findings() {
		count[f.Level]++
		name := f.Rule
		switch {
		case f.Scenario != "":
			name = f.Scenario + ": " + f.Rule
		case f.File != "":
			name += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
		}
		lines := strings.Split(f.Sentence(), "\n")
		fmt.Fprintf(&b, "  %s  %s\n", paint(styles[f.Level], fmt.Sprintf("%-7s", f.Level)),
			phrase.OneLine(phrase.Clip(name, phrase.MostText)))
		for _, line := range lines {
			fmt.Fprintf(&b, "           %s\n", phrase.OneLine(line))
		}
	}
	var tail []string
	for level, word := range [...]string{reports.Error: "error", reports.Warning: "warning", reports.Note: "note"} {
		if count[level] > 0 {
			tail = append(tail, phrase.Plural(count[level], word))
		}
	}
	fmt.Fprintf(&b, "%s %s (%s)\n", paint(gateStyle(g.Exit), "gate "+g.Word()+":"), phrase.OneLine(g.Why(s)),
		strings.Join(append([]string{phrase.Plural(len(s.Scenarios), "run")}, tail...), ", "))
	_, err := io.WriteString(w, b.String())
	return err
}

func gateStyle(exit int) string {
	if exit == 0 {
		return ansiBold + resultANSI[reports.Pass]
	}
	return ansiBold + resultANSI[reports.Violated]
}
