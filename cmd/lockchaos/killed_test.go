package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/reports"
)

// A run that was killed can be reported: what had not begun is said to have not
// been run, and is no pass.
func TestReportOfAKilledRun(t *testing.T) {
	dir := t.TempDir()
	run := runs.Record{Suite: "quick", Started: time.Unix(0, 0),
		Scenarios: []runs.ScenarioRecord{{Name: "a", Dir: "a", State: runs.StateWaiting}}}
	if err := run.Save(dir); err != nil {
		t.Fatal(err)
	}
	_, suite, err := ours().JudgeRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if sc := suite.Scenarios[0]; sc.Result() != reports.Failed || !strings.Contains(sc.Failed, "not run") {
		t.Errorf("%v: %s", sc.Result(), sc.Failed)
	}
}
