package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// selection says which scenarios of those that are named are meant, for `run` and `list scenarios` alike.
type selection struct {
	locks, faults []string
	lastFailed    bool
}

func (s *selection) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&s.locks, "lock", nil, "only scenarios of these locks (lockchaos list locks)")
	flags.StringSliceVar(&s.faults, "fault", nil, `only scenarios with these kinds of faults (lockchaos list faults), or "`+noFault+`"`)
	flags.BoolVar(&s.lastFailed, "last-failed", false, "only scenarios of the latest run (in --out) that did not come out as they should: not as expected, inconclusive, or failed")
	_ = cmd.RegisterFlagCompletionFunc("fault", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completeList(typed, faultWords())
	})
}

// noFault is the word of --fault for scenarios in which nothing is disturbed.
const noFault = "none"

// faultWords are those of --fault.
func faultWords() []string {
	words := []string{noFault}
	for _, k := range nemesis.Kinds() {
		words = append(words, k.Name)
	}
	return words
}

// check refuses words that no scenario could have.
func (s selection) check() error {
	known := map[string][]string{"--lock": catalogue().Locks, "--fault": faultWords()}
	for _, flag := range []struct {
		name  string
		words []string
	}{{"--lock", s.locks}, {"--fault", s.faults}} {
		for _, word := range flag.words {
			if !slices.Contains(known[flag.name], word) {
				return exit.Misuse(fmt.Errorf("%s: there is no %s named %q%s (all: lockchaos list %ss)", flag.name, flag.name[2:], word, suggest(word, known[flag.name]), flag.name[2:]))
			}
		}
	}
	return nil
}

// takes reports whether a scenario has one of the locks and one of the faults.
func (s selection) takes(sc scenarios.Scenario) bool {
	return (len(s.locks) == 0 || slices.Contains(s.locks, sc.Lock)) && (len(s.faults) == 0 || slices.ContainsFunc(s.faults, func(kind string) bool { return strikes(sc, kind) }))
}

// strikes reports whether a fault of the kind is among those of the scenario, alone or as a part of a combination.
func strikes(sc scenarios.Scenario, kind string) bool {
	if kind == noFault {
		return len(sc.Faults) == 0
	}
	return slices.ContainsFunc(sc.Faults, func(f scenarios.Fault) bool {
		return slices.ContainsFunc(f.Singles(), func(one scenarios.Fault) bool { return one.Kind == kind })
	})
}

// of leaves the scenarios that are meant.
func (s selection) of(all []scenarios.Scenario) ([]scenarios.Scenario, error) {
	left := slices.DeleteFunc(slices.Clone(all), func(sc scenarios.Scenario) bool { return !s.takes(sc) })
	if len(left) == 0 && len(all) > 0 {
		return nil, exit.Misuse(fmt.Errorf("none of %d scenarios is left by %s", len(all), strings.TrimSpace(strings.Join(s.words(), " "))))
	}
	return left, nil
}

// words are those of the command line that say it again.
func (s selection) words() (line []string) {
	if len(s.locks) > 0 {
		line = append(line, "--lock", strings.Join(s.locks, ","))
	}
	if len(s.faults) > 0 {
		line = append(line, "--fault", strings.Join(s.faults, ","))
	}
	if s.lastFailed {
		line = append(line, "--last-failed")
	}
	return line
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
