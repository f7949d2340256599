package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/runs/pick"
)

// addSelection adds the flags of `run` and `list scenarios` that leave fewer scenarios.
func addSelection(cmd *cobra.Command, s *pick.Selection) {
	flags := cmd.Flags()
	flags.StringSliceVar(&s.Locks, "lock", nil, "only scenarios of these locks (lockchaos list locks)")
	flags.StringSliceVar(&s.Faults, "fault", nil, `only scenarios with these kinds of faults (lockchaos list faults), or "`+pick.NoFault+`"`)
	flags.BoolVar(&s.LastFailed, "last-failed", false, "only scenarios of the latest run (in --out) that did not come out as they should: not as expected, inconclusive, or failed")
	_ = cmd.RegisterFlagCompletionFunc("fault", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completeList(typed, pick.FaultWords())
	})
}

// matches reports whether a scenario's name fits a pattern: it contains the pattern, or, with * for any text, is of its form.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return strings.Contains(name, pattern)
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
