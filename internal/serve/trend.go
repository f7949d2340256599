package serve

import (
	"bytes"
	"net/http"
	"net/url"
	"path"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// mostTrend is how many of the newest runs the trend shows.
const mostTrend = 60

// trend sends what each scenario came to over the runs, and when that changed.
// It reads the runs' records again for each who asks, so a few may ask at once.
func (s *Server) trend(w http.ResponseWriter, r *http.Request) {
	select {
	case s.comparing <- struct{}{}:
		defer func() { <-s.comparing }()
	case <-r.Context().Done():
		return
	}
	rows, _ := s.board.runs(time.Now())
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.State != ended || r.Kind == "curve" })
	rows = rows[:min(len(rows), mostTrend)]
	slices.Reverse(rows)
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, "trend.html.tmpl", struct {
		livePage
		Trend *studies.Trend
	}{livePage{CSS: page.Style()}, s.trendOf(rows)}); err != nil {
		http.Error(w, "trend: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // who has gone need not be told
}

// trendOf reads the scenarios of runs, the oldest first. What can't be read is left out.
func (s *Server) trendOf(rows []row) *studies.Trend {
	t := &studies.Trend{}
	for _, row := range rows {
		file, kind := kindOf(outside.FS(s.root), row.Dir)
		run, err := load(outside.FS(s.root), row.Dir, file, kind)
		if err != nil {
			continue
		}
		t.Runs = append(t.Runs, row.Dir)
		for _, sc := range run.Scenarios[:min(len(run.Scenarios), mostScenarios)] {
			t.Add(sc.Name, sc.Result, studies.Turn{Run: row.Dir, Dir: sc.dir, Elapsed: sc.Elapsed})
		}
	}
	t.Sort()
	return t
}

// shown is what the page shows of a scenario: repetitions have a turn each.
func shown(c studies.Course) []studies.Turn { return c.Turns[max(0, len(c.Turns)-mostTrend):] }

// link is the address of a scenario's report, or else of its run.
func link(t studies.Turn) string {
	if t.Dir != "" {
		return (&url.URL{Path: "/files/" + path.Join(t.Dir, reports.PageFile)}).EscapedPath()
	}
	return (&url.URL{Path: "/run/" + t.Run}).EscapedPath()
}

// since says what a scenario comes to since which run; nil: it never changed.
func since(c studies.Course) any {
	i := c.Change()
	if i == 0 {
		return nil
	}
	return struct{ Result, Run, Before string }{c.Turns[i].Result.String(), c.Turns[i].Run,
		c.Turns[i-1].Result.String()}
}

// times are how long a scenario took.
func times(c studies.Course) string {
	least, most := c.Times()
	if least == most {
		return took(least)
	}
	return took(least) + " to " + took(most)
}
