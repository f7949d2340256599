package page

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// Each fall is listed and drawn, leads to its page, and is escaped; an empty cell gives its reason.
func TestCompleteIsDrawnAndListed(t *testing.T) {
	defect, stood := reports.FellDefect.String(), reports.Stood.String()
	c := studies.Complete{Lock: "a<b", TTL: time.Second, Length: time.Second, Clients: 2, Keys: 1, Places: 20, Faults: 1,
		Schedules: 20, Equal: 14, Tried: 5, Steps: []string{"holding", "resting"},
		Rows: []studies.CompleteRow{{Fault: "killed", Cells: []studies.CompleteCell{
			{Tried: 5, Left: 1, Equal: 14, Fates: map[string]int{defect: 1, stood: 4}}, {Why: "no <client> comes here"}}}},
		Falls: []studies.Fall{{Fate: defect, What: "<script>", Dir: "fall-1",
			Marks: []studies.Mark{{At: 5e8, Host: "client-1", Fault: "killed", Step: "holding"}}}},
		Spans: []studies.StepSpan{{Host: "client-1", Step: "holding", From: 1e8, To: 9e8}},
		Pairs: &studies.Pairs{Firsts: 4, Ways: 2, About: 5000, Tried: 90, Fates: map[string]int{defect: 2, stood: 88},
			Falls: []studies.PairFall{{Fate: defect, What: "it freed <b>", New: true, Count: 2, Dir: "pair-1",
				First:  studies.Mark{At: 4e8, Host: "client-1", Fault: "paused 1 lease", Step: "releasing"},
				Second: studies.Mark{At: 6e8, Host: "client-1", Fault: "its connections reset", Step: "releasing"}}}}}
	var page bytes.Buffer
	if err := WriteComplete(&page, c); err != nil {
		t.Fatal(err)
	}
	html := page.String()
	if strings.Contains(html, "<script") {
		t.Error("a name is not escaped")
	}
	for _, want := range []string{"20 places × 1 faults: 5 tried, 14 equal, 4 stood, 1 fell: a defect, 0 fell: inherent",
		"not complete: 83 % of the schedules were tried, 1 are left", "no &lt;client&gt; comes here",
		`href="./fall-1/report.html"`, "client-1, killed at 500 ms (holding)", `class="cell v"`,
		"1 of 5 runs with one fault or none show a defect, and 2 of 90 with two", "pairs: 90 tried, of about 5,000 (2 %)",
		"it freed &lt;b&gt;, which no single fault shows", `href="./pair-1/report.html"`,
		"client-1, paused 1 lease at 400 ms (releasing), then client-1, its connections reset at 600 ms (releasing)"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if got := strings.Count(html, `class="dot"`); got != 3 {
		t.Errorf("%d dots: one in each of two drawings, and the legend", got)
	}
}
