package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/scenarios"
)

func explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [PROPERTY|KIND|PATTERN|VERDICT|RESULT|ATTACK|CLAIM]",
		Short: "Say what a word of a verdict means, with an example, and what to do",
		Long: `Says what a property, a kind of violation, a pattern, a verdict or the result of an attack means; shows it by the smallest history that has it; and says what to do about it.
It also explains the words of an adapter: what it declares in the reply to hello, such as validity or lost_grace_ms, its errors and its stamps.
Without a word it lists all but the attacks, which lockchaos exam LOCK --dry-run lists. A word that has two meanings is explained in both.`,
		Example: `  lockchaos explain
  lockchaos explain lease-overrun
  lockchaos explain stolen-by-release
  lockchaos explain not judged
  lockchaos explain inherent
  lockchaos explain stop-work
  lockchaos explain lost_grace_ms`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var words []string
			for _, t := range slices.Concat(story.Glossary(), story.Protocol(), attackTerms()) {
				words = append(words, t.Word+"\t"+t.Named())
			}
			if len(args) > 0 {
				words = nil
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listTerms(cmd.OutOrStdout())
			}
			return explainWord(cmd.OutOrStdout(), strings.Join(args, " "))
		},
	}
}

// listTerms lists every word in a line, sort by sort.
func listTerms(w io.Writer) error {
	sort := ""
	var rows [][]string
	for _, t := range slices.Concat(story.Glossary(), story.Protocol()) {
		if t.Sort != sort {
			if sort != "" {
				rows = append(rows, []string{""})
			}
			sort = t.Sort
			rows = append(rows, []string{strings.ToUpper(sort), "WHAT IT MEANS"})
		}
		rows = append(rows, []string{t.Word, t.Brief()})
	}
	if err := terminal.Table(w, rows); err != nil {
		return err
	}
	_, err := harmless.Fprintf(w, "\nMore of each, with an example and what to do: lockchaos explain WORD\n")
	return err
}

// explainWord writes all that there is to say of a word.
func explainWord(w io.Writer, word string) error {
	found, others := story.Explain(word), slices.Concat(story.Protocol(), attackTerms())
	for _, t := range others {
		if strings.EqualFold(t.Word, word) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		var words []string
		for _, t := range slices.Concat(story.Glossary(), others) {
			if !slices.Contains(words, t.Word) {
				words = append(words, t.Word)
			}
		}
		return exit.Misuse(fmt.Errorf("there is no property, kind, pattern, verdict, attack, result of one or word of an adapter named %q%s (all: lockchaos explain)", word, suggest(strings.ToLower(word), words)))
	}
	for i, t := range found {
		if i > 0 {
			harmless.Fprintln(w)
		}
		if err := story.WriteTerm(w, t, screen.New(w).Width); err != nil {
			return fmt.Errorf("explain %s: %w", t.Word, err)
		}
	}
	return nil
}

// attackTerms explain the attacks of the exam.
func attackTerms() (terms []story.Term) {
	exam, err := scenarios.Attacks()
	if err != nil {
		return nil // a test reads the table
	}
	for _, a := range exam.Attacks {
		terms = append(terms, story.Term{Word: a.Name, Sort: "attack", See: "exam.md#attacks",
			Means: phrase.Stop(phrase.Sentence(a.About)) + " Meanwhile: " + phrase.Stop(exam.Applications[a.Application].About),
			Do:    "To make it alone: lockchaos exam LOCK --attack " + a.Name + ". If a lock fell by it, the outcome says whose affair that is: lockchaos explain inherent."})
	}
	return terms
}
