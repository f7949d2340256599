package serve

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// verdict is a verdict.json.
func verdict(name, outcome, severity string) string {
	return `{"lockchaos_verdict":1,"name":"` + name + `","dir":"../../elsewhere","verdict":{"outcome":"` + outcome +
		`","severity":"` + severity + `","properties":[{"name":"mutual-exclusion","outcome":"` + outcome + `","count":3}]}}`
}

// Two runs are compared from what they have saved, the earlier one first; what
// names can do is told as text, and nothing outside the folder is read.
func TestComparesTwoRuns(t *testing.T) {
	root := folder(t)
	write := func(name, text string) { put(t, root, name, text) }
	scenarios := `"scenarios":[{"name":"one","dir":"one"},{"name":"<script>alert(1)</script>","dir":"two"},{"name":"gone","dir":"../../secret"},{"name":"cut","dir":"cut","failed":"redis died"}]`
	write("before/run.json", `{"suite":"quick","started":"2026-11-20T10:00:00Z","elapsed_ns":5,`+scenarios+`}`)
	write("after/run.json", `{"suite":"quick","started":"2026-11-21T10:00:00Z","elapsed_ns":5,`+scenarios+`}`)
	write("before/one/verdict.json", verdict("one", "pass", "none"))
	write("after/one/verdict.json", verdict("one", "violated", "corrupting"))
	write("before/two/verdict.json", verdict("two", "violated", "corrupting"))
	write("after/two/verdict.json", verdict("two", "pass", "none"))
	addr := started(t, root)
	get := func(target string) (*http.Response, string) {
		t.Helper()
		return raw(t, addr, "GET", target, "localhost")
	}
	for _, target := range []string{"/compare?run=before&run=after", "/compare?run=after&run=before"} {
		r, body := get(target)
		if r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", target, r.Status, body)
		}
		for _, want := range []string{"1 worse, 1 better, 2 the same", `href="./files/before/index.html"`,
			`href="./files/after/one/report.html"`, "&lt;script&gt;alert(1)&lt;/script&gt;",
			"mutual-exclusion: pass → violated", "redis died"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: without %q in %s", target, want, body[strings.Index(body, "<h1"):])
			}
		}
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "elsewhere/") ||
			strings.Contains(body, "secret/") || !strings.HasPrefix(r.Header.Get("Content-Security-Policy"), "sandbox ") {
			t.Errorf("%s: it believes what runs say", target)
		}
	}
	for target, want := range map[string]int{"/compare": 400, "/compare?run=before": 400,
		"/compare?run=before&run=after&run=old": 400, "/compare?run=before&run=again": 400,
		"/compare?run=before&run=../runs": 404, "/compare?run=before&run=outside": 404,
		"/compare?run=before&run=a/b/c": 404, "/compare?run=before&run=": 404, "/compare?run=before&run=.hidden": 404,
		"/compare?run=before&run=again/seed-7": 200, "/compare?run=before&run=broken": 400} {
		if r, body := get(target); r.StatusCode != want || strings.Contains(body, secret) {
			t.Errorf("%s: %s, want %d", target, r.Status, want)
		}
	}
}

// Pages of other sites, and those of runs, can't even ask: they may only be
// left for what is asked for.
func TestForeignPagesAreRefused(t *testing.T) {
	addr := started(t, folder(t))
	for _, c := range []struct {
		site, mode string
		want       int
	}{{"", "", 200}, {"none", "navigate", 200}, {"same-origin", "cors", 200}, {"cross-site", "navigate", 200},
		{"cross-site", "cors", 403}, {"cross-site", "no-cors", 403}, {"same-site", "no-cors", 403}} {
		ask, err := http.NewRequest(http.MethodGet, "http://"+addr+"/run/old", nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode} {
			if value != "" {
				ask.Header.Set(name, value)
			}
		}
		r, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if r.StatusCode != c.want {
			t.Errorf("%+v: %s", c, r.Status)
		}
	}
}
