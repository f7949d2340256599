package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/adapter/skeleton"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/oracle/opinion"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// shells are those whose completion can be written.
var shells = []struct {
	name  string
	write func(root *cobra.Command, w io.Writer) error
}{
	{"bash", func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
	{"zsh", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
}

func completionCommand() *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use:   "completion " + strings.Join(names, "|"),
		Short: "Print the script that completes lockchaos's words in a shell",
		Long: `Prints a script for the shell. It completes commands and flags, and from this program's own catalogue the names of suites, scenarios, locks, services, faults and
properties.`,
		Example: `  source <(lockchaos completion bash)                            # this shell; needs the package bash-completion
  lockchaos completion bash > /etc/bash_completion.d/lockchaos
  lockchaos completion zsh > "${fpath[1]}/_lockchaos"
  lockchaos completion fish > ~/.config/fish/completions/lockchaos.fish`,
		ValidArgs: names,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return exit.Misuse(fmt.Errorf("completion for which shell? one of %s", join(names)))
			case !slices.Contains(names, args[0]):
				return exit.Misuse(fmt.Errorf("there is no completion for %q (there are %s)%s", args[0], join(names),
					suggest(args[0], names)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					return s.write(cmd.Root(), cmd.OutOrStdout())
				}
			}
			return errors.New("no such shell")
		},
	}
}

// flagWords are the words that flags take, by the flags' names, in whatever command they stand.
func flagWords() map[string][]string {
	known := catalogue()
	var kinds []string
	for _, k := range nemesis.Kinds() {
		kinds = append(kinds, k.Name)
	}
	var languages []string
	for _, l := range skeleton.Languages() {
		languages = append(languages, l.Name)
	}
	return map[string][]string{
		"runtime": runtimes.Names(), "format": outputForms(), "scale": {scaleTest, scaleReal}, "oracle": {opinion.Name},
		"lock": known.Locks, "locks": append([]string{pick.AllLocks}, known.Locks...),
		"fault": kinds, "service": append([]string{scenarios.NoService}, known.Services...),
		"property": checker.Names(), "until": {experiments.UntilViolated, experiments.UntilUnexpected},
		"lang": languages,
	}
}

// complete teaches every command below root to complete its words.
func complete(root *cobra.Command) {
	words := map[string]cobra.CompletionFunc{
		"run": completeScenarios, "gate": completeYAML, "init": cobra.NoFileCompletions,
		"doctor": cobra.NoFileCompletions, "clean": cobra.NoFileCompletions,
		"report": completeFolders, "rerun": completeFolders, "shrink": completeFolders, "serve": completeFolders,
		"man": completeFolders,
	}
	flags := flagWords()
	for _, cmd := range root.Commands() {
		if f, ok := words[cmd.Name()]; ok && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			cmd.ValidArgsFunction = f
		}
		for _, c := range append(cmd.Commands(), cmd) {
			c.Flags().VisitAll(func(f *pflag.Flag) { completeFlag(c, f, flags[f.Name]) })
		}
	}
}

func completeFlag(cmd *cobra.Command, f *pflag.Flag, words []string) {
	var how cobra.CompletionFunc
	switch {
	case len(words) > 0:
		how = func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeList(typed, words)
		}
	case f.Name == "plan":
		how = completeYAML
	case f.Name == "out" || f.Name == "dir":
		how = completeFolders
	default:
		return
	}
	// it says no where the command has completed the flag itself
	_ = cmd.RegisterFlagCompletionFunc(f.Name, how)
}

// completeList completes the last of words that are joined by commas.
func completeList(typed string, words []string) (out []string, _ cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	for _, w := range words {
		out = append(out, before+w)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func completeYAML(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func completeFolders(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeScenarios completes suites and locks and, behind a slash, scenarios;
// where no name begins so, files.
func completeScenarios(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	suites, err := ours().Suites()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var all []string
	add := func(name, about string) {
		if about != "" {
			about = "\t" + about
		}
		if strings.HasPrefix(name, typed) && !slices.Contains(args, name) &&
			!slices.ContainsFunc(all, func(known string) bool { return cutTab(known) == name }) {
			all = append(all, name+about)
		}
	}
	add(pick.Random, "suite: drawn from the seed")
	for _, suite := range suites {
		add(suite.Name, "suite: "+suite.About)
		for _, s := range suite.Scenarios {
			if strings.Contains(typed, "/") {
				add(s.Name, s.About)
				continue
			}
			if lock, _, below := strings.Cut(s.Name, "/"); below {
				add(lock, "all scenarios of the lock")
			}
		}
	}
	if len(all) == 0 {
		return completeYAML(cmd, args, typed)
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func cutTab(s string) string {
	name, _, _ := strings.Cut(s, "\t")
	return name
}
