package reports_test

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestVerdictFile checks that verdict.json is words, not numbers.
func TestVerdictFile(t *testing.T) {
	var v map[string]any
	if err := json.Unmarshal([]byte(reporttest.Text(t,
		func(w io.Writer) error { return reports.WriteVerdict(w, reporttest.ContainedCase()) })), &v); err != nil {
		t.Fatal(err)
	}
	inner, _ := v["verdict"].(map[string]any)
	if v["result"] != "contained" || inner["outcome"] != "violated" || inner["severity"] != "contained" || v["name"] == "" {
		t.Errorf("result %v, outcome %v, severity %v, name %v", v["result"], inner["outcome"], inner["severity"], v["name"])
	}
}
