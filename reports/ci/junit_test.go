package ci

import (
	"encoding/xml"
	"io"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestGoldenJUnit does the same for the file that CI systems read.
func TestGoldenJUnit(t *testing.T) {
	reporttest.Golden(t, "junit.golden.xml", reporttest.Text(t, func(w io.Writer) error { return WriteJUnit(w, reporttest.Mixed()) }))
}

// TestJUnit checks the counts that CI systems go by.
func TestJUnit(t *testing.T) {
	var run junitRun
	if err := xml.Unmarshal([]byte(reporttest.Text(t,
		func(w io.Writer) error { return WriteJUnit(w, reporttest.Mixed()) })), &run); err != nil {
		t.Fatal(err)
	}
	skipped := 0
	for _, x := range run.Suites {
		skipped += x.Skipped
	}
	if run.Tests != 7 || run.Failures != 2 || run.Errors != 1 || skipped != 1 {
		t.Errorf("tests %d, failures %d, errors %d, skipped %d", run.Tests, run.Failures, run.Errors, skipped)
	}
}
