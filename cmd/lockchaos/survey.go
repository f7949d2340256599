package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/survey"
)

const surveyHelp = `Examines lock libraries that people use. Each folder of survey/ is one: an adapter, and a card that says what the library promises.

  lockchaos survey run redis-semaphore    install it, try its adapter, and examine it ten times
  lockchaos survey site                   make the pages in build/survey, the table in docs/survey.md and the list in docs/track-record.md`

func surveyCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "survey",
		Short: "Examine the lock libraries that people use",
		Long:  surveyHelp,
	}
	ofVerbs(cmd)
	cmd.PersistentFlags().StringVar(&dir, "dir", "survey", "the folder of the libraries")
	cmd.AddCommand(surveyRunCommand(&dir), surveySiteCommand(&dir))
	return cmd
}

func surveySiteCommand(dir *string) *cobra.Command {
	var to, table, record string
	cmd := &cobra.Command{
		Use:     "site",
		Short:   "Make the survey's pages from the cards and what the exams came to",
		Example: "  lockchaos survey site",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := survey.Site(*dir, to)
			if err == nil {
				err = errors.Join(survey.Table(*dir, table), survey.TrackRecord(*dir, record))
			}
			if err != nil {
				return exit.Misuse(err)
			}
			harmless.Fprintf(cmd.OutOrStdout(), "the survey: %s\n", reports.There(filepath.Join(to, reports.IndexFile)))
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", filepath.Join("build", "survey"), "the folder of the pages")
	cmd.Flags().StringVar(&table, "table", filepath.Join("docs", "survey.md"),
		"the page whose table of the libraries is made from the cards and results, if it is there")
	cmd.Flags().StringVar(&record, "record", filepath.Join("docs", "track-record.md"),
		"the page whose list of defects is made from the cards, if it is there")
	return cmd
}

func surveyRunCommand(dir *string) *cobra.Command {
	s := survey.Exams{Tool: ours()}
	cmd := &cobra.Command{
		Use:   "run [NAME…]",
		Short: "Install libraries, try their adapters, and examine them",
		Long: `Installs each library as its card says, tries its adapter (lockchaos adapter test), and examines it again and again with other seeds
(lockchaos exam). What came of it is kept in the folder results of the survey, with the few ops that show each defect;
with --short or --attack, in a folder results among the runs, because the pages tell of whole exams.

Exit status: 0 every library was examined, whatever it showed, 3 one could not be, 64 wrong usage.`,
		Example: `  lockchaos survey run redsync kazoo
  lockchaos survey run --exams 1 --short`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Dir, s.Told, s.Errs = *dir, cmd.OutOrStdout(), cmd.ErrOrStderr()
			if s.Count < 1 {
				return exit.Misuse(errors.New("--exams is at least 1"))
			}
			cards, err := survey.Cards(s.Dir)
			if err == nil {
				cards, err = survey.Select(cards, args)
			}
			if err != nil {
				return exit.Misuse(err)
			}
			return s.Run(cmd.Context(), cards)
		},
	}
	cmd.Flags().IntVar(&s.Count, "exams", 10, "how many exams of each library, with the seeds 1, 2, 3 …")
	cmd.Flags().BoolVar(&s.Short, "short", false, "make only the most telling attacks, about a third")
	cmd.Flags().StringSliceVar(&s.Attacks, "attack", nil, "make only these attacks")
	cmd.Flags().StringVar(&s.Out, "out", filepath.Join("runs", "survey"),
		"where the runs are kept, a folder for each library")
	return cmd
}
