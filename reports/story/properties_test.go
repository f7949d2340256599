package story_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/story"
	"golang.org/x/net/html"
)

// TestPropertiesInWords holds what a page says of each property to what was
// last read. After a change: go test ./reports -update, and read again.
func TestPropertiesInWords(t *testing.T) {
	var out strings.Builder
	for _, x := range reporttest.Scenes {
		s := x.Make()
		s.Events = append(s.Events, history.Event{Type: history.Watermark, Time: 9000 * reporttest.Ms,
			Start: 9000 * reporttest.Ms}, history.Event{Type: history.End, Time: 9000 * reporttest.Ms})
		v := checker.Judge(&s.History, checker.Options{})
		if r := v.Property(x.Property); r == nil || r.Outcome != checker.Violated {
			t.Fatalf("%s: %+v", x.Property, r)
		}
		// The page of a run in which nothing else was found.
		for i := range v.Properties {
			if p := &v.Properties[i]; p.Name != x.Property && p.Outcome == checker.Violated {
				p.Outcome, p.Count, p.Violations = checker.Pass, 0, nil
			}
		}
		scene := reporttest.Scenario("a-lock/none/unfenced", &s.History, v)
		page := html.UnescapeString(reportOf(t, scene))
		r := reports.NewRecord(&s.History, v)
		told := story.Retell(r, scene, &v.Property(x.Property).Violations[0], nil)
		title := story.Headline(scene, &told).String()
		lede, _ := story.Lede(scene, r, &told)
		fmt.Fprintf(&out, "%s: %s\n  demands: %s\n  %s\n", x.Property, title, checker.Named(x.Property).Words.Demands, lede)
		for _, m := range told.Moments {
			fmt.Fprintf(&out, "  - %s %s\n", phrase.At(m.At), m.Text)
		}
		for _, p := range story.Advice(scene, &s.Header, &told) {
			fmt.Fprintf(&out, "  > %s %s\n", p.Lead, p.Text)
		}
		out.WriteString("\n")
		for _, part := range []string{title, checker.Named(x.Property).Words.Demands} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: the page does not say %q", x.Property, part)
			}
		}
	}
	const path = "testdata/properties.golden.txt"
	if *reporttest.Update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != out.String() {
		t.Errorf("the words have changed; got\n%s\nwant\n%s", out.String(), want)
	}
	for _, p := range checker.Properties() {
		if checker.Named(p.Name).Words.Demands == "" {
			t.Errorf("%s has no words", p.Name)
		}
	}
}
