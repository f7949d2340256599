package serve

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"path"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
)

// mostTrend is how many of the newest runs the trend shows.
const mostTrend = 60

// course is what one scenario came to, the oldest run first.
type course struct {
	Name          string
	Turns         []turn
	Since, Before string // the first run with what the newest came to, and what came before; "" where it never changed
	Least, Most   time.Duration
}

// turn is what a scenario came to in one run.
type turn struct {
	Run, Result, Link string
	elapsed           time.Duration
}

// trend sends what each scenario came to over the runs, and when that changed. It reads the runs' records again for each who asks, so a few may ask at once.
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
	if err := pages.ExecuteTemplate(&b, "trend.html.tmpl", struct {
		livePage
		Runs    int
		Courses []course
	}{livePage{CSS: page.Style()}, len(rows), s.courses(rows)}); err != nil {
		http.Error(w, "trend: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // who has gone need not be told
}

// courses reads the scenarios of runs. What can't be read is left out. Those that changed last come first.
func (s *Server) courses(rows []row) []course {
	var all []course
	at := map[string]int{}
	for _, row := range rows {
		file, kind := kindOf(s.root.FS(), row.Dir)
		run, err := load(s.root.FS(), row.Dir, file, kind)
		if err != nil {
			continue
		}
		for _, sc := range run.Scenarios[:min(len(run.Scenarios), mostScenarios)] {
			if sc.Result == "" {
				continue
			}
			i, known := at[sc.Name]
			if !known {
				i, at[sc.Name] = len(all), len(all)
				all = append(all, course{Name: sc.Name, Least: sc.Elapsed, Most: sc.Elapsed})
			}
			all[i].add(turn{row.Dir, sc.Result, linkTo(sc, row.Dir), sc.Elapsed})
		}
	}
	slices.SortStableFunc(all, func(a, b course) int { return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(a.Name, b.Name)) })
	return all
}

// add adds the next run.
func (c *course) add(t turn) {
	if n := len(c.Turns); n > 0 && c.Turns[n-1].Result != t.Result {
		c.Since, c.Before = t.Run, c.Turns[n-1].Result
	}
	c.Least, c.Most = min(c.Least, t.elapsed), max(c.Most, t.elapsed)
	if c.Turns = append(c.Turns, t); len(c.Turns) > mostTrend { // repetitions have a turn each
		c.Turns = c.Turns[1:]
	}
}

// linkTo is the address of a scenario's report, or else of its run.
func linkTo(sc Scenario, run string) string {
	if sc.dir != "" {
		return (&url.URL{Path: "/files/" + path.Join(sc.dir, reports.PageFile)}).EscapedPath()
	}
	return (&url.URL{Path: "/run/" + run}).EscapedPath()
}
