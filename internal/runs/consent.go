package runs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Starts says what plans have started that does not come with lockchaos: adapters,
// hooks that are commands, and containers and clusters, by the words that chose
// them. The author of a plan chose these, so a plan from elsewhere is a program.
func Starts(plans []scenarios.Plan, where []string) (starts []string) {
	add := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(starts, text) {
			starts = append(starts, text)
		}
	}
	for i := range plans {
		s := &plans[i].Scenario
		switch a := s.Adapter; {
		case a.Command != "":
			dir, _ := filepath.Abs(a.Dir) // none: the folder of this process
			add("in %s: %s", reports.Shell(dir), a.Command)
		case a.Go != "":
			add("the Go program in %s", reports.Shell(a.Go))
		}
		if s.App != nil {
			for _, command := range s.App.Hooks.Run() {
				add("in the containers of %s: %s", strings.Join(s.App.Clients, ", "), reports.Shell(command...))
			}
		}
	}
	if len(where) > 0 {
		add("on what these words choose: %s", reports.Shell(where...))
	}
	return starts
}

// started is where it is noted that the user has started something.
func started(what string) (file string, err error) {
	return sim.CacheEntry(sim.Started, fmt.Sprintf("%x", sha256.Sum256([]byte(what))))
}

// Remember notes what the user has started, so that it is not asked about
// again. What can't be noted is asked about.
func Remember(starts []string) {
	for _, what := range starts {
		if file, err := started(what); err == nil {
			_ = os.WriteFile(file, []byte(what+"\n"), 0o600)
		}
	}
}

// Unknown returns what this user has not started on this machine before.
func Unknown(starts []string) (unknown []string) {
	for _, what := range starts {
		file, err := started(what)
		if err == nil {
			_, err = os.Stat(file)
		}
		if err != nil {
			unknown = append(unknown, what)
		}
	}
	return unknown
}
