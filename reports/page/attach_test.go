package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestAttached takes the files out of a page again: the history must be the one
// that the verdict was found in.
func TestAttached(t *testing.T) {
	s := reporttest.CorruptedCase()
	s.Attached = []reports.Attachment{{Name: "plan.yaml", Data: []byte("lock: redis-setnx\n")},
		{Name: "../../\"><script>", Data: []byte("x")}}
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`href="data:application/gzip;base64,([^"]*)" download="([^"]*)\.gz"`).FindAllStringSubmatch(reportOf(t, s), -1) {
		packed, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(m[1], "&#43;", "+"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		got[m[2]] = string(text)
	}
	if len(got) != 4 || got["plan.yaml"] != "lock: redis-setnx\n" || !strings.Contains(got["verdict.json"], `"result": "corrupted"`) {
		t.Errorf("%d files", len(got))
	}
	var want bytes.Buffer
	if err := s.History.Encode(&want); err != nil {
		t.Fatal(err)
	}
	if got["history.jsonl"] != want.String() {
		t.Error("the history that the page carries is another one")
	}
	if h, err := history.ReadAll(strings.NewReader(got["history.jsonl"]), "carried"); err != nil || len(h.Events) != len(s.History.Events) {
		t.Errorf("the history that the page carries: %v", err)
	}
	for _, s := range []reports.Scenario{reporttest.SkippedCase(), reporttest.FailedCase()} {
		if strings.Contains(reportOf(t, s), "history.jsonl.gz") {
			t.Errorf("%s carries a history that does not exist", s.Name)
		}
	}
}
