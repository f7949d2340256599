package serve

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/reports/page"
)

//go:embed *.tmpl live.js
var files embed.FS

// pages are the templates, parsed when they are first used.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"when":  func(t time.Time) string { return t.Format("2006-01-02 15:04:05") },
		"clock": func(t time.Time) string { return t.Local().Format("15:04:05") },
		"took":  took,
		"class": class,
		"shown": shown,
		"link":  link,
		"since": since,
		"times": times,
		"kib":   func(n int64) string { return strconv.FormatInt(n>>10, 10) + " KiB" },
	}).ParseFS(files, "*.tmpl"))
})

// took is a length of time for people.
func took(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// The bounds of a page: runs of the list, and scenarios of a run.
const (
	mostRuns      = 100
	mostScenarios = 1000
)

// livePage is one that is followed: what is live of it is sent again whenever it is another.
type livePage struct {
	CSS    template.CSS
	Script template.JS
	Nonce  string
	Events string // the path to follow
	Have   string // which state of it the page has
	Now    int64
	Live   template.HTML
	With   string // the filter of the list
	Run    Run
}

// listing is one page of the list.
type listing struct {
	With         string
	All, Found   int
	From, To     int
	Newer, Older string // the addresses of the pages beside it
	Runs         []Run
}

// query is what an address asks of the list.
type query struct {
	with string
	page int
}

func queryOf(u *url.URL) query {
	values := u.Query()
	page, err := strconv.Atoi(values.Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	return query{clip(strings.TrimSpace(values.Get("with"))), page}
}

// list is the page that a query asks for; the last one if there are not so many.
func (q query) list(all []row) listing {
	l := listing{With: q.with, All: len(all)}
	words := strings.Fields(strings.ToLower(q.with))
	var found []row
	for _, r := range all {
		if containsAll(r.text, words) {
			found = append(found, r)
		}
	}
	l.Found = len(found)
	page := min(q.page, max(1, (l.Found+mostRuns-1)/mostRuns))
	from, to := (page-1)*mostRuns, min(page*mostRuns, l.Found)
	for _, r := range found[from:to] {
		l.Runs = append(l.Runs, *r.Run)
	}
	l.From, l.To = from+1, to
	if page > 1 {
		l.Newer = q.address(page - 1)
	}
	if to < l.Found {
		l.Older = q.address(page + 1)
	}
	return l
}

func (q query) address(page int) string {
	v := url.Values{}
	if q.with != "" {
		v.Set("with", q.with)
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return "/?" + v.Encode()
}

func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// Status says how far a run is, or what it ended with.
func (r Run) Status() string {
	switch {
	case r.State == unreadable:
		return ""
	case r.State != ended && r.Wanted > 0:
		what := "scenarios"
		if r.Kind == "repetition" {
			what = "runs at most"
		}
		return fmt.Sprintf("%d of %d %s ended", r.Done, r.Wanted, what)
	case r.Exit != nil:
		return fmt.Sprintf("exit status %d", *r.Exit)
	}
	return ""
}

// Trouble is why a run did not come out as it should; "" where it did.
func (r Run) Trouble() string {
	if r.State == ended && r.Exit != nil && *r.Exit == 0 {
		return ""
	}
	return r.Reason
}

// Comparable reports whether a run can be set beside another: repetitions are compared one by one.
func (r Run) Comparable() bool { return r.State != unreadable && path.Base(r.file) == "run.json" }

// part renders what is live of a page, and names its state.
func part(name string, v any) (template.HTML, string, error) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, v); err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return template.HTML(b.String()), hex.EncodeToString(sum[:8]), nil
}

// view is something that can be followed. It returns what is live of a page,
// its state, and whether nothing more will come; last is the version that was
// seen before, and nothing is rendered if it is still the same.
type view func(last uint64) (now rendered, err error)

type rendered struct {
	version uint64
	html    template.HTML
	state   string
	over    bool
}

// message is what those who follow are sent.
func (r rendered) message() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s\ndata: ", r.state)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // it is no part of a page, and would be twice as long
	if err := enc.Encode(struct {
		HTML string `json:"html"`
		Over bool   `json:"over"`
	}{string(r.html), r.over}); err != nil {
		return "", err
	}
	b.WriteString("\n")
	return b.String(), nil
}

// index views the list.
func (s *Server) index(q query) view {
	return func(last uint64) (rendered, error) {
		runs, version := s.board.runs(time.Now())
		if version == last {
			return rendered{version: version}, nil
		}
		html, state, err := part("list", q.list(runs))
		return rendered{version, html, state, false}, err
	}
}

// run views one run.
func (s *Server) run(dir string) view {
	return func(last uint64) (rendered, error) {
		run, version, err := s.board.readRun(dir, time.Now())
		if err != nil || version == last {
			return rendered{version: version}, err
		}
		over := run.State == ended && run.Page != ""
		var v struct {
			Run  Run
			More int
		}
		if v.Run = run; len(run.Scenarios) > mostScenarios {
			v.Run.Scenarios, v.More = run.Scenarios[:mostScenarios], len(run.Scenarios)-mostScenarios
		}
		html, state, err := part("run", v)
		return rendered{version, html, state, over}, err
	}
}

// showRun sends the page of one run.
func (s *Server) showRun(w http.ResponseWriter, r *http.Request, dir string) {
	run, _, err := s.board.readRun(dir, time.Now())
	if err != nil {
		http.NotFound(w, r)
		return
	}
	s.show(w, r, "run.html.tmpl", "/events/"+(&url.URL{Path: dir}).EscapedPath(), s.run(dir), livePage{Run: run})
}

// page sends a page with one script, which a nonce allows. The script gets what
// is new from this server alone.
func (s *Server) page(w http.ResponseWriter, name, events string, now rendered, v livePage) {
	code, err := files.ReadFile("live.js")
	if err != nil {
		http.Error(w, "the page is broken: "+err.Error(), http.StatusInternalServerError)
		return
	}
	v.CSS, v.Script, v.Nonce = page.Style(), template.JS(code), nonce()
	v.Events, v.Have, v.Live, v.Now = events, now.state, now.html, time.Now().UnixMilli()
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, "the page is broken: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-"+
		v.Nonce+"'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // who has gone need not be told
}
