package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// mendedFolder is where attacks lie that an exam makes again on an application
// that avoids the first defect. It is the folder of a run of its own.
const mendedFolder = "mended"

// mostMended is how many attacks an exam makes again at most, each once: without
// it an exam of a lock that falls by all attacks would last twice as long.
const mostMended = 12

// mend makes attacks again that fell, on an application that avoids the step in
// which the first defect lives, and notes in the exam's record what came of it.
// Its error says what could not be written.
func (s *Run) mend(ctx context.Context) error {
	if s.Exam == nil || s.Settings.Unmasked || s.Settings.Shard.Total > 0 || ctx.Err() != nil {
		return nil
	}
	suite := s.record.Together(s.Results)
	defect, fell := suite.FirstHiding(), suite.ByFate(reports.FellDefect)
	if defect == "" {
		return nil
	}
	m := &reports.Mended{Defect: defect, Fell: len(fell)}
	s.record.Exam.Mended = m
	plans, apart, avoids, why := s.masked(defect, fell)
	if why != "" {
		m.Unknown(why)
		return nil
	}
	m.Avoids, m.Dir = avoids, mendedFolder
	s.Screen.Say("made again on an application that " + avoids + ": " + reports.MadeAgain(len(plans), len(fell)))
	again := &Run{Settings: s.Settings, Name: s.Name + ", first defect mended",
		About: "attacks made again on an application that " + avoids, Plans: plans, Command: s.Command,
		Screen: s.Screen, Where: s.Where, Alone: s.Alone, Exam: &reports.Exam{Lock: s.Exam.Lock, Avoids: avoids},
		late: s.late}
	again.Settings.Retries = 0
	dir := filepath.Join(s.Dir, mendedFolder)
	if err := os.Mkdir(dir, 0o755); err != nil {
		m.Unknown("there was no folder for more attacks")
		return fmt.Errorf("make the folder of attacks that are made again: %w", err)
	}
	s.Screen.Add(len(plans))
	again.Prepare(dir, time.Now())
	again.Launch(ctx, make(chan struct{}, s.Settings.Parallel))()
	came, err := again.Finish()
	s.interrupted = s.interrupted || again.interrupted
	for _, x := range came.Scenarios {
		m.Attacks = append(m.Attacks, x.Fault)
	}
	if m.Judge(append(came.Scenarios, apart...), fell); len(came.Scenarios) == 0 {
		m.Unknown("--budget left no time for it")
	}
	return err
}

// masked are the plans of the fallen attacks that are made again, and what
// their application does; why says why there are none. The attacks apart need
// not be made again: their application avoids the step already.
func (s *Run) masked(defect string, fell []reports.Scenario) (plans []scenarios.Plan, apart []reports.Scenario, avoids,
	why string) {
	table, err := scenarios.Attacks()
	if err != nil {
		return nil, nil, "", err.Error()
	}
	var all, shownBy []scenarios.Scenario
	another := map[string]bool{} // attacks that showed another defect, too
	for _, x := range fell {
		i := slices.IndexFunc(s.Plans, func(p scenarios.Plan) bool { return p.Scenario.Name == x.Name })
		p, own := s.prepared(s.Plans[i], 1).Scenario, x.OwnDefects()
		all = append(all, p)
		if slices.Contains(own, defect) {
			shownBy = append(shownBy, p)
		}
		another[p.Attack] = slices.ContainsFunc(own, func(d string) bool { return d != defect })
	}
	mask, found := scenarios.MaskOf(defect, shownBy)
	if !found {
		return nil, nil, "", "no application avoids it"
	}
	var again []scenarios.Scenario
	for i, f := range all {
		if !mask.Takes(f) {
			apart = append(apart, fell[i])
		} else if a, made := mask.Of(f); made {
			again = append(again, a)
		}
	}
	if len(again) == 0 {
		return nil, nil, "", "each attack strikes at the step that an application would have to avoid"
	}
	again = table.MostTelling(mostMended, again, func(a scenarios.Scenario) bool { return another[a.Attack] })
	for _, a := range again {
		plans = append(plans, scenarios.Plan{Seed: s.Plans[0].Seed, Scenario: a})
	}
	return plans, apart, mask.About, ""
}
